// The mask spelled three ways: the lines that ran on the query, key and value of one layer, and how far apart they end.
import { el, fill } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const WAYS = ["scored", "additive", "boolean", "is_causal"];

/** @param {any} app */
export function createWays(app) {
  const layer = el("select", {
    class: "gv-in gv-inrow",
    "aria-label": text("mask.ways_layer"),
    onchange: () => app.set({ open: layer.value }),
  });
  const list = el("div", { class: "gv-waylist" });
  const result = el("div", { class: "gv-wayresult" });
  const root = el(
    "div",
    { class: "gv-ways3" },
    el("label", { class: "gv-waylayer" }, text("mask.ways_on"), " ", layer),
    list,
    result,
  );
  /** @type {any} */
  let last = null;

  /** @param {any} found @param {number} tokens */
  function draw(found, tokens) {
    last = found;
    const { layers } = app.model();
    if (layer.childElementCount !== layers)
      fill(layer, ...Array.from({ length: layers }, (_, l) => el("option", { value: l }, text("mask.layer", { l }))));
    layer.value = String(found.layer);
    // words: mask.way_scored mask.way_additive mask.way_boolean mask.way_is_causal
    fill(
      list,
      ...WAYS.map((way) =>
        el("section", null, el("h2", null, text(`mask.way_${way}`)), el("pre", { tabindex: "0" }, found.code[way])),
      ),
    );
    const rows = found.differences.map((/** @type {any} */ d) =>
      el(
        "tr",
        null,
        el("th", { scope: "row" }, `${text(`mask.short_${d.a}`)} · ${text(`mask.short_${d.b}`)}`),
        el("td", { class: d.max_delta ? "" : "gv-exact" }, said(d.max_delta)),
      ),
    ); // words: mask.short_additive mask.short_boolean mask.short_is_causal
    // words: mask.both_refused mask.both_both mask.both_one
    const note = found.flag_says_it ? `mask.both_${found.flag_and_mask}` : "mask.flag_narrow";
    fill(result, el("table", { class: "gv-table" }, ...rows), el("p", null, ...phrase(note)));
    const worst = Math.max(...found.differences.map((/** @type {any} */ d) => d.max_delta));
    const facts = {
      heads: found.heads,
      tokens,
      worst: said(worst),
      size: found.size,
      exact_pair: found.differences[0].max_delta === 0,
    };
    app.facts({ ...facts, ways_layer: found.layer, flag_fits: found.flag_says_it });
    app.parts.stage.say(
      worst === 0 ? "mask.ways_same" : found.flag_says_it ? "mask.ways_noise" : "mask.ways_narrow",
      facts,
    );
  }
  return {
    root,
    draw,
    paint() {},
    table: () =>
      last && {
        head: ["", text("mask.largest")],
        rows: last.differences.map((/** @type {any} */ d) => [`${d.a} − ${d.b}`, said(d.max_delta)]),
      },
  };
}

/** Rounding is said with all its zeros: how small it is is the point. @param {number} x */
const said = (x) => (x === 0 ? text("numbers.exactly_0") : decimal(x, x < 1e-5 ? 8 : 5));

// Under the race: what its cells are and what looking up costs, or the bill in four measures.
import { el, fill } from "../kit/dom.js";
import { bytes, decimal, seconds, whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const MEASURES = ["positions", "flops", "bytes", "seconds"];

/** What the cells of both lanes are, counted, and a line on what looking up costs. */
export function createLegend() {
  const lanes = ["uncached", "cached"].map(() => el("p", { class: "gv-kv-cellkinds" }));
  const line = el("p", { class: "gv-kv-lookcost" });
  const root = el("div", { class: "gv-kv-strip gv-kv-keys" }, ...lanes, line);

  /** @param {any} sums @param {any} model */
  function draw(sums, model) {
    const first = sums.positions.cached;
    const rest = sums.positions.uncached - first;
    fill(lanes[0], key("new", first), key("again", rest));
    fill(lanes[1], key("new", first), key("kept", rest));
    const values = { factor: Math.round(model.read_flops / model.look_up_flops), bytes: sums.looked_up };
    fill(line, ...(rest ? phrase("kv_cache.looking_up", values) : phrase("kv_cache.looking_up_none")));
  }
  return { root, draw };
}

/** @param {string} kind @param {number} n */
const key = (kind, n) =>
  // words: kv_cache.key_new kv_cache.key_again kv_cache.key_kept
  el("span", null, el("i", { class: `gv-kv-key-${kind}` }), el("span", null, ...phrase(`kv_cache.key_${kind}`, { n })));

/** Positions, arithmetic, bytes and seconds of both lanes so far. */
export function createBill() {
  const cells = MEASURES.map((name) => {
    const factor = el("b");
    const bars = ["uncached", "cached"].map((lane) => ({
      bar: el("i", { class: `gv-kv-bar-${lane}` }),
      number: el("span"),
    }));
    // words: kv_cache.measure_positions kv_cache.measure_flops kv_cache.measure_bytes kv_cache.measure_seconds
    const root = el(
      "div",
      { class: "gv-kv-measure" },
      el("h3", null, text(`kv_cache.measure_${name}`), factor),
      ...bars.map(({ bar, number }) =>
        el("div", { class: "gv-kv-two" }, el("div", { class: "gv-kv-rail" }, bar), number),
      ),
    );
    return { name, root, factor, bars };
  });
  const root = el("div", { class: "gv-kv-strip gv-kv-bill" }, ...cells.map((cell) => cell.root));

  /**
   * @param {any} sums so far @param {any} full at the end @param {boolean} timed
   * @param {string} waiting said where no time is known
   */
  function draw(sums, full, timed, waiting) {
    for (const { name, factor, bars } of cells) {
      const known = name !== "seconds" || timed;
      const [a, b] = [sums[name].uncached, sums[name].cached];
      const most = Math.max(full[name].uncached, full[name].cached) || 1;
      [a, b].forEach((value, i) => {
        bars[i].bar.style.width = known ? `${Math.max((100 * value) / most, value ? 0.6 : 0)}%` : "0";
        bars[i].number.textContent = known ? said(name, value) : i ? "" : waiting;
      });
      factor.textContent = known && b ? ratio(a / b) : "";
    }
  }
  return { root, draw };
}

/** @param {string} name @param {number} value */
function said(name, value) {
  if (name === "bytes") return bytes(value);
  if (name === "seconds") return seconds(value);
  return name === "flops" ? operations(value) : whole(value);
}

/** A count of operations in words people say. @param {number} n */
export function operations(n) {
  for (const [size, unit] of UNITS) {
    if (n >= size)
      // words: kv_cache.ops_*
      return text(`kv_cache.ops_${unit}`, { n: decimal(n / size, n / size < 10 ? 2 : n / size < 100 ? 1 : 0) });
  }
  return whole(n);
}

/** @type {[number, string][]} */
const UNITS = [
  [1e15, "quadrillion"],
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
];

/** @param {number} x how many times as much the first lane costs */
export function ratio(x) {
  if (Math.abs(x - 1) < 0.02) return text("kv_cache.no_saving");
  if (x < 1) return text("kv_cache.times_more", { n: decimal(1 / x, 1) });
  return text("kv_cache.times_less", { n: decimal(x, x < 100 ? 1 : 0) });
}

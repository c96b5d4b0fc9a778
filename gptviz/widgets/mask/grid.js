// The first four tokens, number by number: scores, plus a triangle of 0 and −∞, through softmax to weights.
import { el, fill } from "../kit/dom.js";
import { label, mix } from "../kit/colour.js";
import { decimal, percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {any} app */
export function createGrid(app) {
  const root = el("div", { class: "gv-grids" });
  /** @type {any} */
  let last = null;

  /** @param {any} found */
  function draw(found) {
    last = found;
    paint();
    app.facts({ grid_layer: found.layer, grid_head: found.head, grid_n: found.tokens.length });
    const key = { causal: "grid_causal", none: "grid_none", wrong_way: "grid_wrong" }[/** @type {"causal"} */ (found.pattern)];
    app.parts.stage.say(`mask.${key}`, { n: found.tokens.length }); // words: mask.grid_causal mask.grid_none mask.grid_wrong
  }

  function paint() {
    if (!last) return;
    const n = last.tokens.length;
    const open = (/** @type {number} */ q, /** @type {number} */ k) => allowed(last.pattern, q, k);
    const score = (/** @type {number} */ q, /** @type {number} */ k) => last.scores[q * n + k];
    let top = 0;
    for (let q = 0; q < n; q++) for (let k = 0; k < n; k++) if (Number.isFinite(score(q, k))) top = Math.max(top, Math.abs(score(q, k)));
    const scores = block("grid_scores", "grid_scores_note", (q, k) => tinted(decimal(score(q, k), 1), "--soft", (0.5 * Math.abs(score(q, k))) / (top || 1)));
    const mask = block("grid_mask", "grid_mask_note", (q, k) => (open(q, k) ? tinted("0", "--key", 0.16) : el("td", { class: "gv-shutcell" }, "−∞")));
    const weights = block("grid_weights", "grid_weights_note", (q, k) => {
      const w = last.weights[q * n + k];
      return w === 0 ? el("td", { class: "gv-zerocell" }, "0") : tinted(percent(w), k > q ? "--warn" : "--key", 0.12 + 0.88 * w);
    });
    fill(root, scores, el("span", { class: "gv-op" }, "+"), mask, el("span", { class: "gv-op" }, "→"), weights,
      el("p", { class: "gv-gridnote" }, text("mask.grid_note", { layer: last.layer, head: last.head }))); // prettier-ignore
  }

  /** @param {string} title @param {string} note @param {(q: number, k: number) => HTMLElement} cell */
  function block(title, note, cell) {
    const { tokens } = last;
    const head = el("tr", null, el("td"), ...tokens.map((/** @type {string} */ t) => el("th", { scope: "col" }, t)));
    const rows = tokens.map((/** @type {string} */ t, /** @type {number} */ q) =>
      el("tr", null, el("th", { scope: "row" }, t), ...tokens.map((/** @type {string} */ _, /** @type {number} */ k) => cell(q, k))),
    );
    // words: mask.grid_scores mask.grid_mask mask.grid_weights mask.grid_*_note
    return el("div", { class: "gv-gridblock" }, el("h2", null, text(`mask.${title}`)), el("table", null, head, ...rows), el("p", null, text(`mask.${note}`)));
  }

  return {
    root,
    draw,
    paint,
    table: () => {
      if (!last) return null;
      const n = last.tokens.length;
      const rows = last.tokens.map((/** @type {string} */ t, /** @type {number} */ q) => [t, ...Array.from({ length: n }, (_, k) => last.weights[q * n + k])]);
      return { head: ["", ...last.tokens], rows };
    },
  };
}

/** @param {string} words @param {string} colour @param {number} share */
const tinted = (words, colour, share) =>
  el("td", { style: { background: mix("--card", colour, share), color: label("--card", colour, share) } }, words);

/** @param {string} pattern @param {number} q @param {number} k */
const allowed = (pattern, q, k) => pattern === "none" || (pattern === "wrong_way" ? k >= q : k <= q);

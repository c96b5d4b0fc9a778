// The first four tokens, number by number: scores, plus a triangle of 0 and −∞, through softmax to weights.
import { label, mix } from "../kit/colour.js";
import { el, fill } from "../kit/dom.js";
import { decimal, percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const SAYS = new Map([
  ["causal", "grid_causal"],
  ["none", "grid_none"],
  ["wrong_way", "grid_wrong"],
]);

export class Grid {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.root = el("div", { class: "gv-grids" });
    /** @type {any} */
    this.now = null; // { tokens, layer, head, pattern, scores, weights }
  }

  /** @param {any} found */
  draw(found) {
    this.now = found;
    this.paint();
    this.app.facts({ grid_layer: found.layer, grid_head: found.head, grid_n: found.tokens.length });
    this.app.parts.stage.say(`mask.${SAYS.get(found.pattern)}`, { n: found.tokens.length });
    // words: mask.grid_causal mask.grid_none mask.grid_wrong
  }

  paint() {
    const { now } = this;
    if (!now) return;
    const parts = [blockOf(now, "scores", scores(now)), sign("+"), blockOf(now, "mask", mask(now)), sign("→")];
    const note = el("p", { class: "gv-gridnote" }, text("mask.grid_note", { layer: now.layer, head: now.head }));
    fill(this.root, ...parts, blockOf(now, "weights", weights(now)), note);
  }

  table() {
    const { now } = this;
    if (!now) return null;
    const n = now.tokens.length;
    const row = (/** @type {number} */ q) =>
      now.tokens.map((/** @type {string} */ _, /** @type {number} */ k) => percent(now.weights[q * n + k]));
    return {
      head: ["", ...now.tokens],
      rows: now.tokens.map((/** @type {string} */ t, /** @type {number} */ q) => [t, ...row(q)]),
    };
  }
}

/** @typedef {(q: number, k: number) => HTMLElement} Cell */

/** @param {any} now @param {string} name @param {Cell} cell */
function blockOf(now, name, cell) {
  const { tokens } = now;
  const columns = tokens.map((/** @type {string} */ t) => el("th", { scope: "col" }, t));
  const row = (/** @type {string} */ t, /** @type {number} */ q) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, t),
      ...tokens.map((/** @type {any} */ _, /** @type {number} */ k) => cell(q, k)),
    );
  const table = el("table", null, el("tr", null, el("td"), ...columns), ...tokens.map(row));
  const [title, note] = [text(`mask.grid_${name}`), text(`mask.grid_${name}_note`)];
  // words: mask.grid_scores mask.grid_mask mask.grid_weights mask.grid_*_note
  return el("div", { class: "gv-gridblock" }, el("h2", null, title), table, el("p", null, note));
}

/** @param {any} now @returns {Cell} */
function scores(now) {
  const n = now.tokens.length;
  const top = Math.max(...now.scores.map(Math.abs)) || 1;
  return (q, k) => {
    const score = now.scores[q * n + k];
    return tinted(decimal(score, 1), "--soft", (0.5 * Math.abs(score)) / top);
  };
}

/** @param {any} now @returns {Cell} */
function mask(now) {
  const shut = () => el("td", { class: "gv-shutcell" }, "−∞");
  return (q, k) => (allowed(now.pattern, q, k) ? tinted("0", "--key", 0.16) : shut());
}

/** @param {any} now @returns {Cell} */
function weights(now) {
  const n = now.tokens.length;
  return (q, k) => {
    const w = now.weights[q * n + k];
    if (w === 0) return el("td", { class: "gv-zerocell" }, "0");
    return tinted(percent(w), k > q ? "--warn" : "--key", 0.12 + 0.88 * w);
  };
}

/** @param {string} mark */
const sign = (mark) => el("span", { class: "gv-op" }, mark);

/** @param {string} words @param {string} colour @param {number} share */
function tinted(words, colour, share) {
  // not words: names of colours
  const [background, color] = [mix("--card", colour, share), label("--card", colour, share)];
  return el("td", { style: { background, color } }, words);
}

/** @param {string} pattern @param {number} q @param {number} k */
const allowed = (pattern, q, k) => pattern === "none" || (pattern === "wrong_way" ? k >= q : k <= q);

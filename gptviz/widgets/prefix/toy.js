// Four words and one attention: every output as a strip of eight numbers, with the fourth word and without it.
import { mix } from "../kit/colour.js";
import { el, fill } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

export class Toy {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.root = el("div", { class: "gv-toy" });
    /** @type {any} */
    this.toy = null;
  }

  /** @param {any} toy */
  draw(toy) {
    this.toy = toy;
    this.paint();
    const [masked, open] = [Math.max(...toy.masked.deltas), Math.max(...toy.open.deltas)];
    this.app.facts({ toy_masked: masked, toy_open: open });
    this.app.parts.stage.say(masked === 0 ? "prefix.toy_says" : "prefix.toy_fails", { masked, open });
  }

  paint() {
    if (this.toy) fill(this.root, panel(this.toy, "masked"), panel(this.toy, "open"));
  }

  table() {
    const { toy } = this;
    if (!toy) return null;
    const kept = toy.words.slice(0, toy.keep);
    const row = (/** @type {string} */ word, /** @type {number} */ k) => [
      word,
      said(toy.masked.deltas[k]),
      said(toy.open.deltas[k]),
    ];
    return { head: ["", text("prefix.toy_masked"), text("prefix.toy_open")], rows: kept.map(row) };
  }
}

/** @param {any} toy @param {"masked" | "open"} name */
function panel(toy, name) {
  const side = toy[name];
  const top = Math.max(...side.full.flat().map(Math.abs));
  const columns = ["", "prefix.toy_reads", "prefix.toy_with", "prefix.toy_without", "prefix.toy_moved"];
  const head = columns.map((key) => (key ? el("th", { scope: "col" }, text(key)) : el("td")));
  const row = (/** @type {string} */ word, /** @type {number} */ k) => {
    const kept = k < toy.keep;
    const moved = side.deltas[k];
    return el(
      "tr",
      { class: kept ? null : "gv-last" },
      el("th", { scope: "row" }, word),
      el("td", null, ...reads(toy.words, name, k)),
      el("td", null, strip(side.full[k], top)),
      el("td", null, kept ? strip(side.short[k], top) : text("prefix.toy_dropped")),
      el("td", { class: moved ? "gv-moved" : "gv-exact" }, kept ? said(moved) : ""),
    );
  };
  const title = el("h2", { class: name === "masked" ? "gv-key" : "gv-warn" }, text(`prefix.toy_${name}`));
  // words: prefix.toy_masked prefix.toy_open
  const body = el("tbody", null, ...toy.words.map(row));
  return el("section", null, title, el("table", null, el("thead", null, el("tr", null, ...head)), body));
}

/** The words that one word reads. @param {string[]} words @param {string} name @param {number} k */
function reads(words, name, k) {
  const read = name === "open" ? words : words.slice(0, k + 1);
  return read.map((word, j) => el("span", { class: j > k ? "gv-read gv-later" : "gv-read" }, word));
}

/** @param {number[]} values @param {number} top */
function strip(values, top) {
  const colour = (/** @type {number} */ x) => mix("--grid", x < 0 ? "--warn" : "--key", Math.min(1, Math.abs(x) / top));
  const cells = values.map((x) => el("i", { style: { background: colour(x) }, title: decimal(x, 4) }));
  return el(
    "span",
    { class: "gv-vector", role: "img", "aria-label": values.map((x) => decimal(x, 2)).join(" ") },
    ...cells,
  );
}

/** @param {number} x */
const said = (x) => (x === 0 ? text("numbers.exactly_0") : decimal(x, 2));

// Four words and one attention: every output as a strip of eight numbers, with the fourth word and without it.
import { mix } from "../kit/colour.js";
import { el, fill } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {any} app */
export function createToy(app) {
  const root = el("div", { class: "gv-toy" });
  /** @type {any} */
  let toy = null;

  /** @param {any} found */
  function draw(found) {
    toy = found;
    fill(root, panel("masked"), panel("open"));
    const worst = Math.max(...toy.open.deltas);
    app.facts({ toy_masked: Math.max(...toy.masked.deltas), toy_open: worst, toy_word: toy.words[toy.open.deltas.indexOf(worst)] });
    app.parts.stage.say("prefix.toy_says", { masked: Math.max(...toy.masked.deltas), open: worst });
  }

  /** @param {"masked" | "open"} name */
  function panel(name) {
    const side = toy[name];
    const top = Math.max(...side.full.flat().map(Math.abs));
    // words: prefix.toy_masked prefix.toy_open
    const head = ["", text("prefix.toy_reads"), text("prefix.toy_with"), text("prefix.toy_without"), text("prefix.toy_moved")];
    const rows = toy.words.map((/** @type {string} */ word, /** @type {number} */ k) => {
      const kept = k < toy.keep;
      const delta = side.deltas[k];
      const reads = toy.words.filter((/** @type {string} */ _, /** @type {number} */ j) => name === "open" || j <= k).map((/** @type {string} */ w, /** @type {number} */ j) =>
        el("span", { class: j > k ? "gv-read gv-later" : "gv-read" }, w)); // prettier-ignore
      return el("tr", { class: kept ? null : "gv-last" }, el("th", { scope: "row" }, word), el("td", null, ...reads), el("td", null, strip(side.full[k], top)), el("td", null, kept ? strip(side.short[k], top) : text("prefix.toy_dropped")),
        el("td", { class: kept ? (delta === 0 ? "gv-exact" : "gv-moved") : "" }, kept ? (delta === 0 ? text("numbers.exactly_0") : decimal(delta, 2)) : "")); // prettier-ignore
    });
    return el("section", null, el("h2", { class: name === "masked" ? "gv-key" : "gv-warn" }, text(`prefix.toy_${name}`)),
      el("table", null, el("thead", null, el("tr", null, ...head.map((h) => el("th", { scope: "col" }, h)))), el("tbody", null, ...rows))); // prettier-ignore
  }

  /** @param {number[]} values @param {number} top */
  function strip(values, top) {
    const cells = values.map((x) => el("i", { style: { background: mix("--grid", x < 0 ? "--warn" : "--key", Math.min(1, Math.abs(x) / top)) }, title: x.toFixed(4) }));
    return el("span", { class: "gv-vector", role: "img", "aria-label": values.map((x) => x.toFixed(2)).join(" ") }, ...cells);
  }

  function table() {
    if (!toy) return null;
    const rows = toy.words.slice(0, toy.keep).map((/** @type {string} */ w, /** @type {number} */ k) => [w, toy.masked.deltas[k], Number(toy.open.deltas[k].toFixed(4))]);
    return { head: ["", text("prefix.toy_masked"), text("prefix.toy_open")], rows };
  }
  return { root, draw, table };
}

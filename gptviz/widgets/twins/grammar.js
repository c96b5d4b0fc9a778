// The little language: 17 places, which of them are free, and what a free choice costs whoever guesses.
import { el, fill } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

export function createGrammar() {
  const sum = el("p", { class: "gv-twsum" });
  const places = el("ol", { class: "gv-places" });
  const root = el("div", { class: "gv-grammar" }, places, sum);

  /** @param {any} record */
  function draw(record) {
    const random = record.data === "random";
    const top = Math.log(Math.max(...record.places.map((/** @type {any} */ p) => p.choices)));
    root.classList.toggle("gv-israndom", random);
    fill(
      places,
      ...(random ? [] : record.places.map((/** @type {any} */ place, /** @type {number} */ i) => cell(place, i, top))),
    );
    const all = record.places.length * record.floor;
    sum.textContent = random
      ? text("twins.sum_random", { n: record.words, floor: decimal(record.floor, 2) })
      : text("twins.sum", { all: decimal(all, 2), n: record.places.length, floor: decimal(record.floor, 3) });
  }
  return { root, draw };
}

/** @param {any} place @param {number} index @param {number} top the dearest place's cost */
function cell(place, index, top) {
  const cost = Math.log(place.choices);
  const free = place.choices > 1;
  const kind = free ? "gv-free" : place.follows === null ? "gv-fixed" : "gv-follows";
  const said = free
    ? text("twins.place_free", { k: place.choices })
    : place.follows === null
      ? text("twins.place_fixed")
      : text("twins.place_follows", { n: place.follows + 1 });
  const figures = el("b", null, free ? decimal(cost, 2) : "0");
  const formula = free ? el("em", null, text("twins.ln", { k: place.choices })) : null;
  const height = `${(100 * cost) / top}%`;
  const bar = el("span", { class: "gv-cost" }, el("i", { style: { height } }, figures, formula));
  const words = place.follows !== null ? [text("twins.place_from", { n: place.follows + 1 })] : [];
  if (place.follows === null || place.words.length < 3) words.unshift(...place.words);
  const list = words.map((/** @type {string} */ word) => el("span", null, word));
  return el("li", { class: kind, title: said }, bar, el("small", null, String(index + 1)), ...list);
}

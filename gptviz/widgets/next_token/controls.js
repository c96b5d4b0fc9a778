// Temperature, top-k and top-p with what they do said under them; the buttons of draws and writing in the same place.
import { el, fill } from "../kit/dom.js";
import { ordinal, percentList, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const STEPS_K = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 75, 100, 200, 500, 1000, 5000, 20000];

/** @param {any} parts */
export function createControls({ draws, writing, wanted }) {
  const temperature = slider("temperature", 0, 3, 0.05);
  const topK = slider("top_k", 0, STEPS_K.length - 1, 1);
  const topP = slider("top_p", 0.01, 1, 0.01);
  const reset = el(
    "button",
    {
      type: "button",
      class: "gv-btn",
      onclick: () => move({ temperature: 1, top_k: 0, top_p: 1, order: "temperature" }),
    },
    text("next_token.reset"),
  );
  const equal = el("div", { class: "gv-equal" });
  const below = el("div", { class: "gv-below" });
  const root = el(
    "div",
    { class: "gv-ctl" },
    temperature.root,
    topK.root,
    topP.root,
    reset,
    equal,
    draws.controls,
    writing.controls,
    below,
  );
  const self = { root, set, vocabulary, facts, onmove: /** @type {(fields: any) => void} */ (() => {}) };
  root.addEventListener("pointerenter", () => wanted().catch(() => {}));
  root.addEventListener("focusin", () => wanted().catch(() => {}));

  temperature.input.addEventListener("input", () => move({ temperature: +temperature.input.value }));
  topK.input.addEventListener("input", () => move({ top_k: STEPS_K[+topK.input.value] }));
  topP.input.addEventListener("input", () => move({ top_p: +topP.input.value }));

  /** @param {any} fields */
  function move(fields) {
    show(fields);
    self.onmove(fields);
  }

  /** @param {any} v */
  function show(v) {
    if (v.temperature !== undefined) temperature.show(v.temperature, String(+v.temperature.toFixed(2)));
    if (v.top_k !== undefined) topK.show(nearest(v.top_k), v.top_k ? whole(v.top_k) : text("next_token.off"));
    if (v.top_p !== undefined) topP.show(v.top_p, v.top_p === 1 ? text("next_token.off") : String(+v.top_p.toFixed(2)));
  }

  /** @param {any} v */
  function set(v) {
    show(v);
    draws.controls.hidden = v.show !== "draws";
    writing.controls.hidden = v.show !== "writing";
    below.hidden = v.show !== "bars";
  }

  /** @param {number} V @param {any[]} places */
  function vocabulary(V, places) {
    const words = percentList(places.map((/** @type {any} */ b) => b.p));
    const rows = places.map((/** @type {any} */ b, /** @type {number} */ i) =>
      el(
        "p",
        null,
        el("span", null, b.place === V ? text("next_token.last") : ordinal(b.place)),
        el("span", null, b.shown),
        el("span", null, words[i]),
      ),
    );
    fill(below, el("h2", null, text("next_token.below")), ...rows);
  }

  /** @param {any} table */
  function facts(table) {
    const n = Math.exp(table.entropy);
    const many = n < 9.95 ? (Math.round(n * 10) / 10).toString() : whole(n);
    fill(equal, text("next_token.entropy", { n: many }));
  }
  return self;
}

/** @param {number} k */
const nearest = (k) => STEPS_K.reduce((best, v, i) => (Math.abs(v - k) < Math.abs(STEPS_K[best] - k) ? i : best), 0);

/** @param {string} name @param {number} min @param {number} max @param {number} step */
function slider(name, min, max, step) {
  const id = `gv-${name}`;
  const input = el("input", { type: "range", id, min, max, step });
  const output = el("output", { for: id });
  // words: next_token.temperature next_token.top_k next_token.top_p next_token.*_hint
  const root = el(
    "div",
    { class: "gv-sl" },
    el("label", { for: id }, text(`next_token.${name}`), output),
    input,
    el("small", null, text(`next_token.${name}_hint`)),
  );
  /** @param {number} value @param {string} words */
  const show = (value, words) => {
    input.value = String(value);
    output.textContent = words;
    input.setAttribute("aria-valuetext", words);
  };
  return { root, input, show };
}

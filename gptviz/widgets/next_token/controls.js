// Temperature, top-k and top-p with what they do said under them; two more rules on demand; the buttons of draws and
// writing in the same place.
import { el, fill } from "../kit/dom.js";
import { ordinal, percentList, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const STEPS_K = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 75, 100, 200, 500, 1000, 5000, 20000];

const PLAIN = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: 1, order: "temperature" };

/** The sliders, and how each says its value. @param {(fields: any) => void} move */
function createSliders(move) {
  const k = (/** @type {number} */ at) => STEPS_K[at];
  /** @type {[string, number, number, number, number | null, ((at: number) => number)?][]} with the value that is off */
  const kinds = [
    ["temperature", 0, 3, 0.05, null],
    ["top_k", 0, STEPS_K.length - 1, 1, 0, k],
    ["top_p", 0.01, 1, 0.01, 1],
    ["min_p", 0, 0.5, 0.01, 0],
    ["repetition_penalty", 0.5, 3, 0.05, 1],
  ];
  const made = kinds.map(([name, min, max, step, off, value = (at) => at]) => {
    const one = slider(name, min, max, step);
    one.input.addEventListener("input", () => move({ [name]: value(+one.input.value) }));
    return { ...one, name, off };
  });

  /** @param {any} v */
  function show(v) {
    for (const { name, off, show } of made) {
      if (v[name] === undefined) continue;
      const said = name === "top_k" ? whole(v[name]) : String(+v[name].toFixed(2));
      show(name === "top_k" ? nearest(v[name]) : v[name], v[name] === off ? text("next_token.off") : said);
    }
  }
  return { roots: made.map(({ root }) => root), show };
}

/** @param {any} parts */
export function createControls({ draws, writing, instead, wanted }) {
  const { roots, show } = createSliders(move);
  const more = el("div", { class: "gv-more", id: "gv-more", hidden: true }, ...roots.slice(3));
  const button = (/** @type {string} */ words, /** @type {() => void} */ onclick, rest = {}) =>
    el("button", { type: "button", class: "gv-btn", onclick, ...rest }, words);
  const reset = button(text("next_token.reset"), () => move(PLAIN));
  const toggle = button(text("next_token.more_rules"), () => unfold(more.hidden), { "aria-controls": "gv-more" });
  const equal = el("div", { class: "gv-equal" });
  const below = el("div", { class: "gv-below" });
  const acts = el("div", { class: "gv-two" }, reset, toggle);
  const root = el("div", { class: "gv-ctl" }, ...roots.slice(0, 3), more, acts, equal, draws.controls);
  root.append(writing.controls, instead.root, below);
  const self = { root, set, vocabulary, facts, onmove: /** @type {(fields: any) => void} */ (() => {}) };
  root.addEventListener("pointerenter", () => wanted().catch(() => {}));
  root.addEventListener("focusin", () => wanted().catch(() => {}));
  instead.onshow = () => arrange();
  let view = "bars";

  /** @param {any} fields */
  function move(fields) {
    show(fields);
    self.onmove(fields);
  }

  /** @param {any} v */
  function set(v) {
    show(v);
    view = v.show;
    draws.controls.hidden = view !== "draws";
    writing.controls.hidden = view !== "writing";
    if (v.min_p || v.repetition_penalty !== 1) unfold(true);
    else arrange();
  }

  root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || more.hidden) return;
    unfold(false);
    toggle.focus();
  });

  /** @param {boolean} open */
  function unfold(open) {
    more.hidden = !open;
    arrange();
  }

  /** What else stands in the column: there is room for one thing at a time. */
  function arrange() {
    toggle.setAttribute("aria-expanded", String(!more.hidden));
    below.hidden = view !== "bars" || !more.hidden || !instead.root.hidden;
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
  // words: next_token.temperature next_token.top_k next_token.top_p next_token.min_p next_token.repetition_penalty
  // words: next_token.*_hint
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

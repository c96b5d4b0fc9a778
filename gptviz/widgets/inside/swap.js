// Order, taken away and given back: two words swapped without positions; arrows that turn by their place.
import { el, fill, mark, svg } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const SHOWN = 3; // pairs of numbers drawn as arrows: fast, middle, slow

/** @param {HTMLElement} root @param {any} app */
export const createSwap = (root, app) => new Swap(root, app);

class Swap {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.app = app;
    this.words = el("div", { class: "gv-swapwords" });
    this.depths = el("div", { class: "gv-swapdepths" });
    this.note = el("p", { class: "gv-soft" });
    this.dials = svg("svg", { class: "gv-svg", "aria-hidden": "true" }); // the score beside it says it
    this.score = el("p", { class: "gv-swapscore", "aria-live": "polite" });
    this.both = slider("swap_both", 0, 2000, () => this.turn());
    this.apart = slider("swap_apart", 0, 64, () => this.turn());
    this.both.input.value = "0";
    this.apart.input.value = "5";
    const left = el("section", null, el("h2", null, text("inside.swap_title")), this.words, this.depths, this.note);
    const right = el("section", null, el("h2", null, ...phrase("inside.swap_arrows")), this.dials, this.both.root);
    right.append(this.apart.root, this.score);
    root.append(el("div", { class: "gv-swap" }, left, right));
    /** @type {any} */
    this.found = null;
  }

  async show(/** @type {any} */ view) {
    const answer = await view.ask("swap", { text: view.text, model: view.model });
    if (!view.current()) return;
    this.found = answer;
    const [one, two] = answer.depths;
    const values = { moved: two.moved, layers: two.layers };
    // words: inside.swap_say inside.swap_say_moved
    this.app.parts.stage.say(one.moved <= answer.rounding ? "inside.swap_say" : "inside.swap_say_moved", values);
    this.app.facts({ swapping: true, paired: false, alone: false, rotary: false, learned: false });
  }

  resize() {
    if (!this.found) return;
    const { words, swapped, depths, rounding, rotary } = this.found;
    const sentence = (/** @type {string[]} */ some) =>
      el("p", null, ...some.map((word, i) => el(i < 2 ? "b" : "span", null, word)));
    fill(this.words, sentence(words), sentence(swapped));
    const most = Math.max(...depths.flatMap((/** @type {any} */ d) => [d.moved, d.with_positions]));
    const rows = depths.map((/** @type {any} */ d) => this.depth(d, most, rounding));
    fill(this.depths, ...rows);
    // words: inside.swap_own inside.swap_usual
    this.note.textContent = text(rotary ? "inside.swap_own" : "inside.swap_usual");
    this.turn();
  }

  /**
   * One stack: how far the last output moved without positions, and with.
   * @param {any} d @param {number} most @param {number} rounding
   */
  depth(d, most, rounding) {
    const bar = (/** @type {string} */ kind, /** @type {number} */ value) => {
      const said = value <= rounding ? text("inside.swap_exactly") : decimal(value, 2);
      const rail = el("span", { class: "gv-swaprail" }, el("i", { style: { width: `${(100 * value) / most}%` } }));
      // words: inside.swap_without inside.swap_with
      return el(
        "div",
        { class: `gv-swapbar gv-is-${kind}` },
        el("span", null, text(`inside.swap_${kind}`)),
        rail,
        el("b", null, said),
      );
    };
    const name = el("h3", null, text("inside.swap_layers", { n: d.layers }));
    return el("div", null, name, bar("without", d.moved), bar("with", d.with_positions));
  }

  /** The arrows and their score at the places of the sliders. */
  turn() {
    if (!this.found) return;
    const waves = [...this.found.wavelengths].sort((a, b) => a - b);
    const [place, apart] = [+this.both.input.value, +this.apart.input.value];
    this.both.say(place);
    this.apart.say(apart);
    const score = scored(waves, place + apart, place);
    fill(this.score, ...phrase("inside.swap_score", { score: decimal(score, 4), q: place + apart, k: place }));
    const width = /** @type {HTMLElement} */ (this.dials.parentElement).clientWidth;
    const { unit } = this.app.parts.stage.size();
    const r = Math.min(54 * unit, width / (SHOWN * 2.6));
    this.dials.setAttribute("width", String(width));
    this.dials.setAttribute("height", String(2 * r + 34 * unit));
    const chosen = [0, Math.floor(waves.length / 3), Math.floor((2 * waves.length) / 3)].map((i) => waves[i]);
    fill(
      this.dials,
      ...chosen.flatMap((wave, i) => dial(wave, place + apart, place, (width * (i + 0.5)) / SHOWN, r, unit)),
    );
  }

  table() {
    if (!this.found) return null;
    const head = ["swap_layers_head", "swap_without", "swap_with"].map((key) => text(`inside.${key}`));
    // words: inside.swap_layers_head
    return {
      head,
      rows: this.found.depths.map((/** @type {any} */ d) => [
        d.layers,
        decimal(d.moved, 3),
        decimal(d.with_positions, 3),
      ]),
    };
  }
}

/**
 * The score of a query and a key, both (1, 0) in every pair of numbers, turned by their places: the dot product of what
 * comes out. It is a sum of cosines of the distance, whatever the places.
 * @param {number[]} waves tokens of a whole turn @param {number} q @param {number} k
 */
export function scored(waves, q, k) {
  let sum = 0;
  for (const wave of waves) {
    const [a, b] = [(2 * Math.PI * q) / wave, (2 * Math.PI * k) / wave];
    sum += Math.cos(a) * Math.cos(b) + Math.sin(a) * Math.sin(b);
  }
  return sum;
}

/**
 * Two hands, the query's and the key's.
 * @param {number} wave @param {number} q @param {number} k @param {number} cx @param {number} r @param {number} unit
 */
function dial(wave, q, k, cx, r, unit) {
  const cy = r + 4;
  const hand = (/** @type {number} */ place, /** @type {string} */ kind) => {
    const angle = (2 * Math.PI * place) / wave;
    const [x2, y2] = [cx + r * Math.sin(angle), cy - r * Math.cos(angle)];
    return svg("line", { x1: cx, y1: cy, x2, y2, class: `gv-hand gv-is-${kind}` });
  };
  const name = text("inside.swap_wave", { n: wave });
  const under = mark(cx, cy + r + 16 * unit, name, "gv-tick gv-sans", "middle");
  return [svg("circle", { cx, cy, r, class: "gv-dial" }), hand(k, "key"), hand(q, "query"), under];
}

/** @param {string} name @param {number} min @param {number} max @param {() => void} oninput */
function slider(name, min, max, oninput) {
  const output = el("output");
  const input = el("input", { type: "range", min, max, step: 1, id: `gv-${name}`, oninput });
  // words: inside.swap_both inside.swap_apart
  const label = el("label", { for: `gv-${name}` }, text(`inside.${name}`), output);
  const say = (/** @type {number} */ n) => (output.textContent = String(n));
  return { root: el("div", { class: "gv-sl" }, label, input), input, say };
}

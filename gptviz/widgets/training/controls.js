// Which state the stage is in, and what that state lets one choose.
import { el, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

const STATES = ["learn", "level", "mistakes", "padding", "own", "encoder", "copier", "history"];
const RATES = [0.0005, 0.002, 0.05];

/** @param {any} app @param {{ again: () => void, pads: (count: number) => void }} acts */
export function createControls(app, { again, pads }) {
  const show = choice("show", STATES, (value) => app.set({ show: value }));
  const rate = numbers("rate", RATES, (value) => app.set({ rate: value }));
  const mistake = choice("mistake", ["unshifted", "none", "wrong_way"], (value) => app.set({ mistake: value }));
  mistake.box.classList.add("gv-hot");
  const own = numbers("own_count", [2, 4, 8, 16], (value) => app.set({ own: value }));
  const range = { type: "range", min: 0, max: 24, step: 1, "aria-label": text("training.pads") };
  const slider = el("input", { ...range, class: "gv-trslide" });
  const output = el("output", null);
  slider.addEventListener("input", () => (count(Number(slider.value)), pads(Number(slider.value))));
  const go = el("button", { type: "button", class: "gv-btn", onclick: again }, text("training.again"));
  const extra = {
    learn: labelled("rate", rate.box),
    mistakes: mistake.box,
    padding: el("label", { class: "gv-trextra" }, output, slider),
    own: labelled("own_count", own.box),
    copier: go,
  };
  const root = el("div", { class: "gv-bar" }, show.box, el("span", { class: "gv-trmore" }, ...Object.values(extra)));

  /** @param {number} n */
  function count(n) {
    output.textContent = text("training.pads_n", { n });
  }

  return {
    root,
    /** @param {any} view */
    set(view) {
      show.set(view.show);
      rate.set(String(view.rate));
      mistake.set(view.mistake);
      own.set(String(view.own));
      slider.value = String(view.pads);
      count(view.pads);
      for (const [name, node] of Object.entries(extra)) node.hidden = name !== view.show;
    },
  };
}

/** @param {string} name @param {string[]} values @param {(value: string) => void} pick */
function choice(name, values, pick) {
  // words: training.show training.show_* training.mistake training.mistake_*
  const said = (/** @type {string} */ value) => text(`training.${name}_${value}`);
  const options = values.map((value) => /** @type {[string, string]} */ ([value, said(value)]));
  return segment(text(`training.${name}`), options, pick);
}

/** @param {string} name @param {number[]} values @param {(value: number) => void} pick */
function numbers(name, values, pick) {
  const options = values.map((n) => /** @type {[string, string]} */ ([String(n), String(n)]));
  return segment(text(`training.${name}`), options, (value) => pick(Number(value)));
}

/** @param {string} name @param {HTMLElement} box */
function labelled(name, box) {
  return el("span", { class: "gv-trextra" }, text(`training.${name}`), box); // words: training.rate training.own_count
}

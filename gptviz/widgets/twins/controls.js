// The button beside the picture, the choice of mistake and text, the seed, and how far a run is.
import { el, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

const MAX_SEED = 2147483647;

/** What begins at the end of its recorded run. @param {any} app @param {string} name @param {string[]} values */
function choice(app, name, values) {
  // words: twins.variant twins.variant_* twins.data twins.data_*
  const options = values.map((v) => /** @type {[string, string]} */ ([v, text(`twins.${name}_${v}`)]));
  return segment(text(`twins.${name}`), options, (value) =>
    app.set({ [name]: value, at: app.page().fields.at.default }),
  );
}

/** @param {any} app @param {{ train: () => void, stop: () => void }} acts */
export function createControls(app, { train, stop }) {
  let running = false;
  const press = () => (running ? stop() : train());
  const go = el("button", { type: "button", class: "gv-btn gv-main gv-twgo", onclick: press });
  const variant = choice(app, "variant", ["open", "wrong_way", "unshifted"]);
  const data = choice(app, "data", ["sentences", "random"]);
  variant.box.classList.add("gv-hot");
  const whole = { type: "number", min: 0, max: MAX_SEED, step: 1 };
  const seed = el("input", { ...whole, class: "gv-in gv-twseed", onchange: take });
  const label = el("label", { class: "gv-twnum" }, text("twins.seed"), seed);
  const root = el("div", { class: "gv-bar" }, go, variant.box, data.box, label);

  function take() {
    const value = Math.min(MAX_SEED, Math.max(0, Math.round(Number(seed.value)) || 0));
    seed.value = String(value);
    app.set({ seed: value });
  }

  return {
    root,
    /** @param {any} view */
    set(view) {
      variant.set(view.variant);
      data.set(view.data);
      seed.value = String(view.seed);
    },
    /** @param {{ running: boolean, step: number, steps: number }} now */
    state(now) {
      running = now.running;
      go.textContent = running ? text("twins.stop", now) : text("twins.train");
      go.style.setProperty("--part", String(running ? now.step / now.steps : 0));
      go.classList.toggle("gv-twbusy", running);
      for (const box of [variant.box, data.box])
        for (const button of box.querySelectorAll("button")) button.disabled = running;
      seed.disabled = running;
    },
  };
}

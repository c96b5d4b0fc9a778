// The button beside the picture, the choice of mistake and text, the seed, and how far a run is.
import { el, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

/** @param {any} app @param {{ train: () => void, stop: () => void }} acts */
export function createControls(app, { train, stop }) {
  let running = false;
  const go = el("button", {
    type: "button",
    class: "gv-btn gv-main gv-twgo",
    onclick: () => (running ? stop() : train()),
  });
  const variants = /** @type {[string, string][]} */ (
    ["open", "wrong_way", "unshifted"].map((v) => [v, text(`twins.variant_${v}`)])
  ); // words: twins.variant_*
  // words: twins.data_*
  const datas = /** @type {[string, string][]} */ (["sentences", "random"].map((v) => [v, text(`twins.data_${v}`)]));
  const variant = segment(text("twins.variant"), variants, (value) =>
    app.set({ variant: value, at: app.page().fields.at.default }),
  );
  const data = segment(text("twins.data"), datas, (value) =>
    app.set({ data: value, at: app.page().fields.at.default }),
  );
  variant.box.classList.add("gv-hot");
  const seed = el("input", {
    type: "number",
    class: "gv-in gv-twseed",
    min: 0,
    max: 2147483647,
    step: 1,
    onchange: take,
  });
  const label = el("label", { class: "gv-twnum" }, text("twins.seed"), seed);
  const root = el("div", { class: "gv-bar" }, go, variant.box, data.box, label);

  function take() {
    const value = Math.min(2147483647, Math.max(0, Math.round(Number(seed.value)) || 0));
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

// The faulty mask that is compared with the model's own, and what becomes of the end of the text.
import { el, fill, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

export class Controls {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.layers = 0;
    this.fault = segment(text("prefix.fault"), FAULTS(), (value) => this.pick(value));
    this.fault.box.classList.add("gv-hot");
    const choose = () => app.set({ open: this.layer.value });
    this.layer = el("select", { class: "gv-in gv-inrow", "aria-label": text("prefix.open_layer"), onchange: choose });
    this.method = segment(text("prefix.method"), METHODS(), (method) => app.set({ method }));
    const typed = { type: "text", size: 12, maxlength: 200, spellcheck: "false" };
    const names = { "aria-label": text("prefix.ending"), placeholder: text("prefix.ending_hint") };
    const change = () => app.set({ by: this.ending.value });
    this.ending = el("input", { class: "gv-in gv-inrow", ...typed, ...names, onchange: change });
    const name = el("span", { class: "gv-wide gv-soft" }, text("prefix.faulty"));
    const room = el("span", { class: "gv-push" });
    const parts = [name, this.fault.box, this.layer, room, this.method.box, this.ending];
    this.root = el("div", { class: "gv-bar" }, ...parts);
  }

  /** @param {string} value */
  pick(value) {
    if (value === "one") this.app.set({ open: String(this.layers >> 1), direction: "none" });
    else this.app.set({ open: "all", direction: value === "off" ? "none" : value });
  }

  /** @param {any} view @param {import("../mask/page.js").Masks} now @param {any} checks */
  set(view, now, checks) {
    this.root.hidden = view.show === "toy";
    this.count(this.app.model() ? this.app.model().layers : 0);
    const one = now.open.size === 1 && view.open !== "all";
    const whole = now.open.size === this.layers ? (view.direction === "none" ? "off" : view.direction) : null;
    this.fault.set(one && view.direction === "none" ? "one" : whole);
    this.layer.hidden = !one;
    if (one) this.layer.value = String([...now.open][0]);
    this.method.set(view.method);
    this.ending.hidden = view.method !== "edit" || view.show === "all" || !checks;
    if (document.activeElement !== this.ending) this.ending.value = view.by;
  }

  /** @param {number} layers */
  count(layers) {
    if (layers === this.layers) return;
    this.layers = layers;
    const name = (/** @type {number} */ l) => el("option", { value: l }, text("prefix.layer", { l }));
    fill(this.layer, ...Array.from({ length: layers }, (_, l) => name(l)));
  }
}

/** @returns {[string, string][]} */
const FAULTS = () => [
  ["off", text("prefix.fault_off")],
  ["one", text("prefix.fault_one")],
  ["wrong_way", text("prefix.fault_wrong")],
  ["blocks", text("prefix.fault_blocks")],
];

/** @returns {[string, string][]} */
const METHODS = () => [
  ["edit", text("prefix.method_edit")],
  ["truncate", text("prefix.method_cut")],
];

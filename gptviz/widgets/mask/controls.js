// Which masks are open, and what an open one lets a token read; for the map the token that is replaced.
import { el, fill, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

/** @typedef {import("./page.js").Masks} Masks */

export class Controls {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.layers = 0;
    /** @type {Masks} */
    this.now = { open: new Set(), direction: "none" };
    const { box, set } = segment(text("mask.which"), WHICH(), (value) => this.pick(value));
    const way = segment(text("mask.way"), WAYS(), (direction) => app.set({ direction }));
    this.which = { box, set };
    this.way = way;
    this.reads = el("span", { class: "gv-wide gv-soft" }, text("mask.reads"));
    const choose = () => app.set({ open: this.layer.value });
    this.layer = el("select", { class: "gv-in gv-inrow", "aria-label": text("mask.open_layer"), onchange: choose });
    this.swap = this.createSwap();
    const name = el("span", { class: "gv-wide gv-soft" }, text("mask.masks"));
    this.root = el("div", { class: "gv-bar gv-maskbar" }, name, box, this.layer, this.reads, way.box, this.swap);
  }

  createSwap() {
    const typed = { type: "text", size: 9, maxlength: 40, spellcheck: "false", "aria-label": text("mask.by") };
    this.by = el("input", { class: "gv-in gv-inrow", ...typed, onchange: () => this.app.set({ by: this.by.value }) });
    this.old = el("span", { class: "gv-token" });
    return el("label", { class: "gv-swap" }, this.old, " → ", this.by);
  }

  /** @param {string} value */
  pick(value) {
    this.app.set({ open: value === "one" ? this.layer.value || String(this.layers >> 1) : value });
  }

  /** One layer's mask off, or on again. @param {number} l */
  toggle(l) {
    const open = new Set(this.now.open);
    if (!open.delete(l)) open.add(l);
    const list = [...open].sort((a, b) => a - b);
    this.app.set({ open: list.length === this.layers ? "all" : list.join() });
  }

  /** @param {any} view @param {Masks} now @param {string[]} tokens @param {any} reach */
  set(view, now, tokens, reach) {
    this.now = now;
    this.count(this.app.model() ? this.app.model().layers : 0);
    const { open } = now;
    const one = open.size === 1 && view.open !== "all";
    this.layer.value = String(one ? [...open][0] : this.layers >> 1);
    this.layer.hidden = !one;
    this.which.set(view.open === "all" ? "all" : open.size === 0 ? "" : one ? "one" : null);
    this.way.set(now.direction);
    for (const box of [this.which.box, this.way.box]) box.classList.toggle("gv-hot", open.size > 0);
    for (const part of [this.reads, this.way.box]) part.classList.toggle("gv-off", open.size === 0);
    this.root.hidden = view.show === "ways";
    this.swap.hidden = !reach;
    if (!reach) return;
    fill(this.old, tokens[reach.position]);
    if (document.activeElement !== this.by) this.by.value = view.by;
  }

  /** @param {number} layers */
  count(layers) {
    if (layers === this.layers) return;
    this.layers = layers;
    const name = (/** @type {number} */ l) => el("option", { value: l }, text("mask.layer", { l }));
    fill(this.layer, ...Array.from({ length: layers }, (_, l) => name(l)));
  }
}

/** @returns {[string, string][]} */
const WHICH = () => [
  ["", text("mask.all_closed")],
  ["one", text("mask.one_open")],
  ["all", text("mask.all_open")],
];

/** @returns {[string, string][]} */
const WAYS = () => [
  ["none", text("mask.way_none")],
  ["wrong_way", text("mask.way_wrong")],
];

// The end of the context: a short one filled to its last place, and what it costs to go on by cropping.
import { el, fill } from "../kit/dom.js";
import { whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { vectors } from "./vectors.js";

export class End {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.places = el("div", { class: "gv-kv-places" });
    this.rows = el("div", { class: "gv-kv-cropped" });
    this.moved = el("div", { class: "gv-kv-strips" });
    this.note = el("p", { class: "gv-kv-endnote" });
    this.root = el("div", { class: "gv-kv-pane gv-kv-end" }, this.places, this.rows, this.moved, this.note);
    /** @type {any} */
    this.data = null;
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("kv_edge", { text: view.text, model: view.model });
    if (!view.current()) return;
    this.data = found;
    this.resize();
  }

  resize() {
    if (!this.data || this.root.hidden) return;
    const d = this.data;
    fill(this.places, el("h3", null, ...phrase("kv_cache.places", { n: d.context, model: d.model })), this.strip(d));
    fill(this.rows, el("h3", null, ...phrase("kv_cache.cropping_title", { n: d.context })), ...this.bars(d));
    const names = [text("kv_cache.place_was", { n: d.context - 1 }), text("kv_cache.place_now", { n: d.context - 2 })];
    const token = d.written[d.fits - 1];
    fill(
      this.moved,
      el("h3", null, ...phrase("kv_cache.moved_title", { token, layer: d.layer })),
      ...vectors(d.sample, names, this.root.clientWidth),
    );
    // words: kv_cache.end_own kv_cache.end_other
    fill(this.note, ...phrase(d.own ? "kv_cache.end_own" : "kv_cache.end_other", { ...d }));
    this.speak();
  }

  /** The context's places: the prompt's first and last tokens, what was written, and the wall. @param {any} d */
  strip(d) {
    const cell = (/** @type {string} */ kind, /** @type {string} */ token, /** @type {string} */ place) =>
      el("span", { class: `gv-kv-place gv-kv-is-${kind}` }, el("b", null, token), el("small", null, place));
    const narrow = this.root.clientWidth < 600;
    const few = narrow ? 2 : 4;
    const begins = d.begins
      .slice(0, few)
      .map((/** @type {string} */ t, /** @type {number} */ i) => cell("old", t, whole(i)));
    const ends = d.ends
      .slice(narrow ? -1 : -2)
      .map((/** @type {string} */ t, /** @type {number} */ i, /** @type {any[]} */ all) =>
        cell("old", t, whole(d.prompt - all.length + i)),
      );
    const written = d.written
      .slice(0, d.fits)
      .map((/** @type {string} */ t, /** @type {number} */ i) => cell("new", t, whole(d.prompt + i)));
    const wall = cell("wall", text("kv_cache.no_place"), whole(d.context));
    return el(
      "div",
      { class: "gv-kv-placerow" },
      ...begins,
      el("span", { class: "gv-kv-place gv-kv-is-gap" }, "…"),
      ...ends,
      ...written,
      wall,
    );
  }

  /** How many positions each further token runs. @param {any} d */
  bars(d) {
    const most = Math.max(...d.positions);
    return d.written.map((/** @type {string} */ token, /** @type {number} */ i) => {
      const beyond = i >= d.fits && d.positions[i] > 1;
      return el(
        "div",
        { class: `gv-kv-croprow${beyond ? " gv-kv-is-beyond" : ""}` },
        el("span", null, text("kv_cache.crop_token", { n: i + 1 }), " ", el("code", { class: "gv-token" }, token)),
        el(
          "span",
          { class: "gv-kv-rail" },
          el("i", { style: { width: `${Math.max(0.4, (100 * d.positions[i]) / most)}%` } }),
        ),
        el("b", null, text("kv_cache.crop_readings", { n: d.positions[i] })),
      );
    });
  }

  speak() {
    const d = this.data;
    const after = d.positions[d.positions.length - 1];
    const facts = { ...d, edge_model: d.model, last: d.context - 1, after, learned: d.learned, other_model: !d.own };
    this.app.facts(facts);
    this.app.parts.stage.say("kv_cache.say_end", facts);
    this.app.parts.steps.prose();
  }

  table() {
    if (!this.data) return null;
    // words: kv_cache.table_*
    const head = ["row", "token", "readings"].map((k) => text(`kv_cache.table_${k}`));
    return {
      head,
      rows: this.data.written.map((/** @type {string} */ t, /** @type {number} */ i) => [
        i + 1,
        t,
        whole(this.data.positions[i]),
      ]),
    };
  }
}

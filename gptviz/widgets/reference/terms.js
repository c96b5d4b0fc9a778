// All words of the field that the pages use, with one sentence each; typing narrows the list.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

export class Terms {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    const input = {
      type: "search",
      class: "gv-in gv-rf-find",
      "aria-label": text("reference.find"),
      placeholder: text("reference.find"),
      oninput: () => this.find(),
    };
    this.input = el("input", input);
    this.list = el("dl", {
      class: "gv-rf-terms gv-scroll",
      tabindex: "0",
      "aria-label": text("reference.terms_label"),
    });
    this.root = el(
      "div",
      { class: "gv-rf-section gv-rf-fillcol" },
      el("div", { class: "gv-bar" }, this.input),
      this.list,
    );
    const names = Object.keys(app.manifest.words).filter((key) => key.startsWith("terms.") && key.endsWith(".name"));
    // words: terms.*.name terms.*.means
    this.terms = names.map((key) => ({ name: text(key), means: text(key.replace(/name$/, "means")) }));
  }

  find() {
    this.app.set({ find: this.input.value.slice(0, 200) }, { draw: false });
    this.draw();
  }

  async show(/** @type {any} */ view) {
    if (document.activeElement !== this.input) this.input.value = view.find;
    this.draw();
  }

  draw() {
    const wanted = this.input.value.trim().toLowerCase();
    const fits = (/** @type {any} */ term) => `${term.name} ${term.means}`.toLowerCase().includes(wanted);
    const found = this.terms.filter(fits);
    this.shown = found;
    fill(this.list, ...found.map((term) => el("div", null, el("dt", null, term.name), el("dd", null, term.means))));
    // words: reference.say_terms reference.say_no_term
    this.app.parts.stage.say(found.length || !wanted ? "reference.say_terms" : "reference.say_no_term", {
      n: found.length,
      wanted,
    });
  }

  table() {
    return {
      head: [text("reference.table_term"), text("reference.table_means")],
      rows: (this.shown || []).map((/** @type {any} */ t) => [t.name, t.means]),
    };
  }
}

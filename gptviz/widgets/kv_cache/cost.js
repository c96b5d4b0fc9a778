// Cost against length: counted, as a figure to explore; Plotly comes only when this step opens.
import { el, segment } from "../kit/dom.js";
import { plot } from "../kit/plot.js";
import { whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const WHAT = ["reading", "writing", "bytes", "race"];
const AXES = ["tenfold", "even"];

export class Cost {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    // words: kv_cache.cost_* kv_cache.axes_*
    this.what = segment(
      text("kv_cache.cost_of"),
      WHAT.map((w) => [w, text(`kv_cache.cost_${w}`)]),
      (v) => app.set({ cost: v }),
    );
    this.axes = segment(
      text("kv_cache.axes"),
      AXES.map((a) => [a, text(`kv_cache.axes_${a}`)]),
      (v) => app.set({ axes: v }),
    );
    this.box = el("div", { class: "gv-kv-plot" });
    this.root = el(
      "div",
      { class: "gv-kv-pane gv-kv-cost" },
      el("div", { class: "gv-bar" }, this.what.box, this.axes.box),
      this.box,
    );
    /** @type {any} */
    this.data = null;
  }

  async show(/** @type {any} */ view) {
    const args = {
      text: view.text,
      what: view.cost,
      axes: view.axes,
      first: view.first,
      new: view.new,
      model: view.model,
    };
    const found = await view.ask("kv_cost", args);
    if (!view.current()) return;
    this.view = view;
    this.data = found;
    this.what.set(view.cost);
    this.axes.set(view.axes);
    this.speak();
    await plot(this.box, found.figure);
  }

  resize() {
    if (this.data && !this.root.hidden) plot(this.box, this.data.figure);
  }

  speak() {
    const { crossing = 0, context = 0, lines, lengths } = this.data;
    const what = this.view.cost;
    const last = (/** @type {string} */ name) => lines[name] && lines[name][lengths.length - 1];
    const facts = {
      crossing,
      context,
      top: lengths[lengths.length - 1],
      reads_far: what === "reading" && crossing > 0 && crossing <= context,
      reads_short: what === "reading" && crossing > context,
      share: last("attention") / last("matrices"),
      race_again: last("uncached"),
      race_kept: last("cached"),
    };
    this.app.facts(facts);
    // words: kv_cache.say_cost_*
    const said = what === "race" || crossing ? what : "never";
    this.app.parts.stage.say(`kv_cache.say_cost_${said}`, facts);
    this.app.parts.steps.prose();
  }

  table() {
    if (!this.data) return null;
    const names = Object.keys(this.data.lines);
    // words: kv_cache.line_*
    const head = [text("kv_cache.table_tokens"), ...names.map((n) => text(`kv_cache.line_${n}`))];
    return {
      head,
      rows: this.data.lengths.map((/** @type {number} */ n, /** @type {number} */ i) => [
        whole(n),
        ...names.map((k) => whole(this.data.lines[k][i])),
      ]),
    };
  }
}

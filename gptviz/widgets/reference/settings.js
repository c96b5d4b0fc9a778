// Usual settings: what people set when a model writes, and when one is trained, with a link that tries it.
import { el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

/**
 * Use, and the address on Next token that shows it; the numbers themselves are in the words.
 * @type {[string, string][]}
 */
const WRITING = [
  ["chat", "temperature=0.8&top_p=0.95&show=writing"],
  ["facts", "temperature=0.2&top_p=0.9&show=writing"],
  ["ideas", "temperature=1.2&top_p=0.98&show=writing"],
  ["translate", "temperature=0&show=writing"],
  ["measure", "temperature=1"],
];
const TRAINING = ["start", "optimiser", "rate", "batch", "dropout", "length"];
const COLUMNS = ["use", "temperature", "cut", "why"];

export class UsualSettings {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    // words: reference.column_* reference.use_* reference.train_*
    const head = el(
      "tr",
      null,
      ...COLUMNS.map((c) => el("th", { scope: "col" }, text(`reference.column_${c}`))),
      el("th", { scope: "col" }, text("reference.column_try")),
    );
    const rows = WRITING.map(([use, address]) =>
      el("tr", null, ...text(`reference.use_${use}`).split(" | ").map(cell), el("td", null, this.link(address))),
    );
    const training = TRAINING.map((key) => el("tr", null, ...text(`reference.train_${key}`).split(" | ").map(cell)));
    this.root = el(
      "div",
      {
        class: "gv-rf-section gv-scroll",
        tabindex: "0",
        role: "group",
        "aria-label": text("reference.settings_label"),
      },
      el("h2", null, text("reference.writing_title")),
      el("table", { class: "gv-rf-plain" }, el("thead", null, head), el("tbody", null, ...rows)),
      el("p", { class: "gv-rf-small" }, ...phrase("reference.order_note")),
      el("h2", null, text("reference.training_title")),
      el("table", { class: "gv-rf-plain" }, el("tbody", null, ...training)),
    );
  }

  /** @param {string} address */
  link(address) {
    const search = `?lesson=next_token&${address}`;
    const follow = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      history.pushState(null, "", location.pathname + search);
      this.app.open(search);
    };
    return el("a", { class: "gv-rf-try", href: search, onclick: follow }, text("reference.try"));
  }

  async show() {
    this.app.parts.stage.say("reference.say_settings", {});
  }

  table() {
    const head = COLUMNS.map((c) => text(`reference.column_${c}`));
    return { head, rows: WRITING.map(([use]) => text(`reference.use_${use}`).split(" | ")) };
  }
}

/** @param {string} words @param {number} i */
const cell = (words, i) => el(i ? "td" : "th", i ? null : { scope: "row" }, words);

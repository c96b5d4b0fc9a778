// Check yourself: a few questions whose answers the server counted, for the loaded model and for the course's own.
import { el, fill } from "../kit/dom.js";
import { whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

export class Quiz {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.list = el("div", {
      class: "gv-rf-quizzes gv-scroll",
      tabindex: "0",
      role: "group",
      "aria-label": text("reference.quiz_label"),
    });
    this.root = el("div", { class: "gv-rf-section gv-rf-fillcol" }, this.list);
    /** @type {Map<string, boolean>} */
    this.right = new Map();
  }

  async show(/** @type {any} */ view) {
    const items = await view.ask("ref_quiz", { model: view.model });
    if (!view.current()) return;
    if (items !== this.items) {
      this.items = items;
      this.right.clear();
      fill(
        this.list,
        ...items.map((/** @type {any} */ item) => (item.options ? this.choice(item) : this.figure(item))),
      );
    }
    this.app.facts({ model: view.model });
    this.speak();
    this.app.parts.steps.prose();
  }

  /** @param {any} item @param {...Node} inside */
  card(item, ...inside) {
    const verdict = el("p", { role: "status" });
    const values = { ...item.values, answer: item.answer };
    const root = el(
      "section",
      { class: "gv-rf-quiz" },
      el("p", null, ...phrase(`reference.quiz_${item.key}`, values)),
      ...inside,
      verdict,
      // words: reference.quiz_* reference.why_*
    );
    const judge = (/** @type {boolean} */ right) => {
      this.right.set(item.key, right);
      root.classList.toggle("gv-rf-right", right);
      fill(
        verdict,
        el("b", null, text(right ? "frame.right" : "frame.wrong")),
        " ",
        ...phrase(`reference.why_${item.key}`, values),
        // words: frame.right frame.wrong
      );
      this.speak();
    };
    return { root, judge };
  }

  /** @param {any} item */
  choice(item) {
    const chips = el("div", { class: "gv-chips" });
    const { root, judge } = this.card(item, chips);
    const pick = (/** @type {number} */ k) => {
      [...chips.children].forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === k)));
      judge(k === item.answer);
    };
    const chip = (/** @type {number} */ k) =>
      el(
        "button",
        { type: "button", class: "gv-chip", "aria-pressed": "false", onclick: () => pick(k) },
        text(`reference.option_${item.key}_${k}`),
        // words: reference.option_*
      );
    fill(chips, ...Array.from({ length: item.options }, (_, k) => chip(k)));
    return root;
  }

  /** @param {any} item */
  figure(item) {
    const label = text(`reference.quiz_${item.key}`, item.values);
    const input = el("input", { class: "gv-in", type: "text", inputmode: "numeric", "aria-label": label });
    const check = () => {
      const typed = input.value.replace(/[^\d]/g, "");
      if (typed) judge(Number(typed) === item.answer);
    };
    input.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && check());
    const row = el(
      "div",
      { class: "gv-rf-typed" },
      input,
      el("button", { type: "button", class: "gv-btn", onclick: check }, text("reference.check")),
    );
    const { root, judge } = this.card(item, row);
    return root;
  }

  speak() {
    const right = [...this.right.values()].filter(Boolean).length;
    // words: reference.say_quiz reference.say_quiz_none
    this.app.parts.stage.say(right ? "reference.say_quiz" : "reference.say_quiz_none", { right, n: this.items.length });
  }

  table() {
    if (!this.items) return null;
    const rows = this.items.map((/** @type {any} */ item) => [
      text(`reference.quiz_${item.key}`, item.values),
      item.options ? text(`reference.option_${item.key}_${item.answer}`) : whole(item.answer),
    ]);
    return { head: [text("reference.table_question"), text("reference.table_answer")], rows };
  }
}

// The steps beside the stage: contents, story and remote control in one. A step may first ask for a guess.
import { el, fill } from "./dom.js";
import { remember } from "./focus.js";
import { render, text } from "./words.js";

const CONDITION = /^\[if (not )?(\w+)\] ?/;

export class Steps {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    const button = (/** @type {number} */ by, /** @type {string} */ kind) =>
      el("button", { type: "button", class: `gv-btn ${kind}`, onclick: () => app.move(by) });
    this.question = el("h1", { class: "gv-question" });
    this.list = el("ol", { class: "gv-steps" });
    this.back = button(-1, "");
    this.back.textContent = text("frame.back");
    this.where = el("span", { class: "gv-where" });
    this.next = button(1, "gv-main");
    const go = el("div", { class: "gv-go" }, this.back, this.where, this.next);
    this.root = el("aside", { class: "gv-side", "aria-label": text("frame.steps") }, this.question, this.list, go);
    /** @type {HTMLElement | null} */
    this.body = null;
  }

  draw() {
    const page = this.app.page();
    const now = this.app.state.step;
    const back = remember(
      this.root,
      () => this.list.querySelector(".gv-cur [role=status]") || this.list.querySelector(".gv-cur .gv-head"),
    );
    this.question.textContent = page.question;
    const items = page.steps.map((/** @type {any} */ step, /** @type {number} */ i) => this.item(step, i + 1, now));
    fill(this.list, ...items);
    this.body = items[now - 1].querySelector(".gv-body");
    this.around(page, now);
    this.prose();
    back();
    requestAnimationFrame(() => this.reveal(items[now - 1]));
  }

  /** Where the reader is, and where back and next lead: along the course, or along the page. */
  around(/** @type {any} */ page, /** @type {number} */ now) {
    const course = this.app.course();
    const [at, total] = course ? [course.at + 1, course.stops.length] : [now, page.steps.length];
    const after = course ? null : this.app.neighbour(1);
    const last = at === total;
    // words: frame.course_of frame.step_of
    this.where.textContent = text(course ? "frame.course_of" : "frame.step_of", { n: at, total });
    this.where.classList.toggle("gv-course", Boolean(course));
    this.where.style.setProperty("--part", String(at / total));
    this.back.disabled = at === 1 && (course || this.app.neighbour(-1) === null);
    this.next.textContent = last && after ? text("frame.next_page", { page: after.tab }) : text("frame.next");
    this.next.disabled = last && after === null;
  }

  /** @param {any} step @param {number} number @param {number} now */
  item(step, number, now) {
    const current = number === now;
    const attributes = { type: "button", class: "gv-head", "aria-current": current && "step" };
    const head = el("button", { ...attributes, onclick: () => this.app.step(number) }, el("span", null, step.title));
    const seen = this.app.seen(number) ? " gv-seen" : "";
    return el("li", { class: (current ? "gv-cur" : "") + seen }, head, el("div", { class: "gv-body" }));
  }

  /** The open step into view: sideways on a phone, down where the list is long. @param {HTMLElement} item */
  reveal(item) {
    const { list } = this;
    if (list.scrollWidth > list.clientWidth) list.scrollLeft = item.offsetLeft - list.offsetLeft - 11;
    else list.scrollTop = Math.max(0, item.offsetTop - list.offsetTop - list.clientHeight + item.offsetHeight);
  }

  /** The words of the open step, with the numbers of what is on the stage now. */
  prose() {
    if (!this.body) return;
    const { known } = this.app;
    const step = this.app.page().steps[this.app.state.step - 1];
    const paragraphs = step.body
      .filter((/** @type {string} */ words) => holds(words, known))
      .map((/** @type {string} */ words) => el("p", null, ...said(words.replace(CONDITION, ""), known)));
    const back = remember(this.body, () => this.body?.querySelector("[role=status]") || null);
    fill(this.body, ...paragraphs, step.guess && this.app.guesses() ? this.guess(step.guess) : null);
    back();
  }

  /** @param {any} asked */
  guess(asked) {
    const { app } = this;
    const given = app.guessed();
    const box = el("div", { class: "gv-ask" }, el("p", { class: "gv-asked" }, ...said(asked.question, app.known)));
    if (given === undefined) {
      const chips = asked.options.map((/** @type {string} */ option, /** @type {number} */ index) =>
        el("button", { type: "button", class: "gv-chip", onclick: () => app.guess(index) }, option),
      );
      const tell = el("button", { type: "button", class: "gv-link", onclick: () => app.guess(-1) }, text("frame.tell"));
      box.append(el("div", { class: "gv-chips" }, ...chips, tell));
      return box;
    }
    const right = app.known[asked.right];
    const decided = given >= 0 && right !== undefined && right >= 0;
    box.classList.toggle("gv-yes", decided && given === right);
    box.classList.toggle("gv-no", decided && given !== right);
    const verdict = given === right ? text("frame.right") : text("frame.wrong");
    const opening = decided ? [el("b", null, verdict), " "] : [];
    box.append(el("p", { role: "status", tabindex: "-1" }, ...opening, ...said(asked.answer, app.known)));
    return box;
  }
}

/**
 * Prose with the facts that are known so far; "…" for those still on their way.
 * @param {string} words
 * @param {Record<string, any>} facts
 */
function said(words, facts) {
  const values = { ...facts };
  for (const [, name] of words.matchAll(/\{([a-z_][a-z0-9_]*)/g)) values[name] ??= "…";
  return render(words, values);
}

/** @param {string} paragraph @param {Record<string, any>} facts */
function holds(paragraph, facts) {
  const match = CONDITION.exec(paragraph);
  return !match || Boolean(facts[match[2]]) !== Boolean(match[1]);
}

// Guess ahead: each pass of the model reads some guesses at once, keeps those it would have written, and adds a token.
import { el, fill, segment } from "../kit/dom.js";
import { whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const NEW = 60;
const WAYS = ["repeats", "model"];
const NO_BILL = { bytes_same: false, lagging: false, keeps_up: false, even: false }; // that is the other picture's

export class Draft {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    // words: kv_cache.draft_repeats kv_cache.draft_model
    const ways = /** @type {[string, string][]} */ (WAYS.map((way) => [way, text(`kv_cache.draft_${way}`)]));
    this.ways = segment(text("kv_cache.draft"), ways, (way) => app.set({ draft: way }));
    const back = el(
      "button",
      { type: "button", class: "gv-btn gv-kv-racego", onclick: () => app.set({ show: "bill" }) },
      text("kv_cache.draft_back"),
    );
    this.label = el("span", { class: "gv-soft" }, text("kv_cache.draft"));
    this.bars = ["plain", "ahead"].map((name) => {
      const [bar, number] = [el("i", { class: `gv-kv-bar-${name}` }), el("b")];
      // words: kv_cache.passes_plain kv_cache.passes_ahead
      const rail = el("span", { class: "gv-kv-rail" }, bar);
      const root = el(
        "div",
        { class: "gv-kv-sizebar" },
        el("span", null, text(`kv_cache.passes_${name}`)),
        rail,
        number,
      );
      return { root, bar, number };
    });
    this.passes = el("div", { class: "gv-kv-passes", tabindex: "0", role: "group" });
    this.passes.setAttribute("aria-label", text("kv_cache.draft_picture"));
    this.keys = el("p", { class: "gv-kv-draftkeys" }, ...keys());
    this.root = el(
      "div",
      { class: "gv-kv-pane gv-kv-draft" },
      el("div", { class: "gv-bar" }, this.label, this.ways.box, back),
      el("div", { class: "gv-kv-draftbars" }, ...this.bars.map(({ root }) => root)),
      this.keys,
      this.passes,
    );
    /** @type {AbortController | null} */
    this.running = null;
    this.stamp = "";
    /** @type {any} */
    this.state = null;
    /** @type {any[]} */
    this.steps = [];
  }

  async show(/** @type {any} */ view) {
    this.ways.set(view.draft);
    const args = { text: view.text, new_tokens: NEW, draft: view.draft, model: view.model };
    const stamp = JSON.stringify(args);
    if (stamp === this.stamp && this.state) return this.resize();
    this.leave();
    this.stamp = stamp;
    this.state = null;
    this.steps = [];
    fill(this.passes);
    const mine = (this.running = new AbortController());
    await new Promise((begun, failed) => {
      const take = (/** @type {any} */ value) => {
        if (this.running === mine) this.take(value);
        begun(null);
      };
      this.app.stream("speculative", args, take, mine.signal).then(begun, (/** @type {any} */ error) => {
        if (this.running === mine) this.stamp = "";
        if (mine.signal.aborted) begun(null);
        else failed(error);
      });
    });
  }

  leave() {
    if (this.running) this.running.abort();
    this.running = null;
    if (!this.state || !this.state.stop) this.stamp = "";
  }

  /** @param {any} value */
  take(value) {
    this.state = value;
    const first = this.steps.length;
    this.steps.push(...value.fresh);
    const made = value.fresh.map((/** @type {any} */ step, /** @type {number} */ i) => this.pass(step, first + i + 1));
    this.passes.append(...made);
    this.passes.scrollTop = this.passes.scrollHeight;
    this.resize();
  }

  /** @param {any} step @param {number} n */
  pass(step, n) {
    const tokens = step.draft.map((/** @type {string} */ token, /** @type {number} */ i) =>
      el(i < step.accepted ? "b" : "s", null, token),
    );
    const point = () =>
      this.app.parts.stage.point(
        // words: kv_cache.pass_none kv_cache.pass_some
        phrase(step.draft.length ? "kv_cache.pass_some" : "kv_cache.pass_none", {
          n,
          guesses: step.draft.length,
          accepted: step.accepted,
          own: step.own,
        }),
      );
    const leave = () => this.app.parts.stage.point(null);
    const attributes = { class: "gv-kv-pass", onpointerenter: point, onpointerleave: leave, onclick: point };
    return el("span", attributes, ...tokens, el("i", null, step.own));
  }

  resize() {
    const s = this.state;
    if (!s || this.root.hidden) return;
    this.ways.box.hidden = !s.smaller;
    // words: kv_cache.draft kv_cache.draft_only
    this.label.textContent = text(s.smaller ? "kv_cache.draft" : "kv_cache.draft_only");
    const counts = [s.new_tokens, s.passes];
    this.bars.forEach(({ bar, number }, i) => {
      bar.style.width = `${(100 * counts[i]) / s.asked}%`;
      number.textContent = whole(counts[i]);
    });
    const facts = { ...s, ...NO_BILL, drafting: true };
    this.app.facts(facts);
    this.app.parts.stage.say(this.key(s), facts);
    this.app.parts.steps.prose();
  }

  /** @param {any} s */
  key(s) {
    if (!s.stop) return "kv_cache.say_drafting";
    if (s.same_text) return "kv_cache.say_drafted";
    // words: kv_cache.say_draft_tie kv_cache.say_draft_off
    return s.explained ? "kv_cache.say_draft_tie" : "kv_cache.say_draft_off";
  }

  table() {
    if (!this.steps.length) return null;
    const head = ["pass", "guesses", "accepted", "own"].map((k) => text(`kv_cache.table_${k}`));
    // words: kv_cache.table_*
    return { head, rows: this.steps.map((step, i) => [i + 1, step.draft.join(" "), step.accepted, step.own]) };
  }
}

/** What the three kinds of tokens are. */
const keys = () => [
  el("b", null, text("kv_cache.draft_right")),
  el("s", null, text("kv_cache.draft_wrong")),
  el("i", null, text("kv_cache.draft_own")),
];

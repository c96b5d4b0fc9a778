// Writing on: four habits of choosing continue the same prompt, token by token; a stretch that repeats is underlined.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

const WAYS = ["greedy", "sample", "mine", "beam"];

/** @param {any} app */
export const createWriting = (app) => new Writing(app);

class Writing {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.cards = WAYS.map(card);
    this.root = el("div", { class: "gv-ways" }, ...this.cards.map(({ root }) => root));
    this.go = el("button", { type: "button", class: "gv-btn gv-main" }, text("next_token.write"));
    this.go.addEventListener("click", () => this.toggle());
    this.seed = this.number("seed", 0, 4294967295);
    this.length = this.number("new", 1, 200);
    this.controls = el("div", { class: "gv-acts" }, this.go, this.seed.root, this.length.root);
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {any} */
    this.last = null;
    this.stamp = "";
  }

  async toggle() {
    if (this.running) return this.running.abort();
    const mine = (this.running = new AbortController());
    this.go.textContent = text("next_token.stop");
    const { temperature, top_k, top_p, seed, new: length } = this.app.state.fields;
    const settings = { temperature, top_k, top_p, seed, new: length };
    const args = { text: this.app.prompt(), model: this.app.model().name, ...settings };
    const take = (/** @type {any} */ value) => {
      if (this.running === mine) this.draw(value);
    };
    try {
      await this.app.stream("contest", args, take, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) this.app.parts.notice(/** @type {Error} */ (error).message);
    }
    if (this.running === mine) this.running = null;
    if (!this.running) this.go.textContent = text("next_token.write");
  }

  /** @param {any} value */
  draw(value) {
    this.last = value;
    value.texts.forEach((/** @type {any} */ written, /** @type {number} */ i) => {
      const pieces = written.shown.map((/** @type {string} */ token, /** @type {number} */ k) =>
        piece(token, looped(written.loops, k)),
      );
      fill(this.cards[i].words, ...pieces);
      // words: next_token.stop_*
      this.cards[i].end.textContent = text(`next_token.stop_${written.stop || "not_yet"}`);
    });
    this.speak();
  }

  speak() {
    const { stage } = this.app.parts;
    if (!this.last) return stage.say("next_token.write_first");
    const [greedy] = this.last.texts;
    const [loop] = greedy.loops;
    if (loop) return stage.say("next_token.loop_mean", { period: loop[2], times: loop[3] });
    stage.say("next_token.writing_tokens", { n: greedy.shown.length, total: this.app.state.fields.new });
  }

  /** @param {string} name @param {number} min @param {number} max */
  number(name, min, max) {
    const input = el("input", { type: "number", class: "gv-in", min, max, step: 1 });
    input.addEventListener("change", () => {
      const value = Math.min(max, Math.max(min, Math.round(+input.value) || min));
      this.app.set({ [name]: value });
    });
    // words: next_token.seed next_token.new
    return { root: el("label", { class: "gv-num" }, text(`next_token.${name}`), input), input };
  }

  /** Another prompt: what was written belongs to the old one. @param {string} key */
  reset(key) {
    this.seed.input.value = String(this.app.state.fields.seed);
    this.length.input.value = String(this.app.state.fields.new);
    if (key === this.stamp) return;
    this.stamp = key;
    this.last = null;
    if (this.running) this.running.abort();
    for (const { words, end } of this.cards) {
      fill(words);
      fill(end);
    }
  }
}

/** @param {string} way */
function card(way) {
  const words = el("p", { class: "gv-written" });
  const end = el("span", { class: "gv-soft" });
  // words: next_token.way_*
  const title = el("h2", null, text(`next_token.way_${way}`), end);
  return { root: el("section", { class: "gv-way" }, title, words), words, end };
}

/** @param {string} token @param {boolean} loop */
const piece = (token, loop) => el("span", { class: loop ? "gv-loop" : null }, token.replace(/^·/, " "));
/** @param {number[][]} loops @param {number} k */
const looped = (loops, k) => loops.some(([from, to]) => k >= from && k < to);

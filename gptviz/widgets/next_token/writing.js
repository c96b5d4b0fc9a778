// Writing on: four habits of choosing continue the same prompt, token by token; a stretch that repeats is underlined.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

const WAYS = ["greedy", "sample", "mine", "beam"];
const SETTINGS = ["temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "new", "ignore_end"];

/** @param {any} app */
export const createWriting = (app, /** @type {any} */ instead) => new Writing(app, instead);

class Writing {
  /** @param {any} app @param {any} instead */
  constructor(app, instead) {
    this.app = app;
    this.instead = instead;
    this.cards = WAYS.map(card);
    this.root = el("div", { class: "gv-ways" }, ...this.cards.map(({ root }) => root));
    this.go = el("button", { type: "button", class: "gv-btn gv-main" }, text("next_token.write"));
    this.go.addEventListener("click", () => this.toggle());
    this.seed = this.number("seed", 0, 4294967295);
    this.length = this.number("new", 1, 200);
    this.on = el("input", { type: "checkbox" });
    this.on.addEventListener("change", () => this.app.set({ ignore_end: this.on.checked }));
    const on = el("label", { class: "gv-check" }, this.on, text("next_token.ignore_end"));
    const numbers = el("div", { class: "gv-nums" }, this.seed.root, this.length.root);
    this.controls = el("div", { class: "gv-acts" }, this.go, numbers, on);
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {any} */
    this.last = null;
    this.stamp = "";
    this.prompt = "";
  }

  async toggle() {
    if (this.running) return this.running.abort();
    const mine = (this.running = new AbortController());
    this.go.textContent = text("next_token.stop");
    const fields = this.app.state.fields;
    const settings = Object.fromEntries(SETTINGS.map((name) => [name, fields[name]]));
    const args = { text: this.app.prompt(), model: this.app.model().name, ...settings };
    this.prompt = args.text;
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
      const { words, end, look } = this.cards[i];
      fill(
        words,
        ...written.shown.map((/** @type {string} */ token, /** @type {number} */ k) => this.piece(written, k)),
      );
      // words: next_token.stop_*
      end.textContent = text(`next_token.stop_${written.stop || "not_yet"}`);
      look.hidden = !written.stop || !written.said;
      if (!look.hidden) look.href = this.app.link("attention", this.prompt + written.said);
    });
    this.speak();
  }

  /** One written token; pointed at, it says what else could have stood there. @param {any} written @param {number} k */
  piece(written, k) {
    const at = this.app.known.tokens + k;
    const more = written.ids.slice(0, k + 1);
    const kinds = [looped(written.loops, k) && "gv-loop", written.ends.includes(k) && "gv-endmark"];
    if (written.ends.some((/** @type {number} */ e) => e < k)) kinds.push("gv-past");
    const attributes = {
      class: kinds.filter(Boolean).join(" ") || null,
      onpointerenter: () => this.instead.point(at, more),
      onpointerleave: () => this.instead.rest(),
      onclick: () => this.instead.hold(at, more),
    };
    return el("span", attributes, written.shown[k].replace(/^·/, " "));
  }

  speak() {
    const { stage } = this.app.parts;
    if (!this.last) return stage.say("next_token.write_first");
    const [greedy] = this.last.texts;
    const [loop] = greedy.loops;
    const [end] = greedy.ends;
    if (end !== undefined && end < greedy.shown.length - 1)
      return stage.say("next_token.ran_on", { n: end, more: greedy.shown.length - 1 - end });
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
    this.on.checked = this.app.state.fields.ignore_end;
    if (key === this.stamp) return;
    this.stamp = key;
    this.last = null;
    if (this.running) this.running.abort();
    for (const { words, end, look } of this.cards) {
      fill(words);
      fill(end);
      look.hidden = true;
    }
  }
}

/** @param {string} way */
function card(way) {
  const words = el("p", { class: "gv-written" });
  const end = el("span", { class: "gv-soft" });
  const look = el("a", { class: "gv-look", hidden: true }, text("next_token.its_attention"));
  // words: next_token.way_*
  const title = el("h2", null, text(`next_token.way_${way}`), look, end);
  return { root: el("section", { class: "gv-way" }, title, words), words, end, look };
}

/** @param {number[][]} loops @param {number} k */
const looped = (loops, k) => loops.some(([from, to]) => k >= from && k < to);

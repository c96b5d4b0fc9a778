// Draws from the final bars: seeded darts on the line, counted by rank, held against what was to be expected.
import { el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import * as S from "./sampling.js";

const SHOWN = 60; // darts on the line
const UNLIKELY = 0.01; // chance alone strays so far in fewer trials than this

/** @param {any} app @param {any} page */
export const createDraws = (app, page) => new Draws(app, page);

class Draws {
  /** @param {any} app @param {any} page */
  constructor(app, page) {
    this.app = app;
    this.page = page;
    const button = (/** @type {string} */ words, /** @type {() => void} */ onclick, kind = "") =>
      el("button", { type: "button", class: `gv-btn ${kind}`, onclick }, words);
    this.fit = el("p", { class: "gv-soft gv-fit" });
    this.controls = el(
      "div",
      { class: "gv-acts" },
      button(text("next_token.draw_one"), () => this.go(1)),
      button(text("next_token.draw_many"), () => this.go(1000), "gv-main"),
      button(text("next_token.clear"), () => this.clear()),
      this.fit,
    );
    this.stamp = "";
    this.seed = 0;
    /** @type {any} */
    this.ready = null;
    /** @type {any} */
    this.shares = null;
    /** @type {Map<number, number>} */
    this.hits = new Map();
    /** @type {number[]} */
    this.places = [];
    this.n = 0;
    this.last = { token: "", rank: 0 };
  }

  forget() {
    this.hits = new Map();
    this.places = [];
    this.n = 0;
    this.last = { token: "", rank: 0 };
  }

  clear() {
    this.forget();
    this.page.paint();
  }

  /** @param {number} times */
  async go(times) {
    if (!this.ready) return;
    const found = S.draws(this.shares.final, this.shares.kept, this.seed, times, this.n);
    for (const rank of found) this.hits.set(rank, (this.hits.get(rank) || 0) + 1);
    for (let i = 0; i < Math.min(times, SHOWN); i++) this.places.push(S.uniform(this.seed, this.n + times - 1 - i));
    this.places = this.places.slice(-SHOWN);
    this.n += times;
    const rank = found[found.length - 1];
    const [token] = await this.page.names([this.ready.order[rank]]);
    this.last = { token, rank };
    this.page.paint();
  }

  speak() {
    const { stage } = this.app.parts;
    const { hits, n, shares } = this;
    this.fit.textContent = "";
    if (!n) return stage.say("next_token.nothing_drawn");
    const { token, rank } = this.last;
    if (n === 1) return stage.say("next_token.drew_one", { token, p: shares.final[rank] });
    const best = { best: this.app.known.first, hit: (hits.get(0) || 0) / n, expected: shares.final[0] };
    stage.say("next_token.drew", { n, ...best });
    const { p } = S.chiSquare(shares.final, shares.kept, hits, n);
    // words: next_token.fit_good next_token.fit_bad
    this.fit.textContent = text(p > UNLIKELY ? "next_token.fit_good" : "next_token.fit_bad", { p });
  }

  counts() {
    return this.n ? this.hits : null;
  }

  darts() {
    return this.places;
  }

  /** @param {any} ready @param {any} shares */
  use(ready, shares) {
    this.ready = ready;
    this.shares = shares;
  }

  /**
   * Another distribution or seed makes the tally worthless; the same one, painted again, does not.
   * @param {string} key
   */
  reset(key) {
    if (key === this.stamp) return;
    this.stamp = key;
    this.seed = this.app.state.fields.seed;
    this.forget();
  }
}

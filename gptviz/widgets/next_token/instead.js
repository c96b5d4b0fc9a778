// What else could have stood at a place that has been read: the likeliest tokens there, and the one that came.
import { el, fill } from "../kit/dom.js";
import { percentList } from "../kit/numbers.js";
import { phrase } from "../kit/words.js";

const COUNT = 5;

/** @param {any} app */
export const createInstead = (app) => new Instead(app);

class Instead {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.root = el("div", { class: "gv-instead", hidden: true });
    this.asked = "";
    /** @type {any} */
    this.found = null; // a promise of the places of `asked`
    this.args = { text: "", model: "" };
    this.vocabulary = 0;
    this.turn = 0; // the newest pointing; older answers are dropped
    this.held = false;
    /** @type {(shown: boolean) => void} */
    this.onshow = () => {};
  }

  /** Another prompt. @param {any} args @param {number} vocabulary */
  reset(args, vocabulary) {
    this.args = args;
    this.vocabulary = vocabulary;
    this.found = null;
    this.asked = "";
    this.held = false;
    this.rest();
  }

  /** @param {number} at a place of the text @param {number[]} [more] ids written after the prompt */
  async point(at, more = []) {
    const turn = ++this.turn;
    const key = JSON.stringify(more);
    if (!this.found || key !== this.asked) {
      this.asked = key;
      this.found = this.app.parts.ask("alternatives", { ...this.args, ...(more.length ? { more } : {}), count: COUNT });
      this.found.catch(() => (this.found = null)); // the reader may try again
    }
    const { tokens, places } = await this.found;
    if (turn === this.turn) this.draw(tokens, places[at - 1], at);
  }

  /** @param {number} at @param {number[]} [more] */
  hold(at, more = []) {
    this.held = true;
    this.point(at, more);
  }

  /** Nothing is pointed at any more. */
  rest() {
    if (this.held) return void (this.held = false);
    this.turn++;
    this.root.hidden = true;
    this.onshow(false);
    this.app.parts.stage.point(null);
  }

  /** @param {any[]} tokens @param {any} place undefined for the first token @param {number} at */
  draw(tokens, place, at) {
    const token = tokens[at].shown;
    this.root.hidden = false;
    this.onshow(true);
    if (!place) {
      fill(this.root, el("h2", null, ...phrase("next_token.instead_first", { token })));
      this.app.parts.stage.point(phrase("next_token.instead_first", { token }));
      return;
    }
    const before = tokens[at - 1].shown;
    const rows = place.top.map((/** @type {any} */ t) => ({ ...t, came: t.id === place.id }));
    if (!rows.some((/** @type {any} */ r) => r.came)) rows.push({ shown: token, p: place.p, came: true });
    const words = percentList(rows.map((/** @type {any} */ r) => r.p));
    const lines = rows.map((/** @type {any} */ r, /** @type {number} */ i) =>
      el("p", { class: r.came ? "gv-came" : null }, el("span", null, r.shown), bar(r.p), el("span", null, words[i])),
    );
    fill(this.root, el("h2", null, ...phrase("next_token.instead", { before })), ...lines);
    const values = { token, before, p: place.p, rank: place.rank, best: place.top[0].shown, best_p: place.top[0].p };
    // words: next_token.came next_token.came_best
    const key = place.rank === 1 ? "next_token.came_best" : "next_token.came";
    this.app.parts.stage.point(phrase(key, { ...values, vocabulary: this.vocabulary }));
  }
}

/** @param {number} p */
const bar = (p) => el("span", { class: "gv-track" }, el("i", { style: { width: `${100 * p}%` } }));

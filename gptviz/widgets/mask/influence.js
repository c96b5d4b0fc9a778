// Every token replaced in turn, every output looked at: a square that fills column by column, and can be stopped.
import { el, fill, svg } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { drawSquare, sizesOf } from "./square.js";

const AT_ONCE = 24; // tokens: so many are run without being asked to
const MOST = 64;
const STEPS = new Map([
  ["ArrowLeft", [0, -1]],
  ["ArrowRight", [0, 1]],
  ["ArrowUp", [-1, 0]],
  ["ArrowDown", [1, 0]],
]);

/**
 * @typedef {object} Run one matrix as it is made
 * @property {string[]} tokens
 * @property {Float32Array} matrix [T × T], one stretch of T for each token replaced
 * @property {number} done columns that are there
 * @property {number} tolerance what counts as unchanged: 0 but for models whose experts cannot be run alone
 * @property {string} stamp what it was asked with
 * @property {any} asked
 */

export class Influence {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    const label = text("mask.square");
    this.picture = svg("svg", { class: "gv-square", tabindex: "0", role: "application", "aria-label": label });
    this.go = el("button", { type: "button", class: "gv-btn gv-main", onclick: () => this.toggle() });
    this.count = el("p", { class: "gv-soft", role: "status" });
    this.tally = el("p", { class: "gv-tally" });
    const named = (/** @type {string} */ kind) => text(`mask.key_${kind}`);
    // words: mask.key_zero mask.key_key mask.key_warn
    const keys = ["zero", "key", "warn"].map((k) => el("p", null, el("i", { class: `gv-sw gv-sw-${k}` }), named(k)));
    const side = [this.tally, el("div", { class: "gv-keys" }, ...keys), this.go, this.count];
    this.box = el("div", { class: "gv-squarebox" }, this.picture);
    this.root = el("div", { class: "gv-influence" }, this.box, el("div", { class: "gv-squareside" }, ...side));
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {Run | null} */
    this.now = null;
    this.cursor = [0, 0];
    /** @type {any} */
    this.sizes = null;
    this.listen();
  }

  /** @param {any} view @param {any} asked @param {string[]} tokens */
  draw(view, asked, tokens) {
    const stamp = JSON.stringify(asked);
    if (!this.now || this.now.stamp !== stamp) {
      this.stop();
      this.now = { tokens, matrix: new Float32Array(tokens.length ** 2), done: 0, tolerance: 0, stamp, asked };
      if (tokens.length <= AT_ONCE && !view.recorded) this.start();
    }
    this.paint();
  }

  toggle() {
    if (this.running) this.stop();
    else this.start();
  }

  /** Leave what runs; the server is free at once. */
  stop() {
    if (this.running) this.running.abort();
  }

  async start() {
    const mine = (this.running = new AbortController());
    const of = /** @type {Run} */ (this.now);
    of.done = 0;
    of.matrix.fill(0);
    this.paint();
    const take = (/** @type {any} */ value) => this.take(of, value);
    try {
      await this.app.stream("influence_columns", of.asked, take, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) this.app.parts.notice(/** @type {Error} */ (error).message);
    } finally {
      if (this.running === mine) this.running = null;
      if (of === this.now && !this.root.hidden) this.paint();
    }
  }

  /** @param {Run} of @param {any} value columns [b, T], one row for each token replaced */
  take(of, { columns, tolerance }) {
    of.tolerance = tolerance;
    of.matrix.set(columns, of.done * of.tokens.length);
    of.done += columns.shape[0];
    if (of === this.now && !this.root.hidden) this.paint();
  }

  /** How far output i moves when token j is replaced. @param {Run} now @param {number} i @param {number} j */
  at(now, i, j) {
    return now.matrix[j * now.tokens.length + i];
  }

  paint() {
    const { now, picture } = this;
    if (!now) return;
    const { unit } = this.app.parts.stage.size();
    const sizes = (this.sizes = sizesOf(this.box, now.tokens.length, unit));
    picture.setAttribute("width", sizes.left + sizes.cell * now.tokens.length + 4);
    picture.setAttribute("height", sizes.top + sizes.cell * now.tokens.length + 4);
    const cursor = svg("rect", { class: "gv-cursor", visibility: "hidden" });
    picture.toggleAttribute("hidden", now.tokens.length > MOST);
    fill(picture, ...drawSquare(sizes, now, (i, j) => this.at(now, i, j)), cursor);
    this.mark();
    this.words(now);
  }

  /** @param {Run} now */
  words(now) {
    const T = now.tokens.length;
    let right = 0;
    for (let i = 0; i < T; i++) for (let j = i + 1; j < T; j++) if (this.at(now, i, j) > now.tolerance) right++;
    const ready = now.done === T;
    const facts = { pairs: (T * (T - 1)) / 2, right, prompts: T, done: now.done, square_ready: ready };
    this.app.facts(facts);
    const { running, go, count, tally } = this;
    go.textContent = running ? text("mask.stop") : text("mask.run_prompts", { n: T });
    go.disabled = T > MOST;
    count.textContent = T > MOST ? text("mask.too_long", { most: MOST }) : running ? text("mask.done", facts) : "";
    fill(tally, ...(ready ? phrase(right ? "mask.tally_leak" : "mask.tally_clean", facts) : []));
    const key = T > MOST ? "square_long" : !ready ? "square_wait" : right ? "square_leak" : "square_clean";
    this.app.parts.stage.say(`mask.${key}`, { ...facts, most: MOST });
    // words: mask.square_long mask.square_wait mask.square_leak mask.square_clean
    this.app.parts.steps.prose();
  }

  /** @param {number[] | null} place */
  speak(place) {
    const { now } = this;
    if (!place || !now || place[1] >= now.done) return this.app.parts.stage.point(null);
    const [i, j] = place;
    const x = this.at(now, i, j);
    const key =
      x <= now.tolerance ? (j > i && x === 0 ? "pair_zero" : "pair_none") : j > i ? "pair_leak" : "pair_moved";
    // words: mask.pair_zero mask.pair_none mask.pair_leak mask.pair_moved
    this.app.parts.stage.point(phrase(`mask.${key}`, { out: now.tokens[i], token: now.tokens[j], change: x }));
  }

  mark() {
    const node = this.picture.querySelector(".gv-cursor");
    if (!node || !this.sizes) return;
    node.setAttribute("visibility", this.picture.matches(":focus-visible") ? "visible" : "hidden");
    const { left, top, cell } = this.sizes;
    const [i, j] = this.cursor;
    const place = { x: left + j * cell, y: top + i * cell, width: cell, height: cell };
    for (const [name, value] of Object.entries(place)) node.setAttribute(name, String(value));
  }

  listen() {
    const { picture } = this;
    picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      const { row, column } = /** @type {SVGElement} */ (event.target).dataset || {};
      this.speak(row === undefined ? null : [Number(row), Number(column)]);
    });
    picture.addEventListener("pointerleave", () => this.speak(null));
    picture.addEventListener("focus", () => {
      this.mark();
      if (picture.matches(":focus-visible")) this.speak(this.cursor);
    });
    picture.addEventListener("blur", () => (this.mark(), this.speak(null)));
    picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = STEPS.get(event.key);
      if (!step || !this.now) return;
      event.preventDefault();
      const most = this.now.tokens.length - 1;
      this.cursor = this.cursor.map((v, k) => Math.max(0, Math.min(most, v + step[k])));
      this.mark();
      this.speak(this.cursor);
    });
  }

  table() {
    const { now } = this;
    if (!now) return null;
    const columns = now.tokens.map((_, j) => j);
    const row = (/** @type {number} */ i) => columns.map((j) => (j < now.done ? delta(this.at(now, i, j)) : ""));
    return { head: [text("mask.head_output"), ...now.tokens], rows: now.tokens.map((t, i) => [t, ...row(i)]) };
  }
}

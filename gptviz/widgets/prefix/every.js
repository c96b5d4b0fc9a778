// Every cut at once: a triangle, one row a length; its empty corner holds the count of the cuts that notice.
import { el, fill } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { Cursor } from "./cursor.js";
import { geometryOf } from "./geometry.js";
import { drawCut, drawStrip, picture, watchCut } from "./strip.js";
import { cellBox, drawTriangle } from "./triangle.js";

const AT_ONCE = 24; // tokens: so many are checked without being asked to
const MOST = 64;

/** @typedef {{ asked: any, stamp: string, T: number, rows: Float32Array, done: number, tolerance: number }} Run */

export class Every {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.picture = picture(text("prefix.triangle"));
    this.go = el("button", { type: "button", class: "gv-btn gv-main", onclick: () => this.toggle() });
    this.big = el("p", { class: "gv-caught" });
    this.under = el("p", { class: "gv-soft", role: "status" });
    const name = (/** @type {string} */ kind) => text(`prefix.key_${kind}`);
    // words: prefix.key_zero prefix.key_key prefix.key_warn
    const keys = ["zero", "key", "warn"].map((k) => el("p", null, el("i", { class: `gv-sw gv-sw-${k}` }), name(k)));
    const corner = [this.big, this.under, el("div", { class: "gv-keys" }, ...keys), this.go];
    this.root = el("div", { class: "gv-fill" }, this.picture, el("div", { class: "gv-corner" }, ...corner));
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {Run | null} */
    this.now = null;
    /** @type {any} */
    this.checks = null;
    /** @type {any} */
    this.g = null;
    this.method = "edit";
    this.moving = 0;
    this.pressed = 0; // the row that was pressed last
    this.cursor = new Cursor(this.picture, {
      within: ([r, i]) => this.within(r, i),
      box: ([r, i]) => (this.now && this.now.T <= MOST ? cellBox(this.g, r + 1, i) : null),
      speak: (place) => this.speak(place ? place[0] + 1 : 1, place ? place[1] : null),
      pick: ([r]) => this.cut(r + 1, true),
    });
    watchCut(
      this.picture,
      () => this.g,
      (keep, done) => this.cut(keep, done),
    );
  }

  /** @param {any} checks @param {any} view @param {any} asked */
  draw(checks, view, asked) {
    const stamp = JSON.stringify(asked);
    const T = checks.tokens.length;
    this.checks = checks;
    this.method = view.method;
    this.moving = 0;
    if (!this.now || this.now.stamp !== stamp) {
      if (this.running) this.running.abort();
      this.now = { asked, stamp, T, rows: new Float32Array(Math.min(T, MOST) ** 2), done: 0, tolerance: 0 };
      if (T <= AT_ONCE && !view.recorded) this.start();
    }
    this.paint();
  }

  /** @param {number} keep @param {boolean} done */
  cut(keep, done) {
    this.moving = done ? 0 : keep;
    if (done && keep !== this.checks.keep) this.app.set({ keep });
    else this.paint();
  }

  /**
   * A row chosen: the picture's own sentence says what came of it, until another row is pointed at.
   * @param {number} n
   */
  press(n) {
    this.pressed = n;
    this.app.parts.stage.point(null);
    this.cut(n, true);
  }

  toggle() {
    if (this.running) this.running.abort();
    else this.start();
  }

  async start() {
    const mine = (this.running = new AbortController());
    const of = /** @type {Run} */ (this.now);
    of.done = 0;
    this.paint();
    try {
      await this.app.stream("prefix_rows", of.asked, (/** @type {any} */ value) => this.take(of, value), mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) this.app.parts.notice(/** @type {Error} */ (error).message);
    } finally {
      if (this.running === mine) this.running = null;
      if (of === this.now && !this.root.hidden) this.paint();
    }
  }

  /** @param {Run} of @param {any} value */
  take(of, value) {
    of.rows.set(value.rows, of.done * of.T);
    of.done += value.rows.shape[0];
    of.tolerance = value.tolerance;
    if (of === this.now && !this.root.hidden) this.paint();
  }

  /** How far guess i moves when n tokens are kept. @param {number} n @param {number} i */
  at(n, i) {
    const now = /** @type {Run} */ (this.now);
    return now.rows[(n - 1) * now.T + i];
  }

  /** Does a test with this cut see anything? @param {number} n */
  notices(n) {
    const { tolerance } = /** @type {Run} */ (this.now);
    for (let i = 0; i < n; i++) if (this.at(n, i) > tolerance) return true;
    return false;
  }

  paint() {
    const { now, checks, picture } = this;
    if (!now) return;
    const held = picture.contains(document.activeElement) && document.activeElement !== picture;
    const keep = this.moving || checks.keep;
    const fits = now.T <= MOST;
    const g = (this.g = geometryOf(this.app.parts.stage.size(), this.root, now.T, keep, fits));
    picture.setAttribute("width", String(g.W));
    picture.setAttribute("height", String(g.H));
    const found = this.summary(now, keep);
    const rows = {
      done: now.done,
      tolerance: now.tolerance,
      at: (/** @type {number} */ n, /** @type {number} */ i) => this.at(n, i),
      escapes: (/** @type {number} */ n) => found.every_ready && found.caught > 0 && !this.notices(n),
    };
    const on = {
      pick: (/** @type {number} */ n) => this.press(n),
      point: (/** @type {number} */ n, /** @type {number | null} */ i) => this.speak(n, i),
    };
    const triangle = fits ? drawTriangle(g, rows, on) : [];
    const strip = drawStrip(g, checks.tokens, this.moving ? [] : checks.other);
    fill(picture, ...strip, ...triangle, ...drawCut(g, this.method));
    if (held) picture.querySelector(".gv-handle")?.focus();
    if (document.activeElement === picture) this.cursor.show();
    this.words(now, found, keep);
  }

  /** @param {number} r @param {number} i */
  within(r, i) {
    const row = Math.max(0, Math.min(/** @type {Run} */ (this.now).T - 2, r));
    return [row, Math.max(0, Math.min(row, i))];
  }

  /** @param {Run} now @param {number} keep */
  summary(now, keep) {
    const cuts = Array.from({ length: now.done }, (_, r) => r + 1);
    const missed = cuts.filter((n) => !this.notices(n));
    const ready = now.done === now.T - 1;
    const caught = cuts.length - missed.length;
    const sly = ready && caught > 0 && missed.length > 0;
    return {
      caught,
      cuts: now.T - 1,
      missed: missed.length,
      missed_list: missed.slice(0, 6).join(", ") + (missed.length > 6 ? " …" : ""),
      outputs: (now.T * (now.T - 1)) / 2,
      every_ready: ready,
      sly,
      this_misses: sly && missed.includes(keep),
    };
  }

  /** @param {Run} now @param {any} found @param {number} keep */
  words(now, found, keep) {
    const { app, go, big, under, running } = this;
    app.facts(found);
    const ready = found.every_ready;
    go.textContent = running ? text("prefix.stop") : text("prefix.run", { n: found.outputs });
    go.hidden = now.T > MOST || (ready && !running);
    fill(big, ready ? text("prefix.of", found) : "");
    big.classList.toggle("gv-clean", ready && found.caught === 0);
    under.textContent = this.state(now, found);
    const key = now.T > MOST ? "too_long" : verdict(found);
    app.parts.stage.say(`prefix.${key}`, { ...found, keep, most: MOST });
    // words: prefix.too_long
    // words: prefix.every_wait prefix.every_clean prefix.every_escapes prefix.every_sly prefix.every_caught
    app.parts.steps.prose();
  }

  /** @param {Run} now @param {any} found */
  state(now, found) {
    if (now.T > MOST) return "";
    if (found.every_ready) return text(found.caught ? "prefix.notice" : "prefix.notice_none");
    return this.running ? text("prefix.done", { done: now.done, cuts: found.cuts }) : "";
  }

  /** @param {number} n @param {number | null} i */
  speak(n, i) {
    const now = /** @type {Run} */ (this.now);
    if (n === this.pressed && !this.picture.matches(":focus-visible")) return;
    if (i !== null) this.pressed = 0;
    if (i === null || n > now.done) return this.app.parts.stage.point(null);
    const x = this.at(n, i);
    const key = x === 0 ? "cell_zero" : x > now.tolerance ? "cell_moved" : "cell_dust";
    // words: prefix.cell_zero prefix.cell_moved prefix.cell_dust
    this.app.parts.stage.point(phrase(`prefix.${key}`, { n, token: this.checks.tokens[i], delta: x }));
  }

  table() {
    const { now, checks } = this;
    if (!now) return null;
    const columns = checks.tokens.slice(0, -1);
    const row = (/** @type {number} */ n) =>
      columns.map((/** @type {string} */ _, /** @type {number} */ i) => (i < n ? delta(this.at(n, i)) : ""));
    const rows = Array.from({ length: now.done }, (_, r) => [text("prefix.first_n", { n: r + 1 }), ...row(r + 1)]);
    return { head: ["", ...columns], rows };
  }
}

/** @param {any} found */
function verdict(found) {
  if (!found.every_ready) return "every_wait";
  if (!found.caught) return "every_clean";
  if (found.this_misses) return "every_escapes";
  return found.missed ? "every_sly" : "every_caught";
}

// The board: what each guess is worth on top, the layers below, one column a token; output on top, as in the model.
import { mix } from "../kit/colour.js";
import { el, fill, svg } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { drawBars } from "./bars.js";
import { drawCells, shadeOf } from "./cells.js";
import { geometryOf } from "./geometry.js";
import { drawNames, drawWords } from "./names.js";
import { drawPath } from "./path.js";

/**
 * @typedef {object} Setting what is drawn
 * @property {string[]} tokens
 * @property {number} layers
 * @property {number[]} closed p of the true next token, masks closed
 * @property {number[]} changed the same, masks as set
 * @property {Set<number>} open layers whose mask is open
 * @property {string} direction
 * @property {any} reach the contamination map, or null
 * @property {number} example the position whose guess is the example, or -1
 * @property {{ closed: number, changed: number }} loss
 * @property {{ layers: number, of: number, size: number }} narrow open layers that keep a window
 * @typedef {{ row: number, column: number }} Place row -1: the bars; column -1: the masks
 */

const STEPS = new Map([
  ["ArrowLeft", [0, -1]],
  ["ArrowRight", [0, 1]],
  ["ArrowUp", [1, 0]],
  ["ArrowDown", [-1, 0]],
]);

export class Board {
  /** @param {any} app @param {{ layer: (l: number) => void, column: (t: number) => void }} on */
  constructor(app, on) {
    this.app = app;
    this.on = on;
    const label = text("mask.board");
    this.picture = svg("svg", { class: "gv-board", tabindex: "0", role: "application", "aria-label": label });
    this.over = el("canvas", { class: "gv-overview", hidden: true });
    this.keys = el("p", { class: "gv-legend" });
    this.root = el("div", { class: "gv-boardbox" }, this.picture, this.over, this.keys);
    /** @type {Setting | null} */
    this.now = null;
    /** @type {any} */
    this.g = null; // the geometry
    /** @type {number | null} */
    this.from = null; // the window's first column, when the reader moved it
    /** @type {Place} */
    this.cursor = { row: -1, column: 0 };
    /** @type {Place | null} */
    this.pressed = null;
    this.listen();
  }

  /** @param {Setting} next */
  draw(next) {
    const moved = this.now && this.focus(this.now) !== this.focus(next);
    if (!this.now || moved || this.now.tokens.join("\n") !== next.tokens.join("\n")) this.from = null;
    this.now = next;
    this.paint();
  }

  /** The column that must be in view. @param {Setting} now */
  focus(now) {
    return now.reach ? now.reach.position : Math.max(0, now.example);
  }

  paint() {
    const { now, picture } = this;
    if (!now) return;
    const g = (this.g = geometryOf(this.app.parts.stage.size(), this.root, now, this.focus(now), this.from));
    picture.setAttribute("width", g.W);
    picture.setAttribute("height", g.H);
    drawCells(picture, g, now);
    const rest = picture.querySelector(".gv-g-rest") || picture.appendChild(svg("g", { class: "gv-g-rest" }));
    const cursor = svg("rect", { class: "gv-cursor" });
    fill(rest, ...drawWords(g, now), ...drawBars(g, now), ...drawNames(g, now), ...drawPath(g, now), cursor);
    this.mark();
    this.overview();
    this.keys.hidden = g.H < 230;
    const kinds = now.reach ? ["zero", "after", "before"] : ["past", "ahead"];
    const name = (/** @type {string} */ kind) => text(`mask.key_${kind}`);
    // words: mask.key_past mask.key_ahead mask.key_after mask.key_before
    const windows = now.narrow.layers ? [el("span", { class: "gv-windows" }, text("mask.narrow", now.narrow))] : [];
    const swatches = kinds.map((k) => el("span", null, el("i", { class: `gv-sw gv-sw-${k}` }), name(k)));
    fill(this.keys, ...windows, ...swatches);
  }

  /** Where the arrow keys are. */
  mark() {
    const node = this.picture.querySelector(".gv-cursor");
    if (!node || !this.g) return;
    const { g } = this;
    const { row, column } = this.cursor;
    node.setAttribute("visibility", this.picture.matches(":focus-visible") ? "visible" : "hidden");
    const [y, height] = row === -1 ? [g.barsY, g.barsH] : [g.y(row), g.high(row)];
    const [x, width] = column < 0 ? [0, g.gutter - 4] : [g.x(column), g.cw];
    for (const [name, value] of Object.entries({ x, y, width, height })) node.setAttribute(name, value);
  }

  /** All columns as a strip, with the window that is drawn. */
  overview() {
    const { g, over } = this;
    const now = /** @type {Setting} */ (this.now);
    over.hidden = g.all;
    if (g.all) return;
    const width = Math.round(g.W - g.gutter);
    over.width = width;
    over.height = 16;
    over.style.left = `${g.gutter}px`;
    const c = over.getContext("2d");
    const step = width / now.tokens.length;
    for (let t = 0; t < now.tokens.length; t++) {
      const moved = now.reach
        ? shadeOf(now.reach.logit_change[t])
        : t
          ? Math.max(now.changed[t - 1], now.closed[t - 1])
          : 0;
      c.fillStyle = mix("--grid", now.reach && t < now.reach.position ? "--warn" : "--key", moved);
      c.fillRect(t * step, 0, Math.max(1, step), 16);
    }
    c.strokeStyle = mix("--warn", "--warn", 1);
    c.lineWidth = 2;
    c.strokeRect(g.from * step + 1, 1, g.shown * step - 2, 14);
  }

  // Pointing, pressing, and the keyboard

  listen() {
    const { picture, over } = this;
    picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => this.pointed(this.at(event)));
    picture.addEventListener("pointerleave", () => this.speak(null));
    picture.addEventListener("click", (/** @type {MouseEvent} */ event) => this.clicked(this.at(event)));
    picture.addEventListener("focus", () => this.focused());
    picture.addEventListener("blur", () => (this.mark(), this.speak(null)));
    picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    const drag = (/** @type {PointerEvent} */ event) => {
      if (!this.now || !(event.buttons & 1)) return;
      const box = over.getBoundingClientRect();
      const middle = ((event.clientX - box.left) / box.width) * this.now.tokens.length;
      this.from = Math.round(middle - this.g.shown / 2);
      this.paint();
    };
    over.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      over.setPointerCapture(event.pointerId);
      drag(event);
    });
    over.addEventListener("pointermove", drag);
  }

  /** @param {MouseEvent} event @returns {Place | null} */
  at(event) {
    const { g } = this;
    if (!g) return null;
    const box = this.picture.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = x < g.gutter ? -1 : Math.min(g.from + g.shown - 1, g.from + Math.floor((x - g.gutter) / g.cw));
    return { row: y < g.mapY ? -1 : g.rowAt(y), column };
  }

  /** @param {Place | null} place */
  pointed(place) {
    if (place && this.pressed && place.row === this.pressed.row && place.column === this.pressed.column) return;
    this.pressed = null;
    this.speak(place);
  }

  /** After a press the picture's own sentence says what came of it. @param {Place | null} place */
  clicked(place) {
    this.pressed = place;
    if (place) this.cursor = place;
    this.speak(null);
    this.press(place);
  }

  /** By the keyboard: a press focuses too, and must not move the sentence. */
  focused() {
    if (!this.picture.matches(":focus-visible")) return;
    this.clamp();
    this.mark();
    this.speak(this.cursor);
  }

  /** @param {Place | null} place */
  speak(place) {
    this.app.parts.stage.point(place && this.now ? this.told(this.now, place) : null);
  }

  /** @param {Setting} now @param {Place} place */
  told(now, { row, column }) {
    const l = row - 1;
    const token = now.tokens[column];
    if (column < 0) {
      if (l < 0) return null;
      const share = this.app.known[`leak_${l}`];
      if (!now.open.has(l)) return phrase("mask.tell_closed", { l });
      return share === undefined ? phrase("mask.tell_open", { l }) : phrase("mask.tell_leaks", { l, share });
    }
    if (row === -1) {
      if (!column) return phrase("mask.tell_first", { token });
      const [closed, changed] = [now.closed[column - 1], now.changed[column - 1]];
      const values = { token, before: now.tokens[column - 1], closed, changed };
      return phrase(now.open.size ? "mask.tell_bar" : "mask.tell_bar_closed", values);
    }
    if (now.reach) return this.toldMove(now, row, column);
    if (!row) return phrase("mask.tell_table", { token });
    return phrase(this.g.ahead(row, column) ? "mask.tell_ahead" : "mask.tell_past", { token, l });
  }

  /** @param {Setting} now @param {number} row @param {number} column */
  toldMove(now, row, column) {
    const { change, position, replacement, tolerance } = now.reach;
    const moved = change[row * now.tokens.length + column];
    const kind = moved <= tolerance ? (moved ? "noise" : "zero") : column < position ? "leak" : "moved";
    const values = {
      token: now.tokens[column],
      l: row - 1,
      change: moved,
      old: now.tokens[position],
      now: replacement,
    };
    // words: mask.tell_zero mask.tell_leak mask.tell_moved mask.tell_noise
    // words: mask.tell_zero_0 mask.tell_moved_0 mask.tell_noise_0
    return phrase(`mask.tell_${kind}${row ? "" : "_0"}`, values);
  }

  /** @param {Place | null} place */
  press(place) {
    if (!this.now || !place) return;
    if (place.column < 0 && place.row > 0) this.on.layer(place.row - 1);
    else if (place.column >= 0) this.on.column(place.column);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = STEPS.get(event.key);
    if (!this.now || (!step && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    if (step) this.move(step);
    else this.press(this.cursor);
  }

  /** @param {number[]} step rows upwards, columns to the right */
  move([up, right]) {
    const { g } = this;
    const top = /** @type {Setting} */ (this.now).layers + 1; // the bars stand above the last layer
    const row = Math.max(0, Math.min(top, (this.cursor.row === -1 ? top : this.cursor.row) + up));
    this.cursor = { row: row === top ? -1 : row, column: this.cursor.column + right };
    this.clamp();
    const { column } = this.cursor;
    if (column >= 0 && (column < g.from || column >= g.from + g.shown)) {
      this.from = Math.max(0, column - (right > 0 ? g.shown - 1 : 0));
      this.paint();
    }
    this.mark();
    this.speak(this.cursor);
  }

  clamp() {
    if (!this.now) return;
    const { cursor, now } = this;
    cursor.column = Math.max(-1, Math.min(now.tokens.length - 1, cursor.column));
    if (cursor.row > now.layers) cursor.row = now.layers;
  }
}

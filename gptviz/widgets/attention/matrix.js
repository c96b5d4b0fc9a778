// One head large: rows ask, columns are read. Cells on a canvas, what points at them above it.
import { canvas, el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { createArcs } from "./arcs.js";
import { drawCells, drawFrame, drawLabels, drawOverview } from "./cells.js";
import { framed } from "./layout.js";

/**
 * What a reader does: choose a cell (column -1: a row by its name), point at one, leave, move a long text's window.
 * @typedef {object} On
 * @property {(row: number, col: number) => void} pick
 * @property {(row: number, col: number) => void} point
 * @property {() => void} leave
 * @property {(col: number) => void} centre
 */

export class Matrix {
  /** @param {On} on */
  constructor(on) {
    this.on = on;
    this.node = el("canvas", { tabindex: "0", role: "application", class: "gv-cells" });
    this.strip = el("canvas", { class: "gv-overview", "aria-hidden": "true" });
    this.arcs = createArcs();
    this.root = el("div", { class: "gv-matrix" }, this.strip, this.node, this.arcs.root);
    /** @type {any} */
    this.m = null; // what is drawn
    /** @type {any} */
    this.g = null; // and where
    /** @type {[number, number] | null} */
    this.cursor = null;
    this.listen();
  }

  unit() {
    return Number(getComputedStyle(this.node).getPropertyValue("--u")) || 1;
  }

  /** The width that T tokens fill at this height; the rest is for the grid. @param {number} T @param {number} height */
  wanted(T, height) {
    const unit = this.unit();
    const cell = Math.min(64 * unit, (height - 58 * unit) / T);
    return Math.ceil(72 * unit + T * Math.max(cell, 12 * unit) + 16 * unit);
  }

  /**
   * Which rows and columns fit, so that the page can ask for them.
   * @param {number} T @param {number} at @param {number} centre
   */
  frame(T, at, centre) {
    const unit = this.unit();
    const box = /** @type {HTMLElement} */ (this.root.parentElement);
    const [width, height] = [box.clientWidth, box.clientHeight];
    const narrow = width < 420 * unit;
    const lab = Math.round((narrow ? 54 : 72) * unit);
    const tl = Math.round((narrow ? 44 : 58) * unit);
    const long = T * 11.5 * unit > Math.min(width - lab, height - tl) && T > 2;
    const over = long ? Math.round(30 * unit) : 0;
    const found = framed(T, at, centre, width - lab - 14 * unit, height - tl - over - 2, unit);
    const size = Math.round((narrow ? 11 : 13) * unit);
    const top = { tl: tl + over, over: found.whole ? 0 : over };
    this.g = { ...found, ...top, T, unit, lab, width, height, size };
    return this.g;
  }

  /**
   * @param {any} m tokens, at, stage, one, rest, value(i, j), seen(i, j), weight(j) of the asking row, target,
   * targets, arcs (see model.js)
   */
  draw(m) {
    this.m = m;
    const { g } = this;
    if (this.cursor && this.cursor[0] !== m.at) this.cursor = null;
    this.node.setAttribute("aria-label", text("attention.matrix_label"));
    const c = canvas(this.node, g.width, g.height);
    drawCells(c, g, m);
    drawLabels(c, g, m);
    drawFrame(c, g, m, document.activeElement === this.node ? this.cursor : null);
    this.strip.hidden = !g.over;
    if (g.over) drawOverview(this.strip, g, m);
    this.arcs.draw(this.placed(), g);
  }

  /** The arcs whose ends are drawn, with their places. */
  placed() {
    const { g, m } = this;
    const r = g.rows.indexOf(m.at);
    if (!m.arcs || r < 0) return [];
    const across = (/** @type {number} */ j) => g.lab + (g.cols.indexOf(j) + 0.5) * g.cell;
    const shown = m.arcs.filter((/** @type {any} */ arc) => g.cols.includes(arc.to) && g.cols.includes(arc.from));
    const y = g.tl + r * g.cell - 2;
    return shown.map((/** @type {any} */ arc) => ({ ...arc, x1: across(arc.from), x2: across(arc.to), y }));
  }

  /** @param {PointerEvent} event @returns {[number, number] | null} */
  under(event) {
    const { m, g } = this;
    if (!m) return null;
    const b = this.node.getBoundingClientRect();
    const k = Math.floor((event.clientX - b.left - g.lab) / g.cell);
    const r = Math.floor((event.clientY - b.top - g.tl) / g.cell);
    const inRow = r >= 0 && r < g.rows.length;
    if (inRow && k >= 0 && k < g.cols.length) return [g.rows[r], g.cols[k]];
    return inRow && event.clientX - b.left < g.lab ? [g.rows[r], -1] : null;
  }

  listen() {
    const { node, strip, on } = this;
    node.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
      const found = this.under(e);
      if (found && found[1] >= 0) on.point(...found);
      else on.leave();
    });
    node.addEventListener("pointerleave", () => on.leave());
    node.addEventListener("blur", () => on.leave());
    node.addEventListener("click", (/** @type {PointerEvent} */ e) => {
      const found = this.under(e);
      if (!found) return;
      this.cursor = found[1] >= 0 ? found : null;
      on.pick(...found);
    });
    node.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.key(e));
    strip.addEventListener("click", (/** @type {PointerEvent} */ e) => {
      const b = strip.getBoundingClientRect();
      on.centre(inside(Math.floor(((e.clientX - b.left) / b.width) * this.g.T), this.g.T));
    });
  }

  /** Left and right along the row, up and down to another one. @param {KeyboardEvent} e */
  key(e) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    const { m, g, cursor } = this;
    if (!m || !move) return;
    e.preventDefault();
    const [i, j] = cursor || [m.at, m.target]; // ahead of a row that is still being asked for
    const [row, col] = [inside(i + move[0], g.T), inside(j + move[1], g.T)];
    this.cursor = [row, col];
    if (move[0]) this.on.pick(row, col);
    else if (!g.cols.includes(col)) this.on.centre(col);
    else this.draw(m);
    this.on.point(row, col);
  }
}

const inside = (/** @type {number} */ i, /** @type {number} */ n) => Math.max(0, Math.min(n - 1, i));

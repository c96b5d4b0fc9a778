// Why may they be kept? Keys and values of all layers for one beginning with three endings.
import { css, label, mix } from "../kit/colour.js";
import { canvas, el, fill, segment } from "../kit/dom.js";
import { decimal, delta, number, whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { vectors } from "./vectors.js";

const ENDINGS = ["whole", "edited", "cut"];
const WIDEST = 96; // px of a column at unit 1
const NARROWEST = 20; // below it a column has no name of its own

/** Layers × tokens: how far keys and values moved when the ending changed; a press on a token moves the cut. */
export class Rows {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.change = segment(
      text("kv_cache.ending"),
      [
        ["edited", text("kv_cache.ending_edited")],
        ["cut", text("kv_cache.ending_cut")],
      ],
      (v) => app.set({ change: v }),
    );
    this.note = el("span", { class: "gv-soft" });
    this.names = el("div", { class: "gv-kv-rownames" });
    this.node = el("canvas", { "aria-hidden": "true" });
    this.mark = el("i", { class: "gv-kv-cellmark", hidden: true });
    this.knife = el("i", { class: "gv-kv-knife" });
    this.map = el(
      "div",
      { class: "gv-kv-rowmap", tabindex: "0", role: "application", "aria-label": text("kv_cache.rows_picture") },
      this.node,
      this.mark,
      this.knife,
    );
    this.axis = el("span", { class: "gv-kv-layeraxis" });
    this.strips = el("div", { class: "gv-kv-strips" });
    this.root = el(
      "div",
      { class: "gv-kv-pane gv-kv-rows3" },
      el(
        "div",
        { class: "gv-bar" },
        el("span", { class: "gv-soft" }, text("kv_cache.ending")),
        this.change.box,
        this.note,
      ),
      el("div", { class: "gv-kv-rowgrid" }, this.axis, this.names, this.map),
      this.strips,
    );
    this.at = { row: -1, column: 0 };
    this.start = 0; // the window's first token
    this.count = 0;
    this.w = 1; // px of a cell
    this.h = 1;
    /** @type {any} */
    this.data = null;
    this.listen();
  }

  listen() {
    const cellOf = (/** @type {PointerEvent} */ event) => {
      const { left, top } = this.map.getBoundingClientRect();
      return { column: Math.floor((event.clientX - left) / this.w), row: Math.floor((event.clientY - top) / this.h) };
    };
    this.map.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => this.data && this.point(cellOf(e)));
    this.map.addEventListener("click", (/** @type {PointerEvent} */ e) => this.data && this.cut(cellOf(e).column));
    this.map.addEventListener("pointerleave", () => this.point(null));
    this.map.addEventListener("blur", () => this.point(null));
    this.map.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.key(e));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Enter" || event.key === " ") this.cut(this.at.column);
    else if (!by) return;
    else this.point({ row: Math.max(0, this.at.row + by[0]), column: this.at.column + by[1] });
    event.preventDefault();
  }

  /** The first token that changes. @param {number} column */
  cut(column) {
    const last = this.data.tokens.length - 1;
    this.app.set({ keep: Math.max(1, Math.min(last, this.start + column)) });
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("kv_rows", { text: view.text, keep: view.keep, model: view.model });
    if (!view.current()) return;
    this.view = view;
    this.data = found;
    this.change.set(view.change);
    this.resize();
  }

  resize() {
    if (!this.data || this.root.hidden) return;
    const { unit } = this.app.parts.stage.size();
    const { tokens, keep, edited } = this.data;
    const [layers, T] = edited.shape;
    const width = this.map.clientWidth;
    if (!width) return;
    const most = Math.max(8, Math.floor(width / (NARROWEST * unit)));
    this.count = Math.min(T, most);
    this.root.classList.toggle("gv-kv-upright", width / this.count < 56 * unit);
    this.samples(keep);
    this.start = Math.max(0, Math.min(T - this.count, keep - Math.floor(this.count / 2)));
    this.w = Math.min(width / this.count, WIDEST * unit);
    const height = this.map.clientHeight;
    this.h = height / layers;
    this.paint(canvas(this.node, width, height), layers);
    this.head(tokens, keep, unit);
    fill(this.axis, ...phrase("kv_cache.layers_axis", { n: this.data.layers[layers - 1] }));
    this.knife.style.left = `${(keep - this.start) * this.w - 1}px`;
    fill(
      this.note,
      ...(this.count < T ? phrase("kv_cache.window", { from: this.start + 1, to: this.start + this.count, n: T }) : []),
    );
    this.speak();
  }

  /** @param {CanvasRenderingContext2D} c @param {number} layers */
  paint(c, layers) {
    const gap = Math.min(this.w, this.h) > 6 ? 1.5 : 0.5;
    const most = Math.log(1 + this.most());
    for (let l = 0; l < layers; l++) {
      for (let j = 0; j < this.count; j++) {
        const moved = this.moved(l, this.start + j);
        const [x, y, w, h] = [j * this.w, l * this.h, this.w - gap, this.h - gap];
        if (moved === null) {
          c.strokeStyle = css("--rule");
          c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
          continue;
        }
        const shift = moved <= this.data.tolerance ? 0 : 0.2 + 0.8 * (Math.log(1 + moved) / most);
        c.fillStyle = shift ? mix("--warn-soft", "--warn", shift) : mix("--key-soft", "--key", 0.28);
        c.fillRect(x, y, w, h);
        if (this.w > 44 && this.h > 22) this.number(c, moved, shift, x + w / 2, y + h / 2);
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} c @param {number} moved @param {number} shift
   * @param {number} x @param {number} y
   */
  number(c, moved, shift, x, y) {
    const { unit } = this.app.parts.stage.size();
    c.font = `${12 * unit}px ${getComputedStyle(document.body).getPropertyValue("--mono")}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    // not words: names of colours
    c.fillStyle = shift ? label("--warn-soft", "--warn", shift) : label("--key-soft", "--key", 0.28);
    c.fillText(shift ? number(moved) : moved ? "≈ 0" : "0", x, y);
  }

  most() {
    return this.data.edited.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b), 1e-9);
  }

  /** How far the row moved, or null where there is none to compare. @param {number} layer @param {number} place */
  moved(layer, place) {
    const { edited, cut, keep } = this.data;
    if (this.view.change === "edited") return edited[layer * edited.shape[1] + place];
    return place < keep ? cut[layer * cut.shape[1] + place] : null;
  }

  /**
   * The tokens above their columns: the kept ones, then the ending.
   * @param {string[]} tokens @param {number} keep @param {number} unit
   */
  head(tokens, keep, unit) {
    const names = tokens.slice(this.start, this.start + this.count);
    const ends = this.view.change === "edited" ? this.data.other : null;
    fill(
      this.names,
      ...names.map((name, j) => {
        const place = this.start + j;
        const after = place >= keep;
        const words = after ? (ends ? ends[place - keep] : "") : name;
        const shown = after ? [el("s", null, name), words ? el("b", null, words) : null] : [name];
        return el(
          "span",
          { class: after ? "gv-kv-after" : "", style: { width: `${this.w}px`, "font-size": `${12 * unit}px` } },
          el("span", null, ...shown),
        );
      }),
    );
  }

  /** One head's key of the last kept token for the three endings. @param {number} keep */
  samples(keep) {
    const { sample, sample_layer: layer, tokens } = this.data;
    // words: kv_cache.sample_whole kv_cache.sample_edited kv_cache.sample_cut
    const names = ENDINGS.map((ending) => text(`kv_cache.sample_${ending}`));
    const lines = vectors(sample, names, this.map.clientWidth);
    fill(this.strips, el("h3", null, ...phrase("kv_cache.sample_title", { token: tokens[keep - 1], layer })), ...lines);
  }

  facts() {
    const { edited, cut, keep, tokens, numbers, tolerance, dtype } = this.data;
    const largest = (/** @type {any} */ m, /** @type {number} */ from, /** @type {number} */ to) => {
      let most = 0;
      for (let l = 0; l < m.shape[0]; l++) for (let j = from; j < to; j++) most = Math.max(most, m[l * m.shape[1] + j]);
      return most;
    };
    const stays = largest(edited, 0, keep);
    const after = largest(edited, keep, tokens.length);
    const alone = largest(cut, 0, keep);
    return {
      keep,
      tokens: tokens.length,
      stays,
      after,
      alone,
      numbers,
      tolerance,
      dtype,
      layers: edited.shape[0],
      edited: this.view.change === "edited",
      rounded: alone > 0,
      apart: bound(alone),
      same: Math.max(stays, alone) <= tolerance,
      last: tokens[keep - 1],
    };
  }

  speak() {
    const facts = this.facts();
    this.app.facts(facts);
    const key = !facts.same ? "leak" : this.view.change === "edited" ? "edited" : facts.rounded ? "rounded" : "cut";
    // words: kv_cache.say_rows_*
    this.app.parts.stage.say(`kv_cache.say_rows_${key}`, facts);
    this.app.parts.steps.prose();
  }

  /** @param {{ row: number, column: number } | null} cell */
  point(cell) {
    this.mark.hidden = !cell;
    if (!cell || !this.data) return this.app.parts.stage.point(null);
    const layer = Math.max(0, Math.min(this.data.edited.shape[0] - 1, cell.row));
    const column = Math.max(0, Math.min(this.count - 1, cell.column));
    this.at = { row: layer, column };
    Object.assign(this.mark.style, {
      left: `${column * this.w}px`,
      top: `${layer * this.h}px`,
      width: `${this.w}px`,
      height: `${this.h}px`,
    });
    const moved = this.moved(layer, this.start + column);
    const token = this.data.tokens[this.start + column];
    const key = moved === null ? "none" : moved === 0 ? "zero" : moved <= this.data.tolerance ? "rounding" : "moved";
    this.app.parts.stage.point(
      phrase(`kv_cache.row_${key}`, {
        layer: this.data.layers[layer],
        token,
        moved: moved ?? 0,
        apart: bound(moved ?? 0),
        typical: this.data.typical,
      }),
      // words: kv_cache.row_none kv_cache.row_zero kv_cache.row_rounding kv_cache.row_moved
    );
  }

  table() {
    if (!this.data) return null;
    const { tokens, edited } = this.data;
    const layers = edited.shape[0];
    const head = [
      text("kv_cache.table_token"),
      ...Array.from({ length: layers }, (_, l) => text("kv_cache.table_layer", { n: this.data.layers[l] })),
    ];
    const rows = tokens.map((/** @type {string} */ name, /** @type {number} */ j) => [
      `${whole(j)} ${name}`,
      ...Array.from({ length: layers }, (_, l) => said(this.moved(l, j))),
    ]);
    return { head, rows };
  }
}

/** The power of ten that a small difference stays below, in full: 0.0001. @param {number} x */
function bound(x) {
  const digits = x > 0 ? Math.max(0, -Math.ceil(Math.log10(x))) : 0;
  return x > 0 ? decimal(10 ** -digits, digits) : "0";
}

/** @param {number | null} moved */
const said = (moved) => (moved === null ? "–" : delta(moved));

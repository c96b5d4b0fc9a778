// Scale: each model a dot, its parameters to the right, the text it learned from upwards, both in steps of ten times.
import { el, fill, svg } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

const X = [6, 12]; // powers of ten
const Y = [6, 14];
const ISO = [14, 16, 18, 20, 22, 24]; // of operations
const SIZES = /** @type {[number, string][]} */ ([
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
]);
const NARROW = 480; // px; below that only these have their names beside them
const NAMED = ["nano", "gpt3-175b", "SmolLM2-135M", "Llama-3-8B"];
const LIFTED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const lifted = (/** @type {number} */ n) => [...String(n)].map((c) => LIFTED[+c]).join("");

/** A number as people say it. @param {number} n */
function said(n) {
  const [size, name] = SIZES.find(([least]) => n >= least) || [1, "ones"];
  return text(`reference.scale_${name}`, { n: n / size });
}
// words: reference.scale_trillion reference.scale_billion reference.scale_million reference.scale_ones

/** Where dots and lines stand in a box. @param {number} width @param {number} height @param {number} unit */
function geometryOf(width, height, unit) {
  const left = 46 * unit;
  const right = width - 12 * unit;
  const bottom = height - 40 * unit;
  const top = 26 * unit;
  const at = (/** @type {number} */ v, /** @type {number[]} */ [a, b]) => (v - a) / (b - a);
  const x = (/** @type {number} */ power) => left + (right - left) * at(power, X);
  const y = (/** @type {number} */ power) => bottom - (bottom - top) * at(power, Y);
  return { left, right, top, bottom, unit, x, y, width, height, narrow: width < NARROW };
}
/** @typedef {ReturnType<typeof geometryOf>} Geometry */

export class Scale {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    const label = text("reference.scale_label");
    this.picture = svg("svg", { class: "gv-rf-dots", tabindex: "0", role: "application", "aria-label": label });
    this.box = el("div", { class: "gv-rf-scale" }, this.picture);
    this.root = el(
      "div",
      { class: "gv-rf-section" },
      this.box,
      el("p", { class: "gv-rf-small" }, ...phrase("reference.scale_note")),
    );
    this.at = -1;
    /** @type {any[]} */
    this.models = [];
    this.best = 0;
    this.picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.picture.addEventListener("focusout", () => this.point(-1));
    this.picture.addEventListener("pointerleave", () => this.point(-1));
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("ref_scale", {});
    if (!view.current()) return;
    this.best = found.best;
    this.models = [...found.models].sort((a, b) => a.parameters - b.parameters);
    const ratio = (/** @type {string} */ name) => this.models.find((m) => m.name === name).ratio;
    this.app.parts.stage.say("reference.say_scale", { few: ratio("gpt3-175b"), many: ratio("SmolLM2-135M") });
    this.resize();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.box;
    if (!this.models.length || !width) return;
    const unit = this.app.parts.stage.size().unit;
    const g = geometryOf(width, height, unit);
    this.picture.setAttribute("width", String(width));
    this.picture.setAttribute("height", String(height));
    fill(this.picture, ...axes(g), ...this.lines(g), ...this.dots(g));
  }

  /** Equal work along each dotted line; the best use of it along the dashed one. @param {Geometry} g */
  lines(g) {
    const inside = (/** @type {number} */ x, /** @type {number} */ y) => [g.x(x), g.y(y)];
    const out = ISO.flatMap((power) => {
      const sum = power - Math.log10(6); // log N + log D
      const from = Math.max(X[0], sum - Y[1]);
      const to = Math.min(X[1], sum - Y[0]);
      const [x1, y1] = inside(from, sum - from);
      const [x2, y2] = inside(to, sum - to);
      const words = text("reference.scale_work", { power: lifted(power) });
      const low = from > X[0]; // its name stands at its upper end
      return [
        svg("line", { class: "gv-rf-iso", x1, y1, x2, y2 }),
        g.narrow ? null : svg("text", { class: "gv-rf-isoname", x: x1 + 4, y: low ? y1 - 6 * g.unit : y1 - 4 }, words),
      ];
    });
    const ratio = Math.log10(this.best);
    const [x1, y1] = inside(X[0], X[0] + ratio);
    const [x2, y2] = inside(X[1], X[1] + ratio);
    const name = { class: "gv-rf-bestname", x: g.x(9.2), y: g.y(9.2 + ratio) + 26 * g.unit };
    const words = text("reference.scale_best", { n: this.best });
    return [...out, svg("line", { class: "gv-rf-best", x1, y1, x2, y2 }), svg("text", name, words)];
  }

  /** @param {Geometry} g */
  dots(g) {
    return this.models.flatMap((/** @type {any} */ m, /** @type {number} */ i) => {
      const [cx, cy] = [g.x(Math.log10(m.parameters)), g.y(Math.log10(m.tokens))];
      const own = m.name === "nano" ? "gv-rf-own" : "";
      const dot = svg("circle", { class: `gv-rf-dot ${own}`, cx, cy, r: 6 * g.unit, "data-model": m.name });
      const near = svg("circle", { class: "gv-rf-near", cx, cy, r: 14 * g.unit });
      near.addEventListener("pointerenter", () => this.point(i));
      const left = cx > g.right - 110 * g.unit;
      const under = left || i % 2;
      const place = { x: cx, y: cy + (under ? 20 : -11) * g.unit, "text-anchor": left ? "end" : "middle" };
      const name = !g.narrow || NAMED.includes(m.name);
      return [dot, name ? svg("text", { class: "gv-rf-dotname", ...place }, m.name) : null, near];
    });
  }

  /** The sentence of one model, or of all again. @param {number} i */
  point(i) {
    this.at = i;
    const m = this.models[i];
    const dots = [...this.picture.querySelectorAll(".gv-rf-dot")];
    dots.forEach((/** @type {any} */ dot, /** @type {number} */ k) => dot.classList.toggle("gv-rf-on", k === i));
    if (!m) return this.app.parts.stage.point(null);
    const operations = Math.floor(Math.log10(m.operations));
    const values = { name: m.name, size: said(m.parameters), tokens: said(m.tokens), ratio: m.ratio };
    const work = { lead: m.operations / 10 ** operations, power: lifted(operations) };
    this.app.parts.stage.point(phrase("reference.say_dot", { ...values, ...work }));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.point(Math.min(this.models.length - 1, Math.max(0, this.at + step)));
  }

  table() {
    return {
      head: ["model", "parameters", "tokens", "source"].map((c) => text(`reference.scale_head_${c}`)),
      rows: this.models.map((/** @type {any} */ m) => [m.name, m.parameters, m.tokens, m.source]),
    };
  }
}
// words: reference.scale_head_model reference.scale_head_parameters reference.scale_head_tokens
// words: reference.scale_head_source

/** Both axes, a number at every third power of ten. @param {Geometry} g */
function axes(g) {
  const words = (/** @type {number} */ power) => said(10 ** power);
  const out = [];
  for (let p = X[0]; p <= X[1]; p += 1) {
    out.push(svg("line", { class: "gv-rf-grid", x1: g.x(p), x2: g.x(p), y1: g.top, y2: g.bottom }));
    if (p % 3) continue;
    const anchor = p === X[1] ? "end" : p === X[0] ? "start" : "middle";
    out.push(
      svg("text", { class: "gv-rf-tick", x: g.x(p), y: g.bottom + 16 * g.unit, "text-anchor": anchor }, words(p)),
    );
  }
  for (let p = Y[0]; p <= Y[1]; p += 1) {
    out.push(svg("line", { class: "gv-rf-grid", x1: g.left, x2: g.right, y1: g.y(p), y2: g.y(p) }));
    const place = { class: "gv-rf-tick", x: g.left - 6, y: g.y(p) + 4, "text-anchor": "end" };
    if (p % 3 === 0) out.push(svg("text", place, text(`reference.scale_short_${p}`)));
  }
  // words: reference.scale_short_6 reference.scale_short_9 reference.scale_short_12
  const middle = (g.left + g.right) / 2;
  const under = { class: "gv-rf-axis", x: middle, y: g.height - 6, "text-anchor": "middle" };
  out.push(svg("text", under, text("reference.scale_x")));
  out.push(svg("text", { class: "gv-rf-axis", x: 0, y: 14 * g.unit }, text("reference.scale_y")));
  return out;
}

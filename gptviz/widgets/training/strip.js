// The strip: what was read, what was asked for, the chance it was given and the surprise, one column a question.
import { el, fill, mark, rect, svg } from "../kit/dom.js";
import { percentList } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { callout, means, numberRows, overview } from "./around.js";
import { geometry } from "./place.js";

/** @typedef {import("./scenes.js").Scene} Scene */

/** @param {{ point: (column: number | null) => void, choose: (column: number) => void }} acts */
export const createStrip = (acts) => new Strip(acts);

class Strip {
  /** @param {{ point: (column: number | null) => void, choose: (column: number) => void }} acts */
  constructor(acts) {
    this.acts = acts;
    this.back = svg("g", null);
    this.bars = svg("g", { class: "gv-trbars" });
    this.front = svg("g", null);
    this.picture = svg("svg", { class: "gv-trsvg", role: "img", tabindex: 0 }, this.back, this.bars, this.front);
    this.root = el("div", { class: "gv-strip" }, this.picture);
    /** @type {Map<string, any>} */
    this.pool = new Map();
    /** @type {any} */
    this.now = null;
    this.cursor = -1;
    this.listen();
  }

  /**
   * @param {Scene} scene
   * @param {number} at the chosen column, −1 for none
   * @param {boolean} plain a first look: with a note
   */
  draw(scene, at, plain) {
    const g = geometry(this.root, scene, at);
    if (!g) return;
    this.now = { scene, g };
    this.picture.setAttribute("viewBox", `0 0 ${g.width} ${g.height}`);
    this.picture.setAttribute("aria-label", text("training.strip", { n: scene.read.length }));
    const base = svg("line", { x1: g.left, x2: g.right, y1: g.bottom, y2: g.bottom, class: "gv-trbase" });
    const above = g.chance ? chances(g, scene) : [];
    fill(this.back, ...labels(g), ...tokens(g, scene), ...above, base, ...column(g, at));
    this.pour(g, scene);
    const note = plain ? callout(g, scene) : [];
    fill(this.front, ...numberRows(g, scene), ...means(g, scene), ...overview(g, scene), ...note);
  }

  /** Bars are kept from state to state, so that they move. @param {any} g @param {Scene} scene */
  pour(g, scene) {
    const wanted = new Set();
    scene.series.forEach((series, s) => {
      for (let i = g.from; i < g.to; i++) {
        const nats = series.nats[i];
        if (nats === null || nats === undefined) continue;
        const key = `${s} ${i}`;
        wanted.add(key);
        if (!this.pool.has(key)) {
          this.pool.set(key, rect(0, 0, 1, 1));
          this.bars.append(this.pool.get(key));
        }
        place(this.pool.get(key), g, scene, s, i, nats);
      }
    });
    for (const [key, bar] of this.pool) {
      if (wanted.has(key)) continue;
      bar.remove();
      this.pool.delete(key);
    }
  }

  listen() {
    const { picture } = this;
    picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => this.aim(this.columnAt(event)));
    picture.addEventListener("pointerleave", () => this.aim(-1));
    picture.addEventListener("blur", () => this.aim(-1));
    picture.addEventListener("click", (/** @type {MouseEvent} */ event) => this.pick(event));
    picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.walk(event));
  }

  /** @param {MouseEvent} event */
  pick(event) {
    if (!this.now) return;
    const box = this.picture.getBoundingClientRect();
    const { over } = this.now.g;
    const at = over && event.clientY - box.top > over.top ? over.at(event.clientX - box.left) : this.columnAt(event);
    if (at >= 0) this.acts.choose(at);
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    if (!this.now) return;
    const { g, scene } = this.now;
    const n = scene.read.length;
    const moves = /** @type {Record<string, number>} */ ({
      ArrowRight: 1,
      ArrowLeft: -1,
      Home: -n,
      End: n,
      PageDown: 10,
      PageUp: -10,
    });
    const by = moves[event.key];
    if (!by) return;
    event.preventDefault();
    const here = this.cursor >= 0 ? this.cursor : by > 0 ? g.from - 1 : g.to;
    const next = Math.min(n - 1, Math.max(0, here + by));
    if (next < g.from || next >= g.to) this.acts.choose(next);
    this.aim(next);
  }

  /** @param {MouseEvent} event */
  columnAt(event) {
    if (!this.now) return -1;
    const { g } = this.now;
    const box = this.picture.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const i = g.from + Math.floor((x - g.left) / g.cw);
    return x >= g.left && i >= g.from && i < g.to && y < g.bottom + 34 * g.unit ? i : -1;
  }

  /** @param {number} i */
  aim(i) {
    if (i === this.cursor) return;
    this.cursor = i;
    this.acts.point(i < 0 ? null : i);
  }
}

/** @param {any} g */
function labels({ slim, low, unit, token, asked, chance, chanceBottom, surpriseTop }) {
  if (slim) return [];
  const out = [
    mark(0, token * 0.55 + 4, text("training.row_read"), "gv-trrow"),
    mark(0, asked + token * 0.55 + 4, text("training.row_asked"), "gv-trrow"),
    mark(0, surpriseTop + 10 * unit, text("training.row_surprise"), "gv-trrow"),
    mark(0, surpriseTop + 26 * unit, text("training.row_nats"), "gv-trsmall"),
  ];
  if (!low) out.push(mark(0, chanceBottom - chance + 8 * unit, text("training.row_chance"), "gv-trrow"));
  if (!low) out.push(mark(0, chanceBottom - chance + 24 * unit, text("training.row_answer"), "gv-trsmall"));
  return out;
}

/** @param {any} g @param {Scene} scene */
function tokens(g, scene) {
  const out = [];
  const first = scene.read.length - scene.pads;
  for (let i = g.from; i < g.to; i++) {
    const x = g.left + (i - g.from) * g.cw;
    const pad = i >= first;
    if (!g.low) out.push(...token(g, x, g.top, scene.read[i], pad && i > first ? "gv-trpad" : "gv-trread"));
    out.push(...token(g, x, g.top + g.asked, scene.asked[i], pad || scene.same ? "gv-trpad" : "gv-trasked"));
    if (g.low) continue;
    const middle = x + g.cw / 2;
    const foot = g.top + g.token + 3;
    const arrow = `M${middle} ${foot}v${10 * g.unit}m-3 -4l3 4l3 -4`;
    out.push(svg("path", { d: arrow, class: `gv-trarrow${pad || scene.same ? " gv-bad" : ""}` }));
  }
  return out;
}

/** @param {any} g @param {number} x @param {number} y @param {string} words @param {string} kind */
function token(g, x, y, words, kind) {
  const box = rect(x + 1, y, g.cw - 2, g.token, { rx: 3, class: kind });
  if (g.turned) {
    const [cx, cy] = [x + g.cw / 2 + 4 * g.unit, y + g.token - 4];
    const cut = words.length > 7 ? `${words.slice(0, 6)}…` : words;
    return [box, mark(0, 0, cut, `gv-trtoken ${kind}`, "start", { transform: `translate(${cx} ${cy}) rotate(-90)` })];
  }
  const fits = Math.max(2, Math.floor((g.cw - 6) / (7.4 * g.unit)));
  const cut = words.length > fits ? `${words.slice(0, fits - 1)}…` : words;
  return [box, mark(x + g.cw / 2, y + g.token * 0.68, cut, `gv-trtoken ${kind}`, "middle")];
}

/** The chance each answer was given, from 0 to 1. @param {any} g @param {Scene} scene */
function chances(g, scene) {
  const out = [svg("line", { x1: g.left, x2: g.right, y1: g.chanceBottom, y2: g.chanceBottom, class: "gv-trbase" })];
  const pair = scene.form === "pair";
  const wide = barWidth(g, pair);
  scene.series.forEach((series, s) => {
    for (let i = g.from; i < g.to; i++) {
      const nats = series.nats[i];
      if (nats === null || nats === undefined) continue;
      const h = Math.max(1, g.chance * Math.exp(-nats));
      const x = left(g, scene, s, i, wide);
      out.push(rect(x, g.chanceBottom - h, wide, h, { rx: 2, class: `gv-trbar gv-is-${series.kind}` }));
    }
  });
  return g.turned || pair ? out : [...out, ...chanceWords(g, scene)];
}

/** @param {any} g @param {Scene} scene */
function chanceWords(g, scene) {
  const nats = scene.read.map((_, i) => scene.series[0].nats[i] ?? scene.series[scene.series.length - 1].nats[i] ?? 0);
  const some = nats.slice(g.from, g.to);
  const most = some.map((_, k) => Math.max(...scene.series.map((s) => Math.exp(-(s.nats[g.from + k] ?? 99)))));
  return percentList(some.map((x) => Math.exp(-x))).flatMap((full, k) => {
    const words = full.replace(/^>\s/, ">");
    const middle = g.left + (k + 0.5) * g.cw;
    const [first, ...rest] = words.split(/\s(?=[\d,.]+$)/); // a chance such as "1 in 430,000" takes two lines
    const y = g.chanceBottom - g.chance * most[k] - 5 * g.unit;
    const lines = rest.length ? [first, rest.join(" ")] : [first];
    return lines.map((line, r) =>
      mark(
        middle,
        y - (lines.length - 1 - r) * 12 * g.unit,
        line,
        g.cw < 60 * g.unit ? "gv-trnum gv-trhalo gv-trtight" : "gv-trnum gv-trhalo",
        "middle",
      ),
    );
  });
}

/** @param {any} g @param {number} at */
function column(g, at) {
  if (at < 0 || at < g.from || at >= g.to || !g.over) return [];
  return [rect(g.left + (at - g.from) * g.cw, 0, g.cw, g.bottom, { class: "gv-trcolumn" })];
}

/** @param {any} g @param {boolean} pair */
const barWidth = (g, pair) => Math.max(2, Math.min(26 * g.unit, g.cw * (pair ? 0.36 : 0.5)));

/** @param {any} g @param {Scene} scene @param {number} s @param {number} i @param {number} wide */
function left(g, scene, s, i, wide) {
  const middle = g.left + (i - g.from + 0.5) * g.cw;
  return scene.form === "pair" ? (s ? middle + 1 : middle - wide - 1) : middle - wide / 2;
}

/** @param {any} bar @param {any} g @param {Scene} scene @param {number} s @param {number} i @param {number} nats */
function place(bar, g, scene, s, i, nats) {
  const level = scene.form === "level";
  const wide = level ? g.cw - 1 : barWidth(g, scene.form === "pair");
  const top = g.y(level ? scene.series[0].mean : nats);
  bar.setAttribute("class", `gv-trbar gv-is-${scene.series[s].kind}`);
  const box = { x: left(g, scene, s, i, wide), y: top, width: wide, height: Math.max(1, g.bottom - top) };
  for (const [name, value] of Object.entries(box)) bar.style.setProperty(name, `${value}px`);
  bar.style.setProperty("rx", level ? "0" : "2px");
}

// Attention: one head large, all heads beside it; from scores to what is added to the stream; heads switched off.
import { el, fill, save, segment } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { csvOf, nameOf, tableOf } from "./export.js";
import { factsOf } from "./facts.js";
import { Grid } from "./grid.js";
import { Matrix } from "./matrix.js";
import { chosenHead, isSame, modelOf, offHeads, small, without } from "./model.js";
import { createSide } from "./side.js";
import * as speak from "./speak.js";
import { createValues } from "./values.js";

/** @typedef {import("./grid.js").Head} Head */

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const page = new Attention(root, app);
  return {
    show: (/** @type {any} */ view) => page.show(view),
    resize: () => page.s && app.show(),
    table: () => (page.s ? tableOf(page.s) : null),
  };
}

class Attention {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.stage = app.parts.stage;
    /** @type {any} */
    this.s = null; // what is on the stage
    this.previewing = false; // a head of the grid is pointed at, and drawn large
    this.centre = -1; // the column that a long text's window stands round, where the reader moved it
    this.centreOf = "";
    const leave = () => this.stage.point(null);
    this.matrix = new Matrix({
      pick: (row, col) => this.pick(row, col),
      point: (row, col) => this.point(row, col),
      leave,
      centre: (col) => this.recentre(col),
    });
    this.values = createValues({ point: (key) => this.pointValue(key), leave });
    this.grid = new Grid({
      pick: (head) => this.choose(head),
      hover: (head) => this.hover(head),
      tell: (head) => this.stage.point(head && this.s ? speak.headline(this.s.grid, head) : null),
    });
    this.side = createSide({
      kind: (/** @type {string} */ kind) => this.set({ kind, head: "", pick: "" }),
      mute: () => this.mute(),
      keep: () => this.set({ off: this.s.off.map((/** @type {Head} */ h) => h.join(".")).join(","), mute: true }),
      png: () => this.png(),
      csv: () => this.csv(),
    });
    this.stages = segment(text("attention.stage"), STAGES(), (stage) => this.set({ stage }));
    this.rows = segment(text("attention.rows"), ROWS(), (rows) =>
      this.set({ rows, stage: this.s && this.s.view.stage === "values" ? "weights" : this.s.view.stage }),
    );
    this.rest = el(
      "button",
      {
        type: "button",
        class: "gv-toggle",
        role: "switch",
        onclick: () => this.set({ rest: !this.s.view.rest, stage: "weights" }),
      },
      el("i"),
      text("attention.rest_toggle"),
    );
    this.corner = el("div", { class: "gv-corner" });
    const left = el("div", { class: "gv-big-head" }, this.matrix.root, this.values.root, this.corner);
    this.right = el("div", { class: "gv-all-heads" }, this.side.chips, this.grid.root, this.side.about, this.side.bars);
    this.body = el("div", { class: "gv-at" }, left, this.right);
    this.root.append(el("div", { class: "gv-bar" }, this.stages.box, this.rows.box, this.rest), this.body);
  }

  /**
   * What the reader changes. While a guess is open, the picture waits in the step's own state with nothing given away;
   * a change starts from there.
   * @param {Record<string, any>} fields
   */
  set(fields) {
    this.app.set(this.app.pending() ? { ...this.waiting(), ...fields } : fields);
  }

  waiting() {
    return { ...this.app.own(), rest: false, mute: false };
  }

  /** @param {any} given */
  async show(given) {
    const view = this.app.pending() ? { ...given, ...this.waiting() } : given;
    const of = { text: view.text, model: view.model };
    const grid = await view.ask("head_grid", of);
    const pairing = view.pick === "pair";
    const { pair } = pairing ? await view.ask("head_pair", of) : { pair: null };
    if (!view.current()) return;
    const { tokens } = grid;
    const chosen = chosenHead(view, grid, pair);
    const at = view.at < 0 || view.at >= tokens.length ? tokens.length - 1 : view.at;
    const one = (/** @type {string} */ stage, /** @type {number} */ first, /** @type {number} */ last) =>
      view.ask("head_rows", { ...of, layer: chosen[0], head: chosen[1], stage, first, last });
    const { rows: row } = await one("weights", at, at);
    const near = this.near(`${view.text} ${view.model} ${at} ${chosen}`, row, at);
    this.divide(tokens.length);
    const g = this.matrix.frame(tokens.length, at, near);
    const first = g.rows[0];
    const big = await one(view.stage === "values" ? "weights" : view.stage, first, g.rows[g.rows.length - 1]);
    const off = offHeads(view, chosen, grid);
    const outcome = off.length ? await view.ask("head_off", { ...of, heads: off }) : null;
    const carried = await this.carried(view, chosen, at, grid);
    if (!view.current()) return;
    const asked = { view, grid, tokens, chosen, at, g, pair, pairing, off, outcome, carried, first, near, row };
    this.s = { ...asked, rows: big.rows, seenRows: big.seen };
    this.complete();
    this.draw();
  }

  /**
   * The column that the window of a long text stands round.
   * @param {string} of @param {Float32Array} row @param {number} at
   */
  near(of, row, at) {
    if (this.centreOf !== of) this.centre = -1;
    this.centreOf = of;
    return this.centre >= 0 ? this.centre : speak.reads((j) => row[j], at).target;
  }

  /** The large head takes what its cells fill, the grid of all heads the rest. @param {number} T */
  divide(T) {
    const width = this.body.clientWidth;
    const most = Math.min(this.matrix.wanted(T, this.body.clientHeight), 0.63 * width);
    this.body.style.setProperty("--left", `${Math.round(Math.max(0.44 * width, most))}px`);
  }

  /**
   * What the head carries, where it can be told apart.
   * @param {any} view @param {Head} head @param {number} at @param {any} grid
   */
  carried(view, [layer, head], at, grid) {
    if (view.stage !== "values") return null;
    if (!grid.split) return { none: true };
    return view.ask("values", { text: view.text, model: view.model, layer, head, position: at });
  }

  /** Everything that follows from the answers. */
  complete() {
    const { s } = this;
    const T = s.tokens.length;
    s.raw = (/** @type {number} */ i, /** @type {number} */ j) => s.rows[(i - s.first) * T + j];
    s.seen = (/** @type {number} */ i, /** @type {number} */ j) => Boolean(s.seenRows[(i - s.first) * T + j]);
    s.own = s.grid.names[s.grid.kinds[s.chosen[0] * s.grid.heads + s.chosen[1]]];
    const scaled = s.view.rest && s.view.stage === "weights";
    s.value = scaled ? without(s.raw) : s.raw;
    const left = Math.max(1e-12, 1 - s.row[0]);
    s.weight = (/** @type {number} */ j) => (scaled ? (j ? s.row[j] / left : 0) : s.row[j]);
    s.read = speak.reads(s.weight, s.at);
    s.facts = factsOf(s);
  }

  draw() {
    const { s } = this;
    const { view } = s;
    this.previewing = false;
    this.stages.set(view.stage);
    this.rows.set(view.stage === "values" ? "one" : view.rows);
    this.rest.setAttribute("aria-checked", String(view.rest));
    this.rest.disabled = view.stage !== "weights";
    this.root.dataset.stage = view.stage;
    const state = this.state();
    this.side.draw(s.grid, state);
    this.side.outcome(s.outcome);
    this.divide(s.tokens.length);
    s.g = this.matrix.frame(s.tokens.length, s.at, s.near);
    this.drawCorner();
    this.grid.draw(s.grid, state);
    const valued = view.stage === "values";
    this.matrix.root.hidden = valued;
    this.values.root.toggleAttribute("hidden", !valued || s.carried.none);
    if (!valued) this.matrix.draw(modelOf(s));
    else if (!s.carried.none) this.values.draw(s.carried, { tokens: s.tokens, at: s.at, target: s.read.target }, s.g);
    this.app.facts(s.facts);
    const [key, values] = speak.sentence(s);
    this.stage.say(key, values); // words: attention.looks
    this.app.parts.steps.prose();
  }

  /** What the grid and the column beside it need to know. */
  state() {
    const { s } = this;
    return {
      chosen: s.chosen,
      own: s.own,
      kind: s.view.kind,
      off: s.off,
      rest: s.view.rest,
      mute: s.view.mute,
      reason: speak.reason(s),
      start: isSame(s.chosen, s.grid.start),
      bounds: { ...s.grid.bounds, near: s.grid.near },
      isOff: s.off.some((/** @type {Head} */ head) => isSame(head, s.chosen)),
      pair: s.pair ? [s.pair.previous, s.pair.induction].filter(Boolean) : null,
    };
  }

  /** The triangle that nothing can be in has room for words, or for what a switched-off head does. */
  drawCorner() {
    const { s, corner, side } = this;
    const offShown = s.outcome !== null;
    const proof = Boolean(s.pair && s.pair.previous && !offShown);
    const place = cornerPlace(s, offShown ? [164, 205] : proof ? [112, 150] : [118, 150]);
    const fits = place !== null && (offShown || s.view.rows === "one");
    corner.hidden = !fits;
    (fits && offShown ? corner : this.right).append(side.bars);
    this.root.dataset.off = String(offShown && !fits);
    if (!fits) return;
    Object.assign(corner.style, place);
    fill(corner, ...(offShown ? [side.bars] : proof ? [side.proof(s.facts)] : does(s.facts)));
  }

  // What the reader does

  /** @param {Head} head */
  choose([layer, head]) {
    const { names, kinds, heads } = this.s.grid;
    const kind = names[kinds[layer * heads + head]];
    this.set({ head: `${layer}.${head}`, kind: this.s.view.kind === kind ? kind : "", pick: "" });
  }

  /** Switch the chosen head off, or on again. */
  mute() {
    const { s } = this;
    const isOff = s.off.some((/** @type {Head} */ head) => isSame(head, s.chosen));
    const others = s.view.off.split(",").filter((/** @type {string} */ h) => h && h !== s.chosen.join("."));
    this.set({ mute: !isOff, off: others.join(","), stage: "weights" });
  }

  /** @param {number} row @param {number} col */
  pick(row, col) {
    if (col >= 0) this.centre = col;
    this.set({ at: row === this.s.tokens.length - 1 ? -1 : row });
  }

  /** @param {number} col */
  recentre(col) {
    this.centre = col;
    this.s.near = col;
    this.draw();
  }

  /** @param {number} i @param {number} j */
  point(i, j) {
    const { s } = this;
    const held = s && i >= s.first && (i - s.first) * s.tokens.length + j < s.rows.length;
    if (held) this.stage.point(speak.cell(s, i, j));
  }

  /** @param {number} key */
  pointValue(key) {
    const { carried: c, tokens } = this.s;
    const values = { w: c.weights[key], v: c.value_norms[key], c: c.contributions[key] };
    this.stage.point(phrase("attention.point_value", { key: speak.named(tokens, key), ...values }));
  }

  /**
   * A head of the grid, large, while it is pointed at; from its small picture, where that is the whole.
   * @param {Head | null} head
   */
  hover(head) {
    const { s } = this;
    if (!s) return;
    if (!head || isSame(head, s.chosen)) {
      if (this.previewing) this.draw();
      return this.stage.point(head ? speak.headline(s.grid, head) : null);
    }
    this.stage.point(speak.headline(s.grid, head));
    if (s.grid.pooled || s.view.stage !== "weights") return;
    this.previewing = true;
    this.matrix.draw(modelOf({ ...s, ...small(s, head) }));
  }

  png() {
    this.matrix.node.toBlob((/** @type {Blob | null} */ blob) => blob && save(`${nameOf(this.s)}.png`, blob));
  }

  async csv() {
    const { s } = this;
    const [layer, head] = s.chosen;
    const stage = s.view.stage === "values" ? "weights" : s.view.stage;
    const args = { text: s.view.text, model: s.view.model, layer, head, stage };
    const found = await this.app.parts.ask("attention", args);
    save(`${nameOf(s)}.csv`, new Blob([csvOf(s.tokens, found.matrix)], { type: "text/csv" }));
  }
}

/**
 * Where words fit into the empty triangle: a place of [height, least width] at unit 1, or null.
 * @param {any} s @param {number[]} size
 */
function cornerPlace({ g, view, tokens, at }, [tall, wide]) {
  const from = Math.ceil((tall * g.unit) / g.cell) + 1.4; // columns whose cells are empty down to there
  const width = (tokens.length - from) * g.cell;
  if (!g.whole || view.stage !== "weights" || at <= tokens.length / 2 || width <= wide * g.unit) return null;
  return { left: `${g.lab + from * g.cell}px`, top: `${g.tl + g.cell * 0.4}px`, width: `${width}px` };
}

/** What looking is good for, and why the other side is empty. @param {any} facts */
const does = (facts) => [
  el("b", null, ...phrase("attention.does_title", facts)),
  el("p", null, ...phrase("attention.does", facts)),
  el("p", { class: "gv-soft" }, ...phrase("attention.empty", {})),
];

/** @returns {[string, string][]} */
const STAGES = () => [
  ["scores", text("attention.stage_scores")],
  ["masked", text("attention.stage_masked")],
  ["weights", text("attention.stage_weights")],
  ["values", text("attention.stage_values")],
];
/** @returns {[string, string][]} */
const ROWS = () => [
  ["one", text("attention.rows_one")],
  ["all", text("attention.rows_all")],
];

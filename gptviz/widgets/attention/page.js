// Attention: one head large, all heads beside it; from scores to what is added to the stream; heads switched off.
import { el, fill, save, segment } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { createGrid } from "./grid.js";
import { createMatrix } from "./matrix.js";
import { createSide } from "./side.js";
import * as speak from "./speak.js";
import { createValues } from "./values.js";

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  /** @type {any} */
  let s = null; // what is on the stage
  /** @type {any} */
  let preview = null; // a head of the grid that is pointed at
  let centre = -1; // the column that a long text's window stands round, where the reader moved it
  let centreOf = "";
  const { stage } = app.parts;

  const matrix = createMatrix({ pick, point, leave: () => stage.point(null), centre: recentre });
  const values = createValues({ point: pointValue, leave: () => stage.point(null) });
  const grid = createGrid({ pick: choose, hover });
  const side = createSide({ kind, mute, keep, png, csv });
  const stages = segment(text("attention.stage"), STAGES(), (stage) => app.set({ stage }));
  const rows = segment(text("attention.rows"), ROWS(), (rows) => app.set({ rows, stage: s && s.view.stage === "values" ? "weights" : s.view.stage }));
  const rest = el("button", { type: "button", class: "gv-toggle", role: "switch", onclick: toggleRest }, el("i"), text("attention.rest_toggle"));
  const corner = el("div", { class: "gv-corner" });
  const left = el("div", { class: "gv-big-head" }, matrix.root, values.root, corner);
  const right = el("div", { class: "gv-all-heads" }, side.chips, grid.root, side.about, side.bars);
  root.append(el("div", { class: "gv-bar" }, stages.box, rows.box, rest), el("div", { class: "gv-at" }, left, right));

  async function show(/** @type {any} */ view) {
    const of = { text: view.text, model: view.model };
    const found = await view.ask("head_grid", of);
    const pairing = view.pick === "pair";
    const { pair } = pairing ? await view.ask("head_pair", of) : { pair: null };
    if (!view.current()) return;
    const tokens = found.tokens;
    const chosen = chosenHead(view, found, pair);
    const at = view.at < 0 || view.at >= tokens.length ? tokens.length - 1 : view.at;
    const stageAsked = view.stage === "values" ? "weights" : view.stage;
    if (centreOf !== `${view.text} ${view.model} ${at} ${chosen}`) centre = -1;
    centreOf = `${view.text} ${view.model} ${at} ${chosen}`;
    const rowOf = await one(view, chosen, "weights", at, at);
    const near = centre >= 0 ? centre : speak.reads((j) => rowOf.rows[j], at).target;
    const g = matrix.frame(tokens.length, at, near);
    const [first, last] = [g.rows[0], g.rows[g.rows.length - 1]];
    const big = await one(view, chosen, stageAsked, first, last);
    const off = offHeads(view, chosen, found);
    const outcome = off.length ? await view.ask("head_off", { ...of, heads: off }) : null;
    const carried = await carriedOn(view, chosen, at, found);
    if (!view.current()) return;
    s = { view, grid: found, tokens, chosen, at, g, pair, pairing, off, outcome, carried, first, near, row: rowOf.rows, rows: big.rows, seenRows: big.seen };
    complete();
    draw();
  }

  /** @param {any} view @param {number[]} chosen @param {string} stage @param {number} first @param {number} last */
  function one(view, [layer, head], stage, first, last) {
    return view.ask("head_rows", { text: view.text, model: view.model, layer, head, stage, first, last });
  }

  /** @param {any} view @param {number[]} chosen @param {number} position @param {any} found */
  async function carriedOn(view, [layer, head], position, found) {
    if (view.stage !== "values") return null;
    if (!found.split) return { none: true };
    return view.ask("values", { text: view.text, model: view.model, layer, head, position });
  }

  /** Everything that follows from the answers. */
  function complete() {
    const T = s.tokens.length;
    const value = (/** @type {number} */ i, /** @type {number} */ j) => s.rows[(i - s.first) * T + j];
    s.raw = value;
    s.seen = (/** @type {number} */ i, /** @type {number} */ j) => Boolean(s.seenRows[(i - s.first) * T + j]);
    s.own = s.grid.names[s.grid.kinds[s.chosen[0] * s.grid.heads + s.chosen[1]]];
    const scaled = s.view.rest && s.view.stage === "weights";
    s.value = scaled ? (/** @type {number} */ i, /** @type {number} */ j) => without(value, i, j) : value;
    s.weight = (/** @type {number} */ j) => (scaled ? (j ? s.row[j] / Math.max(1e-12, 1 - s.row[0]) : 0) : s.row[j]);
    s.read = speak.reads(s.weight, s.at);
    s.facts = factsOf(s);
  }

  function draw() {
    const { view } = s;
    stages.set(view.stage);
    rows.set(view.stage === "values" ? "one" : view.rows);
    rest.setAttribute("aria-checked", String(view.rest));
    rest.disabled = view.stage !== "weights";
    root.dataset.stage = view.stage;
    const state = { chosen: s.chosen, own: s.own, kind: view.kind, off: s.off, rest: view.rest, mute: view.mute, reason: speak.reason(s), bounds: boundsOf(s.grid), isOff: s.off.some((/** @type {any} */ h) => String(h) === String(s.chosen)), pair: s.pair ? [s.pair.previous, s.pair.induction].filter(Boolean) : null };
    side.draw(s.grid, state);
    side.outcome(s.outcome, s.off.length);
    s.g = matrix.frame(s.tokens.length, s.at, s.near);
    drawCorner();
    grid.draw(s.grid, state);
    const valued = view.stage === "values";
    matrix.root.hidden = valued;
    values.root.toggleAttribute("hidden", !valued);
    if (!valued) matrix.draw(modelOf(s));
    else if (s.carried.none) stage.say("attention.not_split", {});
    else values.draw(s.carried, { tokens: s.tokens, at: s.at, target: s.read.target }, s.g);
    app.facts(s.facts);
    if (!(valued && s.carried.none)) stage.say(...speak.sentence(s));
    app.parts.steps.prose();
  }

  /** The triangle that nothing can be in has room for words, or for what a switched-off head does. */
  function drawCorner() {
    const { g, view, tokens } = s;
    const offShown = s.outcome !== null;
    const proof = Boolean(s.pair && s.pair.previous && !offShown);
    const tall = offShown ? 164 : proof ? 112 : 118;
    const from = Math.ceil((tall * g.unit) / g.cell) + 1.4; // columns whose cells are empty down to there
    const width = (tokens.length - from) * g.cell;
    const free = g.whole && view.stage === "weights" && (offShown || view.rows === "one") && s.at > tokens.length / 2;
    const fits = free && width > (offShown ? 205 : 150) * g.unit;
    corner.hidden = !fits;
    (fits && offShown ? corner : right).append(side.bars);
    root.dataset.off = String(offShown && !fits);
    if (!fits) return;
    Object.assign(corner.style, { left: `${g.lab + from * g.cell}px`, top: `${g.tl + g.cell * 0.4}px`, width: `${width}px` });
    if (offShown) fill(corner, side.bars);
    else if (proof) fill(corner, side.proof(s.facts));
    else fill(corner, ...does(s.facts));
  }

  /** @param {[number, number]} head */
  function choose([layer, head]) {
    preview = null;
    const kindNow = s.grid.names[s.grid.kinds[layer * s.grid.heads + head]];
    app.set({ head: `${layer}.${head}`, kind: s.view.kind === kindNow ? kindNow : "", pick: "" });
  }

  /** @param {string} name */
  function kind(name) {
    app.set({ kind: name, head: "", pick: "" });
  }

  function toggleRest() {
    app.set({ rest: !s.view.rest, stage: "weights" });
  }

  function mute() {
    const isOff = s.off.some((/** @type {any} */ h) => String(h) === String(s.chosen));
    const rest = s.view.off.split(",").filter((/** @type {string} */ h) => h && h !== s.chosen.join("."));
    app.set({ mute: !isOff, off: rest.join(","), stage: "weights" });
  }

  function keep() {
    const now = s.off.map((/** @type {any} */ h) => h.join("."));
    app.set({ off: now.join(","), mute: true });
  }

  /** @param {number} row @param {number} col */
  function pick(row, col) {
    if (col >= 0) centre = col;
    app.set({ at: row === s.tokens.length - 1 ? -1 : row });
  }

  /** @param {number} col */
  function recentre(col) {
    centre = col;
    s.near = col;
    draw();
  }

  /** @param {number} i @param {number} j */
  function point(i, j) {
    if (s && i >= s.first && (i - s.first) * s.tokens.length + j < s.rows.length) stage.point(speak.cell(s, i, j));
  }

  /** @param {number} key */
  function pointValue(key) {
    const { carried: c } = s;
    stage.point(phrase("attention.point_value", { key: speak.named(s.tokens, key), w: c.weights[key], v: c.value_norms[key], c: c.contributions[key] }));
  }

  /** A head of the grid, large, while it is pointed at; from its small picture, where that is the whole. */
  function hover(/** @type {any} */ head) {
    if (!s) return;
    if (!head) {
      if (preview) draw();
      preview = null;
      return stage.point(null);
    }
    stage.point(speak.headline(s.grid, head));
    if (s.grid.pooled || s.view.stage !== "weights" || String(head) === String(s.chosen)) return;
    preview = head;
    matrix.draw(modelOf({ ...s, ...small(s, head) }));
  }

  async function png() {
    const node = matrix.canvas;
    node.toBlob((/** @type {Blob | null} */ blob) => blob && save(`${fileName(s)}.png`, blob));
  }

  async function csv() {
    const [layer, head] = s.chosen;
    const stageAsked = s.view.stage === "values" ? "weights" : s.view.stage;
    const found = await app.parts.ask("attention", { text: s.view.text, model: s.view.model, layer, head, stage: stageAsked });
    const lines = [["query", "token", ...s.tokens], ...found.matrix.map((/** @type {any[]} */ row, /** @type {number} */ i) => [i, s.tokens[i], ...row.map((x) => (x === null ? "-inf" : x))])];
    save(`${fileName(s)}.csv`, new Blob(["\ufeff", lines.map((line) => line.map(quoted).join(",")).join("\n"), "\n"], { type: "text/csv" }));
  }

  return { show, resize: () => s && app.show(), table: () => (s ? tableOf(s) : null) };
}

/** What looking is good for, and why the other side is empty. @param {any} facts */
const does = (facts) => [
  el("b", null, ...phrase("attention.does_title", facts)),
  el("p", null, ...phrase("attention.does", facts)),
  el("p", { class: "gv-soft" }, ...phrase("attention.empty", {})),
];

const STAGES = () => /** @type {[string, string][]} */ ([
  ["scores", text("attention.stage_scores")],
  ["masked", text("attention.stage_masked")],
  ["weights", text("attention.stage_weights")],
  ["values", text("attention.stage_values")],
]);
const ROWS = () => /** @type {[string, string][]} */ ([
  ["one", text("attention.rows_one")],
  ["all", text("attention.rows_all")],
]);

/** The head on the stage: the one asked for, that of the pair, the best of the kind, or the measured start. */
function chosenHead(/** @type {any} */ view, /** @type {any} */ grid, /** @type {any} */ pair) {
  const asked = view.head.split(".").map(Number);
  if (view.head && asked[0] < grid.layers && asked[1] < grid.heads) return asked;
  if (pair) return pair.induction;
  if (view.pick === "parked") return grid.parked;
  return grid.best[view.kind] || grid.start;
}

/** @param {any} view @param {number[]} chosen @param {any} grid */
function offHeads(view, chosen, grid) {
  const heads = view.off.split(",").filter(Boolean).map((/** @type {string} */ h) => h.split(".").map(Number));
  const real = heads.filter(([layer, head]) => layer < grid.layers && head < grid.heads);
  const has = real.some((/** @type {any} */ h) => String(h) === String(chosen));
  return view.mute && !has ? [...real, chosen] : real;
}

/** A weight with the first column left out and the rest of the row scaled up. */
function without(/** @type {(i: number, j: number) => number} */ value, /** @type {number} */ i, /** @type {number} */ j) {
  return j ? value(i, j) / Math.max(1e-12, 1 - value(i, 0)) : 0;
}

/** @param {any} grid */
function boundsOf(grid) {
  return { ...grid.bounds, near: grid.near };
}

/** What the matrix draws. @param {any} s */
function modelOf(s) {
  const weights = s.view.stage === "weights";
  const one = weights && s.view.rows === "one";
  return { tokens: s.tokens, at: s.at, stage: s.view.stage, one, rest: s.view.rest && weights, value: s.value, seen: s.seen, weight: s.weight, target: s.read.target, targets: new Set(one && s.tokens.length > 1 ? [s.read.target] : []), arcs: one && s.at > 0 ? arcsOf(s) : null };
}

/** @param {any} s */
function arcsOf(s) {
  if (s.pairing && s.pair) return pairArcs(s);
  const { target, keys } = s.read;
  const others = keys.filter((/** @type {number} */ j) => j !== target && j !== s.at && s.weight(j) >= 0.04).slice(0, 4);
  const query = s.tokens[s.at];
  const words = text("attention.arc", { query, key: speak.named(s.tokens, target), p: s.weight(target) });
  const main = { from: s.at, to: target, weight: s.weight(target), main: true, words };
  return [main, ...others.map((/** @type {number} */ j) => ({ from: s.at, to: j, weight: s.weight(j), main: false }))];
}

/** The later head's look, and the earlier one's note that made it possible. @param {any} s */
function pairArcs(s) {
  const { pair } = s;
  const later = text("attention.arc_second", s.facts);
  const arcs = [{ from: s.tokens.length - 1, to: pair.target, weight: pair.weight, main: true, words: later }];
  if (pair.previous) arcs.push({ from: pair.target, to: pair.copy, weight: pair.passed, main: true, tone: "gv-first", words: text("attention.arc_first", s.facts) });
  return arcs;
}

/** A head from its small picture: what the matrix needs of it. @param {any} s @param {[number, number]} head */
function small(s, [layer, head]) {
  const S = s.grid.side;
  const start = ((layer * s.grid.heads + head) * S * (S + 1)) / 2;
  const raw = (/** @type {number} */ i, /** @type {number} */ j) => (j > i ? 0 : (s.grid.pictures[start + (i * (i + 1)) / 2 + j] / 255) ** 2);
  const value = s.view.rest ? (/** @type {number} */ i, /** @type {number} */ j) => without(raw, i, j) : raw;
  const weight = (/** @type {number} */ j) => value(s.at, j);
  return { value, raw, weight, seen: (/** @type {number} */ i, /** @type {number} */ j) => j <= i, read: speak.reads(weight, s.at), pairing: false };
}

/** What the prose may say. @param {any} s */
function factsOf(s) {
  const { tokens, at, read, grid, pair, outcome, carried: c } = s;
  const T = tokens.length;
  const name = (/** @type {number} */ k) => speak.named(tokens, k);
  const n = grid.layers * grid.heads;
  const facts = {
    query: tokens[at], target: name(read.target), target_p: s.weight(read.target), first: tokens[0], first_p: s.row[0],
    has_second: read.second > 0 && s.weight(read.second) >= 0.01,
    second: read.second > 0 ? name(read.second) : "", second_p: read.second > 0 ? s.weight(read.second) : 0,
    next_key: read.keys.length > 1 ? name(read.keys[0] === read.target ? read.keys[1] : read.keys[0]) : "",
    next_p: read.keys.length > 1 ? s.weight(read.keys[0] === read.target ? read.keys[1] : read.keys[0]) : 0,
    layer: s.chosen[0], head: s.chosen[1], n, T, layers: grid.layers, heads: grid.heads,
    forbidden: (T * (T - 1)) / 2, many: T > 2, rests_most: s.row[0] >= 0.5, why: 1,
    kind: text(`attention.kind_${s.own}`), is_last: at === T - 1, off_n: s.off.length,
    ...countsOf(grid),
  }; // prettier-ignore
  if (c && !c.none) Object.assign(facts, { output: c.output_norm, stream: c.stream_norm, share: c.output_norm / Math.max(c.stream_norm, 1e-12), longest: c.longest, ...richest(c, name, at), against: c.cosine < -0.02, along: c.cosine > 0.02 });
  if (outcome) Object.assign(facts, outcomeFacts(outcome));
  if (pair) Object.assign(facts, pairFacts(pair, tokens));
  return { ...facts, has_pair: Boolean(pair), proven: Boolean(pair && pair.previous && pair.without < 0.5 * pair.weight) };
}

/** How many heads of each kind. @param {any} grid */
function countsOf(grid) {
  const out = {};
  grid.names.forEach((/** @type {string} */ kind, /** @type {number} */ i) => {
    const count = grid.kinds.reduce((/** @type {number} */ n, /** @type {number} */ k) => n + Number(k === i), 0);
    /** @type {any} */ (out)[`n_${kind}`] = count;
  });
  return out;
}

/** The key that carries most. @param {any} c @param {(k: number) => string} name @param {number} at */
function richest(c, name, at) {
  let best = 0;
  for (let k = 1; k <= at; k++) if (c.contributions[k] > c.contributions[best]) best = k;
  return { rich: name(best), rich_c: c.contributions[best], first_v: c.value_norms[0], first_c: c.contributions[0], cheap: at > 1 && c.value_norms[0] < 0.5 * middle(c.value_norms, at) };
}

/** The middle one of the values' lengths. @param {ArrayLike<number>} norms @param {number} at */
const middle = (norms, at) => Array.from({ length: at }, (_, k) => norms[k + 1]).sort((a, b) => a - b)[at >> 1];

/** @param {any} o */
function outcomeFacts(o) {
  const [was, now] = [o.before[0], o.after[0]];
  const same = Math.abs(was - now) < 0.005 * Math.max(was, now) || Math.abs(was - now) < 1e-4;
  const way = o.best_after !== o.shown[0] ? "other" : same ? "same" : now > was ? "up" : "down";
  return { best: o.shown[0], was, now, off_way: way, best_after: o.best_after, best_after_p: o.best_after_p, guess_off: same ? 1 : now > was ? 2 : 0 };
}

/** @param {any} pair @param {string[]} tokens */
function pairFacts(pair, tokens) {
  const [layer1, head1] = pair.previous || [-1, -1];
  const [layer2, head2] = pair.induction;
  return { last: tokens[tokens.length - 1], after: tokens[pair.target], layer1, head1, layer2, head2, passed: pair.passed, pair_p: pair.weight, left_p: pair.without, left_all_p: pair.without_all, has_first: Boolean(pair.previous) };
}

/** @param {any} s */
const fileName = (s) => `attention-layer${s.chosen[0]}-head${s.chosen[1]}-${s.view.stage === "values" ? "weights" : s.view.stage}`;

/** @param {any} x */
const quoted = (x) => (/[",\n\r]/.test(String(x)) || /^[=+\-@\t]/.test(String(x)) && typeof x !== "number" && x !== "-inf" ? `"${String(x).replaceAll('"', '""')}"` : String(x));

/** @param {any} s */
function tableOf(s) {
  if (s.carried && !s.carried.none) {
    const c = s.carried;
    return { head: ["token", "weight", "value", "carried"], rows: s.tokens.slice(0, s.at + 1).map((/** @type {string} */ t, /** @type {number} */ k) => [t, percent(c.weights[k]), c.value_norms[k].toFixed(3), c.contributions[k].toFixed(3)]) };
  }
  const show = (/** @type {number} */ i, /** @type {number} */ j) => (s.view.stage === "weights" ? (s.seen(i, j) ? percent(s.value(i, j)) : "0") : s.seen(i, j) || s.view.stage === "scores" ? s.value(i, j).toFixed(2) : "−∞");
  return { head: ["", ...s.g.cols.map((/** @type {number} */ j) => s.tokens[j])], rows: s.g.rows.map((/** @type {number} */ i) => [s.tokens[i], ...s.g.cols.map((/** @type {number} */ j) => show(i, j))]) };
}

// Which head is meant, and what the large picture draws of it.
import { text } from "../kit/words.js";
import { named, reads } from "./speak.js";

/** @typedef {import("./grid.js").Head} Head */
/** @typedef {(i: number, j: number) => number} Cells */

/** @param {Head} a @param {Head} b */
export const isSame = (a, b) => a[0] === b[0] && a[1] === b[1];

/**
 * The head on the stage: the one asked for, that of the pair, the one that rests, the best of a kind, or the measured
 * start.
 * @param {any} view @param {any} grid @param {any} pair
 * @returns {Head}
 */
export function chosenHead(view, grid, pair) {
  const [layer, head] = view.head.split(".").map(Number);
  if (view.head && layer < grid.layers && head < grid.heads) return [layer, head];
  if (pair) return pair.induction;
  if (view.pick === "parked") return grid.parked;
  return grid.best[view.kind] || grid.start;
}

/**
 * The heads that are off: those of the address, and the chosen one where it is muted.
 * @param {any} view @param {Head} chosen @param {any} grid
 * @returns {Head[]}
 */
export function offHeads(view, chosen, grid) {
  const listed = view.off.split(",").filter(Boolean);
  /** @type {Head[]} */
  const heads = listed.map((/** @type {string} */ head) => head.split(".").map(Number));
  const real = heads.filter(([layer, head]) => layer < grid.layers && head < grid.heads);
  return view.mute && !real.some((head) => isSame(head, chosen)) ? [...real, chosen] : real;
}

/** Weights with the first column left out and the rest of each row scaled up. @param {Cells} value @returns {Cells} */
export function without(value) {
  return (i, j) => (j ? value(i, j) / Math.max(1e-12, 1 - value(i, 0)) : 0);
}

/** What the matrix draws. @param {any} s */
export function modelOf(s) {
  const { tokens, at, value, seen, weight, read } = s;
  const weights = s.view.stage === "weights";
  const one = weights && s.view.rows === "one";
  return {
    tokens,
    at,
    value,
    seen,
    weight,
    one,
    stage: s.view.stage,
    rest: s.view.rest && weights,
    target: read.target,
    targets: new Set(one && tokens.length > 1 ? [read.target] : []),
    arcs: one && at > 0 ? arcsOf(s) : null,
  };
}

/** @param {any} s @returns {import("./arcs.js").Arc[]} */
function arcsOf(s) {
  if (s.pairing && s.pair) return pairArcs(s);
  const { target, keys } = s.read;
  const most = keys.filter((/** @type {number} */ j) => j !== target && j !== s.at && s.weight(j) >= 0.04).slice(0, 4);
  const [query, key] = [s.tokens[s.at], named(s.tokens, target)];
  const words = text("attention.arc", { query, key, p: s.weight(target) });
  const others = most.map((/** @type {number} */ j) => ({ from: s.at, to: j, weight: s.weight(j), main: false }));
  return [{ from: s.at, to: target, weight: s.weight(target), main: true, words }, ...others];
}

/** The later head's look, and the earlier one's note that made it possible. @param {any} s */
function pairArcs(s) {
  const { pair, facts } = s;
  const last = s.tokens.length - 1;
  const later = {
    from: last,
    to: pair.target,
    weight: pair.weight,
    main: true,
    words: text("attention.arc_second", facts),
  };
  if (!pair.previous) return [later];
  const words = text("attention.arc_first", facts);
  return [later, { from: pair.target, to: pair.copy, weight: pair.passed, main: true, tone: "gv-first", words }];
}

/** A head from its small picture: what the matrix needs of it. @param {any} s @param {Head} head */
export function small(s, [layer, head]) {
  const S = s.grid.side;
  const start = ((layer * s.grid.heads + head) * S * (S + 1)) / 2;
  /** @type {Cells} */
  const raw = (i, j) => (j > i ? 0 : (s.grid.pictures[start + (i * (i + 1)) / 2 + j] / 255) ** 2);
  const value = s.view.rest ? without(raw) : raw;
  const weight = (/** @type {number} */ j) => value(s.at, j);
  const seen = (/** @type {number} */ i, /** @type {number} */ j) => j <= i;
  return { value, raw, weight, seen, read: reads(weight, s.at), pairing: false };
}

// What the prose of the steps may say of the head on the stage.
import { text } from "../kit/words.js";
import { named } from "./speak.js";

/** @param {any} s */
export function factsOf(s) {
  const { tokens, at, read, grid, pair, outcome, carried } = s;
  const name = (/** @type {number} */ k) => named(tokens, k);
  const next = read.keys.find((/** @type {number} */ k) => k !== read.target) ?? -1;
  const T = tokens.length;
  const facts = {
    query: tokens[at],
    target: name(read.target),
    target_p: s.weight(read.target),
    first: tokens[0],
    first_p: s.row[0],
    next_key: next < 0 ? "" : name(next),
    next_p: next < 0 ? 0 : s.weight(next),
    layer: s.chosen[0],
    head: s.chosen[1],
    n: grid.layers * grid.heads,
    forbidden: (T * (T - 1)) / 2,
    many: T > 2,
    why: 1, // of the three answers to "why?"
    kind: text(`attention.kind_${s.own}`), // words: attention.kind_*
    ...counts(grid),
  };
  if (carried && !carried.none) Object.assign(facts, carriedFacts(carried, name, at));
  if (outcome) Object.assign(facts, outcomeFacts(outcome));
  if (pair) Object.assign(facts, pairFacts(pair, tokens));
  return { ...facts, proven: Boolean(pair && pair.previous && pair.without < 0.5 * pair.weight) };
}

/** How many heads of each kind, as n_KIND. @param {any} grid */
function counts(grid) {
  const count = (/** @type {number} */ kind) =>
    grid.kinds.reduce((/** @type {number} */ n, /** @type {number} */ k) => n + Number(k === kind), 0);
  return Object.fromEntries(
    grid.names.map((/** @type {string} */ name, /** @type {number} */ i) => [`n_${name}`, count(i)]),
  );
}

/**
 * Which key carries most, and whether the first one's value is short.
 * @param {any} c @param {(k: number) => string} name @param {number} at
 */
function carriedFacts(c, name, at) {
  let best = 0;
  for (let k = 1; k <= at; k++) if (c.contributions[k] > c.contributions[best]) best = k;
  const lengths = Array.from({ length: at }, (_, k) => c.value_norms[k + 1]).sort((a, b) => a - b);
  const cheap = at > 1 && c.value_norms[0] < 0.5 * lengths[at >> 1];
  return { output: c.output_norm, stream: c.stream_norm, rich: name(best), cheap };
}

/** @param {any} o */
function outcomeFacts(o) {
  const [was, now] = [o.before[0], o.after[0]];
  const same = Math.abs(was - now) < 0.005 * Math.max(was, now) || Math.abs(was - now) < 1e-4;
  const way = same ? "same" : now > was ? "up" : "down";
  return {
    best: o.shown[0],
    was,
    now,
    off_way: o.best_after === o.shown[0] ? way : "other",
    best_after: o.best_after,
    best_after_p: o.best_after_p,
    guess_off: ["down", "same", "up"].indexOf(way),
  };
}

/** @param {any} pair @param {string[]} tokens */
function pairFacts(pair, tokens) {
  const [layer1, head1] = pair.previous || [-1, -1];
  const [layer2, head2] = pair.induction;
  return {
    last: tokens[tokens.length - 1],
    after: tokens[pair.target],
    layer1,
    head1,
    layer2,
    head2,
    passed: pair.passed,
    pair_p: pair.weight,
    left_p: pair.without,
  };
}

// How the probability is shared out: the model's own shares, those under the settings, and what may be said of them.
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import * as S from "./sampling.js";

/** @param {any} v */
export const plain = (v) => v.temperature === 1 && !v.top_k && v.top_p === 1 && !v.min_p && v.repetition_penalty === 1;
/** @param {any} v */
export const settingsKey = (v) =>
  [v.temperature, v.top_k, v.top_p, v.min_p, v.repetition_penalty, v.order, v.seed].join(" ");

/** @param {any} v */
export function sentence(v) {
  if (v.temperature === 0) return "greedy";
  if (v.top_k || v.top_p < 1 || v.min_p) return "cut";
  if (v.repetition_penalty !== 1) return "penalised";
  if (v.temperature === 1) return "expects";
  return v.temperature > 1 ? "tempered" : "cooled";
}

/** The bars' numbers while only the model's own are known: ranks from the likeliest, and all others as one. */
export function modelsOwn(/** @type {any} */ outlook) {
  const V = outlook.vocabulary;
  const p = Float64Array.from(outlook.p);
  const shown = p.reduce((a, b) => a + b, 0);
  const others = (/** @type {number} */ from) => {
    let sum = Math.max(0, 1 - shown);
    for (let r = p.length - 1; r >= from; r--) sum += p[r];
    return sum;
  };
  return {
    V,
    raw: p,
    tempered: p,
    final: p,
    kept: V,
    entropy: outlook.entropy,
    rest: { raw: others, tempered: others, final: others },
  };
}

/** @param {any} v @param {number} V */
const cuts = (v, V) => ({
  temperature: v.temperature,
  topK: Math.min(v.top_k, V),
  topP: v.top_p,
  minP: v.min_p,
});

/** The three stages for the settings, over the whole vocabulary. */
export function shaped(/** @type {any} */ ready, /** @type {any} */ v) {
  const settings = { ...cuts(v, ready.V), topPFirst: v.order === "top_p" };
  const result = S.stages(ready, settings);
  const rest = (/** @type {Float64Array} */ p) => (/** @type {number} */ from) => S.sum(p, from, ready.V);
  return {
    V: ready.V,
    order: ready.order,
    raw: ready.raw,
    tempered: result.tempered,
    final: result.final,
    kept: result.kept,
    entropy: result.entropyFinal,
    rest: { raw: rest(ready.raw), tempered: rest(result.tempered), final: rest(result.final) },
  };
}

/** What the prose may say about what is on the stage. */
export function factsOf(
  /** @type {any} */ outlook,
  /** @type {any} */ t,
  /** @type {any} */ v,
  /** @type {any} */ ready,
  /** @type {number} */ rows,
) {
  const [raw, now] = [t.rest.raw(rows), t.rest.tempered(rows)];
  const settings = cuts(v, t.V);
  const kept = (/** @type {boolean} */ first) => (ready ? S.keptInOrder(ready, settings, first) : t.kept);
  return {
    tokens: outlook.tokens.length,
    vocabulary: t.V,
    others: t.V - rows,
    others_all: t.V - 1,
    best: outlook.shown[0],
    second: outlook.shown[1],
    best_p: outlook.p[0],
    second_p: outlook.p[1],
    best_now: t.tempered[ready && v.repetition_penalty !== 1 ? ready.order.indexOf(outlook.ids[0]) : 0],
    first_raw: t.raw[0],
    temperature: v.temperature,
    penalty: v.repetition_penalty,
    others_raw: raw,
    others_p: now,
    others_way: Math.abs(now - raw) < 0.01 ? 1 : now > raw ? 2 : 0,
    kept: t.kept,
    kept_temperature: kept(false),
    kept_top_p: kept(true),
    cut_p: Math.max(0, 1 - S.sum(t.tempered, 0, Math.min(t.kept, t.tempered.length))),
  };
}

/** @param {any} outlook */
export function tableOf(outlook) {
  if (!outlook) return null;
  const rows = outlook.shown.map((/** @type {string} */ token, /** @type {number} */ i) => [
    token,
    i + 1,
    percent(outlook.p[i]),
  ]);
  return { head: [text("next_token.head_token"), text("next_token.head_rank"), text("next_token.head_raw")], rows };
}

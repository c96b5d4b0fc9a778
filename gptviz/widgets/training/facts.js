// What the prose and the sentence may say about the state on the stage; every number comes from its answers.
import { decimal } from "../kit/numbers.js";
import { mean, natsText } from "./scenes.js";

/** @param {any} state */
export function factsOf({ view, asked, more, scene, copier }) {
  const { nats } = asked;
  const dear = nats.indexOf(Math.max(...nats));
  const base = {
    tokens: asked.tokens.length,
    n: nats.length,
    loss: natsText(asked.loss),
    perplexity: asked.perplexity,
    flat: natsText(asked.flat),
    vocabulary: asked.vocabulary,
    worst: asked.tokens[dear + 1],
    worst_p: Math.exp(-nats[dear]),
    worst_nats: natsText(nats[dear]),
    worst_share: nats[dear] / nats.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0),
    first_tries: asked.rank.filter((/** @type {number} */ r) => r === 1).length,
  };
  const mask = view.show === "mistakes" && view.mistake;
  const which = { masked: mask === "none" || mask === "wrong_way", off: mask === "none", turned: mask === "wrong_way" };
  return { ...base, ...which, ...(more ? particular(view, asked, more, scene) : {}), ...copies(copier) };
}

/** @param {any} view @param {any} asked @param {any} more @param {any} scene */
function particular(view, asked, more, scene) {
  if (view.show === "learn") return learning(asked, more, view);
  if (view.show === "mistakes") return mistake(asked, more, view);
  if (view.show === "padding") return pads(asked, more, scene.pads);
  if (view.show === "own") return own(more);
  if (view.show === "encoder") return encoder(more);
  return {};
}

/** @param {any} asked @param {any} more @param {any} view */
function learning(asked, more, view) {
  const [before, after] = [mean(more.before), mean(more.after)];
  const better = more.after.filter((/** @type {number} */ x, /** @type {number} */ i) => x < more.before[i]).length;
  return {
    learned: true,
    lower: after < before,
    overshot: after >= before,
    other: more.model !== view.model,
    pupil: more.model,
    rate: String(more.rate),
    before: natsText(before),
    after: natsText(after),
    better,
    weights: more.parameters,
    seconds: more.seconds,
    pupil_n: more.before.length,
  };
}

/** @param {any} asked @param {any} more @param {any} view */
function mistake(asked, more, view) {
  const out = /** @type {Record<string, any>} */ ({});
  for (const name of ["unshifted", "none", "wrong_way"]) {
    const found = mean(more[name]);
    out[`${name}_loss`] = natsText(found);
    out[`${name}_lower`] = found < asked.loss;
    out[`${name}_worse`] = more[name].filter(
      (/** @type {number} */ x, /** @type {number} */ i) => x > asked.nats[i],
    ).length;
    out[`${name}_better`] = more[name].filter(
      (/** @type {number} */ x, /** @type {number} */ i) => x < asked.nats[i],
    ).length;
  }
  const off = view.mistake === "none";
  const tells = { off_reads: off && out.none_lower, off_disturbed: off && !out.none_lower };
  return { ...out, ...tells, unshifted_harder: out.unshifted_lower ? 0 : 1 };
}

/** @param {any} asked @param {any} more @param {number} count */
function pads(asked, more, count) {
  const counted = more.counted[count];
  const last = more.counted[more.counted.length - 1];
  return {
    pads: count,
    most_pads: more.nats.length,
    pad: more.pad,
    counted: natsText(counted),
    counted_more: counted > asked.loss + 0.005,
    counted_less: counted < asked.loss - 0.005,
    counted_most: natsText(last),
  };
}

/** @param {any} more */
function own(more) {
  return {
    replaced: more.true.words.length,
    draws: more.own.length,
    others: more.other.length,
    true_loss: natsText(more.true.loss),
    own_loss: natsText(more.own_mean),
    other_loss: natsText(more.other_mean),
    own_dearer: more.verdict > 0,
    own_cheaper: more.verdict < 0,
    own_even: more.verdict === 0,
    own_strange: more.own_mean > more.true.loss,
  };
}

/** @param {any} more */
function encoder(more) {
  return {
    decoder_asked: more.decoder_targets,
    encoder_asked: more.masked.length,
    passes: more.passes,
    decoder_pairs: more.decoder_pairs,
    encoder_pairs: more.encoder_pairs,
  };
}

/** @param {any} copier */
function copies(copier) {
  if (!copier || !copier.shifted.length) return { copied: false };
  const end = (/** @type {number[]} */ losses) => losses[losses.length - 1];
  return {
    copied: copier.shifted.length >= copier.steps,
    copy_step: copier.shifted.length,
    copy_steps: copier.steps,
    copy_words: copier.vocabulary,
    copy_floor: decimal(copier.floor, 2),
    copy_shifted: decimal(end(copier.shifted), 2),
    copy_unshifted: decimal(end(copier.unshifted), end(copier.unshifted) < 0.0995 ? 3 : 2),
  };
}

/** @param {any} view @param {any} facts */
export function sentenceOf(view, facts) {
  if (view.show === "learn") {
    if (!facts.learned) return "say_learning";
    return !facts.lower ? "say_worse" : facts.other ? "say_other" : "say_learned";
  }
  if (view.show === "mistakes") return `say_${view.mistake}`;
  if (view.show === "padding") return facts.pads ? "say_padding" : "say_no_pads";
  if (view.show === "copier") return facts.copied ? "say_copier" : "say_copying";
  return `say_${view.show}`;
}

/** The sentence about one column. @param {any} view @param {any} asked @param {any} scene @param {number} i */
export function pointedAt(view, asked, scene, i) {
  const [first, second] = scene.series;
  const nats = first.nats[i] ?? second.nats[i];
  const mine = scene.read.length === asked.nats.length && scene.read[0] === asked.tokens[0];
  const values = {
    read: scene.read[i],
    asked: scene.asked[i],
    p: Math.exp(-nats),
    nats: natsText(nats),
    best: mine ? asked.best[i] : "",
    best_p: mine ? asked.best_p[i] : 0,
    now: second && second.nats[i] !== null && second.nats[i] !== undefined ? natsText(second.nats[i]) : "",
  };
  if (i >= scene.read.length - scene.pads) return { key: "point_pad", values };
  if (view.show === "mistakes") return { key: "point_wrong", values };
  return { key: view.show === "learn" && second ? "point_learned" : "point_one", values };
}

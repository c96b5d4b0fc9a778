// What the prose and the picture's sentence may say about the run on the stage.
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { crossing } from "./run.js";

const CLOSE = 0.02; // nats: nearer to the floor than this counts as being at it

/** A loss in nats for people: two decimals, four where it is almost nothing. @param {number | null} x */
export const lossText = (x) => (x === null || x === undefined ? "–" : decimal(x, x < 0.0995 ? 4 : 2));

/** @param {any} run @param {any} record @param {any} now @param {any} view */
export function factsOf(run, record, now, view) {
  const end = (/** @type {any} */ twin) => twin.wrote[twin.wrote.length - 1] || {};
  const { unshifted_sentences: unshifted, open_sentences: open, wrong_way_sentences: wrong } = record.ends;
  return {
    ...ownFacts(run, now, view),
    valid: end(run.causal).valid ?? 0,
    twin_valid: end(run.twin).valid ?? 0,
    written: end(run.causal).written ?? 0,
    floor: lossText(run.floor),
    sentence_nats: decimal(record.places.length * run.floor, 2),
    places: record.places.length,
    free: record.places.filter((/** @type {any} */ p) => p.choices > 1).length,
    all_sentences: record.sentences,
    words: record.words,
    parameters: record.parameters,
    batch: record.batch,
    unshifted_none: unshifted.valid === 0,
    unshifted_right: unshifted.valid === 0 ? 2 : Math.abs(unshifted.valid - open.valid) < 0.04 ? 1 : 0,
    unshifted_valid: unshifted.valid,
    wrong_valid: wrong.valid,
  };
}

/** @param {any} run @param {any} now @param {any} view */
function ownFacts(run, now, view) {
  const below = run.twin.loss !== null && run.twin.loss < run.floor - CLOSE;
  return {
    open: view.variant === "open",
    wrong_way: view.variant === "wrong_way",
    unshifted: view.variant === "unshifted",
    random: view.data === "random",
    name: text(`twins.other_${view.variant}`), // words: twins.other_*
    finished: run.done,
    ...run.twin.shares,
    below,
    steps: run.steps,
    seconds: run.seconds,
    loss: lossText(run.causal.loss),
    twin_loss: lossText(run.twin.loss),
    writing: lossText(run.causal.writing_loss),
    twin_writing: lossText(run.twin.writing_loss),
    crossing: crossing(run),
    at: now.at,
    wrote_at: now.causal.wrote ? now.causal.wrote.step : 0,
    loss_now: lossText(now.causal.loss),
    twin_loss_now: lossText(now.twin.loss),
    valid_now: now.causal.wrote ? (now.causal.wrote.valid ?? 0) : 0,
    twin_valid_now: now.twin.wrote ? (now.twin.wrote.valid ?? 0) : 0,
    step: run.causal.losses.length,
  };
}

/** Which sentence the picture says. @param {any} view @param {any} now @param {any} run @param {any} running */
export function sentenceOf(view, now, run, running) {
  if (running) return "say_training";
  if (view.under === "grammar") return view.data === "random" ? "say_random_grammar" : "say_grammar";
  if (!run.done && now.at >= run.causal.losses.length) return "say_stopped";
  if (now.at === 0) return "say_start";
  if (view.data === "random") return now.last ? "say_random" : "say_random_midway";
  if (!now.last) return "say_midway";
  if (run.twin.loss >= run.floor - CLOSE) return "say_both_above";
  return run.twin.wrote[run.twin.wrote.length - 1].valid ? "say_answer" : "say_none";
}

// What the strip shows in each of its states: who was asked what, at what surprise, and which means stand beside it.
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/**
 * @typedef {object} Series
 * @property {string} kind "before", "after", "right", "wrong": its colour
 * @property {(number | null)[]} nats one a column; null where it has none
 * @property {string} name
 * @property {number} mean
 * @typedef {object} Scene
 * @property {string[]} read
 * @property {string[]} asked
 * @property {Series[]} series
 * @property {"over" | "pair" | "level"} form one over the other, side by side, or poured level
 * @property {number} pads how many columns at the end are padding
 * @property {boolean} same each column is asked for what it has just read
 */

/** @param {number[]} values */
export const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/**
 * The model's own surprises, and after one step of learning where it is known.
 * @param {any} strip @param {any} learned
 * @returns {Scene}
 */
export function learning(strip, learned) {
  const tokens = learned ? learned.tokens : strip.tokens;
  const before = learned ? learned.before : strip.nats;
  const series = [{ kind: "before", nats: before, name: text("training.before"), mean: mean(before) }];
  if (learned) {
    series.push({ kind: "after", nats: learned.after, name: text("training.after"), mean: mean(learned.after) });
  }
  return { ...shifted(tokens), series, form: "over", pads: 0, same: false };
}

/** @param {any} strip @returns {Scene} */
export function level(strip) {
  const series = [{ kind: "right", nats: strip.nats, name: text("training.the_loss"), mean: strip.loss }];
  return { ...shifted(strip.tokens), series, form: "level", pads: 0, same: false };
}

/**
 * The same text with one thing wrong, the right bars beside the wrong ones.
 * @param {any} strip @param {any} mistakes @param {string} which
 * @returns {Scene}
 */
export function mistaken(strip, mistakes, which) {
  const wrong = mistakes[which];
  const name = text(`training.now_${which}`); // words: training.now_*
  const series = [
    { kind: "right", nats: strip.nats, name: text("training.rightly"), mean: strip.loss },
    { kind: "wrong", nats: wrong, name, mean: mean(wrong) },
  ];
  const columns = shifted(strip.tokens);
  const same = which === "unshifted";
  return { ...columns, asked: same ? columns.read : columns.asked, series, form: "pair", pads: 0, same };
}

/**
 * The text with padding behind it, counted.
 * @param {any} strip @param {any} padded @param {number} pads
 * @returns {Scene}
 */
export function padding(strip, padded, pads) {
  const count = Math.min(pads, padded.nats.length);
  const columns = shifted(strip.tokens);
  const more = Array.from({ length: count }, () => text("training.pad"));
  const last = strip.tokens[strip.tokens.length - 1];
  const read = [...columns.read, ...(count ? [last] : []), ...more.slice(1)];
  const none = (/** @type {number} */ n) => Array.from({ length: n }, () => null);
  const series = [
    { kind: "right", nats: [...strip.nats, ...none(count)], name: text("training.text_alone"), mean: strip.loss },
    {
      kind: "wrong",
      nats: [...none(strip.nats.length), ...padded.nats.slice(0, count)],
      name: text("training.pads_counted"),
      mean: padded.counted[count],
    },
  ];
  return { read, asked: [...columns.asked, ...more], series, form: "over", pads: count, same: false };
}

/** @param {string[]} tokens */
const shifted = (tokens) => ({ read: tokens.slice(0, -1), asked: tokens.slice(1) });

/** A surprise as the picture writes it. @param {number} nats */
export function natsText(nats) {
  if (nats > 0 && nats < 0.005) return text("training.hardly");
  return decimal(nats, nats < 9.95 ? 2 : 1);
}

/** The column with the largest surprise. @param {Scene} scene */
export function worst(scene) {
  const { nats } = scene.series[0];
  let best = 0;
  nats.forEach((x, i) => {
    if ((x ?? 0) > (nats[best] ?? 0)) best = i;
  });
  return best;
}

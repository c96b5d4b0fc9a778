// Where everything of the strip stands: columns, rows, scales; a window of columns where a text has too many.
import { worst } from "./scenes.js";

const ALL = 40; // columns that are drawn at once, whatever the text's length
const NARROW = 24; // px of a column when there are more
const PHONE = 16; // columns on a narrow screen

/** @typedef {import("./scenes.js").Scene} Scene */

/**
 * @param {HTMLElement} root
 * @param {Scene} scene
 * @param {number} at the chosen column, −1 for none
 */
export function geometry(root, scene, at) {
  const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
  const { clientWidth: width, clientHeight: height } = root;
  if (width < 40 || height < 40) return null;
  const slim = width < 560;
  const low = height < 330 * unit;
  const [left, right] = [(slim ? 4 : 92) * unit, width - (slim ? 8 : 110) * unit];
  const columns = window(scene, at, right - left, slim, unit);
  const box = { unit, width, height, slim, low, left, right, n: scene.read.length, top: 2, ...columns };
  return { ...box, ...rows(box, scene) };
}

/**
 * Which columns are drawn.
 * @param {Scene} scene @param {number} at @param {number} room @param {boolean} slim @param {number} unit
 */
function window(scene, at, room, slim, unit) {
  const n = scene.read.length;
  const most = n <= ALL ? n : Math.max(8, Math.floor(room / (NARROW * unit)));
  const count = Math.min(n, slim ? Math.min(most, PHONE) : most);
  const centre = at >= 0 ? at : worst(scene);
  const from = Math.min(n - count, Math.max(0, centre - Math.floor(count / 2)));
  return { from, to: from + count, cw: room / count };
}

/** Heights, and the scale of the surprises. @param {any} box @param {Scene} scene */
function rows({ unit, height, slim, low, left, right, n, from, to, cw }, scene) {
  const turned = cw < 46 * unit;
  const token = (turned ? 62 : 24) * unit;
  const asked = low ? 0 : token + 16 * unit;
  const numbers = low || scene.form === "level" || cw < 27 * unit ? 0 : scene.series.length;
  const chance = low ? 0 : (slim ? 44 : 78) * unit;
  const chanceBottom = asked + token + (low ? 0 : chance + 26 * unit);
  const over = to - from < n && !low ? 46 * unit : 0;
  const bottom = height - 6 - over - numbers * 17 * unit - (numbers ? 4 : 0);
  const surpriseTop = chanceBottom + (low ? 12 : 26) * unit;
  const seen = scene.series.flatMap((series) => [series.mean, ...series.nats.slice(from, to).map((x) => x ?? 0)]);
  const max = Math.max(1, ...seen);
  const y = (/** @type {number} */ nats) => bottom - ((bottom - surpriseTop) * nats) / max;
  const overAt = (/** @type {number} */ x) =>
    Math.min(n - 1, Math.max(0, Math.floor(((x - left) / (right - left)) * n)));
  const strip = { left, right, top: height - over + 10 * unit, height: over - 12 * unit, at: overAt };
  const heights = { turned, token, asked, numbers, chance, chanceBottom, surpriseTop, bottom };
  return { ...heights, y, max, over: over ? strip : null };
}

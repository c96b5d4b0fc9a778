// The shift forgotten: two small models on tokens of pure chance, trained while one watches. One learns to copy.
import { el, fill, mark, svg } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const KINDS = ["shifted", "unshifted"];
const HIGHEST = 3.2; // nats

/** @param {any} app @param {{ changed: () => void }} acts */
export function createCopier(app, { changed }) {
  const picture = svg("svg", { class: "gv-copysvg", role: "img", "aria-label": text("training.show_copier") });
  const root = el("div", { class: "gv-copier" }, picture);
  /** @type {any} */
  let last = null;
  /** @type {AbortController | null} */
  let running = null;

  /** The first time it starts by itself. */
  const begin = () => (last || running ? draw() : run());

  async function run() {
    if (running) running.abort();
    const own = (running = new AbortController());
    last = null;
    try {
      await app.stream("copier", {}, (/** @type {any} */ value) => take(value, own), own.signal);
    } catch (error) {
      if (!own.signal.aborted) app.parts.notice(/** @type {Error} */ (error).message);
    }
    if (running === own) running = null;
  }

  /** @param {any} value @param {AbortController} own */
  function take(value, own) {
    if (!root.isConnected) own.abort();
    if (own.signal.aborted) return;
    last = last ? joined(last, value) : value;
    if (!root.clientWidth) return;
    draw();
    changed();
  }

  function draw() {
    if (last && root.clientWidth > 40 && root.clientHeight > 40) plot(root, picture, last);
  }

  return { root, draw, begin, run, last: () => last };
}

/** The losses so far, and those that came. @param {any} before @param {any} more */
const joined = (before, more) => ({
  ...more,
  shifted: [...before.shifted, ...more.shifted],
  unshifted: [...before.unshifted, ...more.unshifted],
});

/** @param {HTMLElement} root @param {Element} picture @param {any} last */
function plot(root, picture, last) {
  const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
  const { clientWidth: width, clientHeight: height } = root;
  const slim = width < 560;
  const [left, right] = [34 * unit, width - (slim ? 74 : 160) * unit];
  const [top, bottom] = [28 * unit, height - 30 * unit];
  const x = (/** @type {number} */ step) => left + ((right - left) * step) / last.steps;
  const y = (/** @type {number} */ loss) => bottom - ((bottom - top) * Math.min(loss, HIGHEST)) / HIGHEST;
  const scene = { left, right, top, bottom, x, y, unit, slim };
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("aria-label", text("training.copy_picture"));
  const ends = KINDS.map((kind) => y(last[kind][last[kind].length - 1]));
  ends[1] = Math.max(ends[1], ends[0] + 40 * unit); // the copier's loss is the lower one
  fill(picture, ...axes(last, scene), ...KINDS.flatMap((kind, i) => curve(kind, last[kind], ends[i], scene)));
}

/** @param {any} last @param {any} scene */
function axes(last, { left, right, top, bottom, x, y, unit, slim }) {
  const parts = [];
  for (const loss of [0, 1, 2, 3]) {
    parts.push(svg("line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "gv-owngrid" }));
    parts.push(mark(left - 8 * unit, y(loss) + 4 * unit, String(loss), "gv-trsmall", "end"));
  }
  for (let step = 0; step <= last.steps; step += 50) {
    parts.push(mark(x(step), bottom + 18 * unit, String(step), "gv-trsmall", "middle"));
  }
  parts.push(mark(right + 22 * unit, bottom + 18 * unit, text("training.copy_steps"), "gv-trsmall"));
  parts.push(mark(left + 2, top - 14 * unit, text("training.copy_axis"), "gv-trsmall"));
  parts.push(svg("line", { x1: left, x2: right, y1: y(last.floor), y2: y(last.floor), class: "gv-copyfloor" }));
  const key = slim ? "training.copy_floor_short" : "training.copy_floor"; // words: training.copy_floor*
  const floor = text(key, { floor: decimal(last.floor, 2), n: last.vocabulary });
  parts.push(mark(right - 4, y(last.floor) - 9 * unit, floor, "gv-trname gv-trhalo", "end"));
  return parts;
}

/** @param {string} kind @param {number[]} losses @param {number} place of its words @param {any} scene */
function curve(kind, losses, place, { right, bottom, x, y, unit, slim }) {
  if (!losses.length) return [];
  const end = losses[losses.length - 1];
  const points = losses.map((loss, i) => `${x(i + 1).toFixed(1)} ${y(loss).toFixed(1)}`);
  const name = text(slim ? `training.copy_${kind}_short` : `training.copy_${kind}`);
  // words: training.copy_shifted training.copy_unshifted training.copy_shifted_short training.copy_unshifted_short
  const at = Math.min(place, bottom - 18 * unit);
  return [
    svg("path", { d: `M${points.join("L")}`, class: `gv-copyline gv-is-${kind}` }),
    mark(right + 10 * unit, at + 2, decimal(end, end < 0.0995 ? 3 : 2), `gv-trvalue gv-is-${kind}`),
    mark(right + 10 * unit, at + 18 * unit, name, `gv-trname gv-is-${kind}`),
  ];
}

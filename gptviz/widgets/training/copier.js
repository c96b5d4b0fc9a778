// The shift forgotten: two small models on tokens of pure chance, trained while one watches. One of them learns to copy.
import { el, fill, mark, svg } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {any} app @param {{ changed: () => void }} acts */
export function createCopier(app, { changed }) {
  const picture = svg("svg", { class: "gv-copysvg", role: "img" });
  const root = el("div", { class: "gv-copier" }, picture);
  /** @type {any} */
  let last = null;
  /** @type {AbortController | null} */
  let running = null;

  /** The first time it starts by itself. */
  function begin() {
    if (last || running) return draw();
    run();
  }

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
    if (last)
      value = {
        ...value,
        shifted: [...last.shifted, ...value.shifted],
        unshifted: [...last.unshifted, ...value.unshifted],
      };
    last = value;
    if (!root.clientWidth) return;
    draw();
    changed();
  }

  function draw() {
    const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
    const { clientWidth: width, clientHeight: height } = root;
    if (width < 40 || height < 40 || !last) return;
    const slim = width < 560;
    const box = {
      left: 34 * unit,
      right: width - (slim ? 74 : 160) * unit,
      top: 28 * unit,
      bottom: height - 30 * unit,
    };
    const top = 3.2;
    const x = (/** @type {number} */ step) => box.left + ((box.right - box.left) * step) / last.steps;
    const y = (/** @type {number} */ loss) => box.bottom - ((box.bottom - box.top) * Math.min(loss, top)) / top;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-label", text("training.copy_picture"));
    const parts = [];
    for (const loss of [0, 1, 2, 3]) {
      parts.push(svg("line", { x1: box.left, x2: box.right, y1: y(loss), y2: y(loss), class: "gv-owngrid" }));
      parts.push(mark(box.left - 8 * unit, y(loss) + 4 * unit, String(loss), "gv-trsmall", "end"));
    }
    for (let step = 0; step <= last.steps; step += 50)
      parts.push(mark(x(step), box.bottom + 18 * unit, String(step), "gv-trsmall", "middle"));
    parts.push(mark(box.right + 22 * unit, box.bottom + 18 * unit, text("training.copy_steps"), "gv-trsmall"));
    parts.push(mark(box.left + 2, box.top - 14 * unit, text("training.copy_axis"), "gv-trsmall"));
    parts.push(
      svg("line", { x1: box.left, x2: box.right, y1: y(last.floor), y2: y(last.floor), class: "gv-copyfloor" }),
    );
    const floor = text(slim ? "training.copy_floor_short" : "training.copy_floor", {
      floor: decimal(last.floor, 2),
      n: last.vocabulary,
    });
    parts.push(mark(box.right - 4, y(last.floor) - 9 * unit, floor, "gv-trname gv-trhalo", "end"));
    const ends = ["shifted", "unshifted"].map((kind) => y(last[kind][last[kind].length - 1]));
    ends[1] = Math.max(ends[1], ends[0] + 40 * unit); // the copier's loss is the lower one
    ["shifted", "unshifted"].forEach((kind, i) => parts.push(...curve(kind, { x, y, box, unit, slim, at: ends[i] })));
    fill(picture, ...parts);
  }

  /** @param {string} kind @param {any} g */
  function curve(kind, { x, y, box, unit, slim, at: place }) {
    const losses = last[kind];
    if (!losses.length) return [];
    const end = losses[losses.length - 1];
    const d = `M${losses.map((/** @type {number} */ loss, /** @type {number} */ i) => `${x(i + 1).toFixed(1)} ${y(loss).toFixed(1)}`).join("L")}`;
    const name = text(slim ? `training.copy_${kind}_short` : `training.copy_${kind}`); // words: training.copy_shifted training.copy_unshifted training.copy_shifted_short training.copy_unshifted_short
    const at = Math.min(place, box.bottom - 18 * unit);
    return [
      svg("path", { d, class: `gv-copyline gv-is-${kind}` }),
      mark(box.right + 10 * unit, at + 2, decimal(end, end < 0.0995 ? 3 : 2), `gv-trvalue gv-is-${kind}`),
      mark(box.right + 10 * unit, at + 18 * unit, name, `gv-trname gv-is-${kind}`),
    ];
  }

  return { root, draw, begin, run, last: () => last };
}

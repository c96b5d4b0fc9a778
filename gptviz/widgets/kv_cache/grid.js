// One lane of the race as cells: a row writes one token, a cell is one token of the text at that moment.
import { css, mix } from "../kit/colour.js";
import { canvas, el } from "../kit/dom.js";

const LEAST = 4; // px of a cell before the prompt's middle is left out
const GAP = 2; // columns that stand for what is left out
export const NEW = "new";
export const AGAIN = "again";
export const KEPT = "kept";
export const LATER = "later";

/**
 * Prompt P tokens, count N rows.
 * @typedef {{ prompt: number, count: number, upto: number, names: string[], kept: boolean }} Lane
 */

export function createGrid() {
  const node = el("canvas", { "aria-hidden": "true" });
  const mark = el("i", { class: "gv-kv-cellmark", hidden: true });
  const above = el("div", { class: "gv-kv-colnames" }, el("span"), el("span"));
  const box = el("div", { class: "gv-kv-cells" }, node, mark);
  const root = el("div", { class: "gv-kv-grid" }, above, box);
  /** @type {ReturnType<typeof place> | null} */
  let at = null;
  /** @type {Lane | null} */
  let lane = null;

  /** @param {Lane} next @param {number} unit @param {[string, string]} names of the two groups of columns */
  function draw(next, unit, names) {
    lane = next;
    const width = box.clientWidth;
    const height = box.clientHeight;
    if (!width || !height) return;
    at = place(next, width, height, unit);
    paint(canvas(node, width, height), at, next, unit);
    const [prompt, written] = above.children;
    prompt.textContent = names[0];
    prompt.style.minWidth = `${at.x(next.prompt)}px`;
    written.textContent = names[1];
  }

  /** The cell at a place of the screen. @param {number} clientX @param {number} clientY */
  function find(clientX, clientY) {
    if (!at || !lane) return null;
    const { left, top } = box.getBoundingClientRect();
    const row = Math.floor((clientY - top) / at.height);
    const column = at.column(clientX - left);
    if (row < 0 || row >= lane.count || column < 0) return null;
    return { row, column: Math.min(column, lane.prompt + row - 1) };
  }

  /** @param {{ row: number, column: number } | null} cell */
  function point(cell) {
    mark.hidden = !cell;
    if (!cell || !at) return;
    const left = at.x(cell.column);
    const style = {
      left: `${left}px`,
      top: `${cell.row * at.height}px`,
      width: `${Math.max(at.width, 3)}px`,
      height: `${Math.max(at.height, 3)}px`,
    };
    Object.assign(mark.style, style);
  }
  return { root, box, draw, find, point };
}

/** Where columns and rows stand; the middle of a long prompt is left out. @param {Lane} lane */
function place(
  { prompt, count, names },
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const longest = names.reduce((n, name) => Math.max(n, name.length), 3);
  const label = Math.min(longest * 7.3, 94) * unit + 8;
  const room = Math.max(width - label, 40);
  const all = prompt + count - 1;
  const shown =
    room / all >= LEAST ? prompt : Math.min(prompt, Math.max(6, Math.floor(room / LEAST) - (count - 1) - GAP));
  const cut = shown < prompt;
  const first = Math.ceil(shown / 2);
  const columns = shown + count - 1 + (cut ? GAP : 0);
  const w = Math.min(room / columns, 15 * unit);
  const h = Math.min(height / count, 22 * unit);
  const slot = (/** @type {number} */ j) => {
    if (!cut || j < first) return j;
    if (j < prompt - (shown - first)) return first;
    return j - prompt + shown + GAP;
  };
  const column = (/** @type {number} */ px) => {
    const s = Math.floor(px / w);
    if (!cut || s < first) return s;
    return s < first + GAP ? first : s - GAP - shown + prompt;
  };
  const left = cut ? [first, prompt - (shown - first)] : [0, 0]; // tokens that have no column of their own
  return { width: w, height: h, cut, left, x: (/** @type {number} */ j) => slot(j) * w, column };
}

/**
 * What a cell is.
 * @param {{ prompt: number, upto: number, kept: boolean }} lane @param {number} row
 * @param {number} column
 */
export function kind({ prompt, upto, kept }, row, column) {
  if (row >= upto) return LATER;
  if (row === 0 || column === prompt + row - 1) return NEW;
  return kept ? KEPT : AGAIN;
}

/** @param {CanvasRenderingContext2D} c @param {ReturnType<typeof place>} at @param {Lane} lane @param {number} unit */
function paint(c, at, lane, unit) {
  const small = Math.min(at.width, at.height);
  const gap = small > 7 ? 1.5 : small > 3.5 ? 0.75 : 0;
  const look = {
    gap,
    dotted: small >= 6,
    line: css("--rule"),
    dot: css("--soft"),
    fills: { [NEW]: css("--key"), [AGAIN]: mix("--card", "--key", 0.4), [KEPT]: css("--void"), [LATER]: css("--void") },
  };
  for (let row = 0; row < lane.count; row++) {
    for (let j = 0; j < lane.prompt + row; j++) {
      if (at.cut && j > at.left[0] && j < at.left[1]) j = at.left[1];
      const left = at.cut && j === at.left[0];
      const width = (left ? GAP * at.width : at.width) - gap;
      cell(c, kind(lane, row, j), at.x(j), row * at.height, width, at.height - gap, look, left);
    }
  }
  labels(c, at, lane, unit);
}

/**
 * @param {CanvasRenderingContext2D} c @param {"new" | "again" | "kept" | "later"} what
 * @param {number} x @param {number} y @param {number} w @param {number} h @param {any} look
 * @param {boolean} pooled it stands for the tokens that have no column of their own
 */
function cell(c, what, x, y, w, h, look, pooled) {
  c.fillStyle = look.fills[what];
  c.globalAlpha = pooled ? 0.5 : 1;
  c.fillRect(x, y, w, h);
  c.globalAlpha = 1;
  if (what === KEPT || what === LATER) outline(c, x, y, w, h, look.line);
  if (what !== KEPT || !look.dotted || pooled) return;
  c.fillStyle = look.dot;
  c.fillRect(x + w / 2 - 1, y + h / 2 - 1, 2, 2);
}

/**
 * @param {CanvasRenderingContext2D} c @param {number} x @param {number} y @param {number} w
 * @param {number} h @param {string} colour
 */
function outline(c, x, y, w, h, colour) {
  if (Math.min(w, h) < 4) return;
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
}

/** The token that each row writes, behind its last cell. @param {CanvasRenderingContext2D} c */
function labels(c, /** @type {any} */ at, /** @type {Lane} */ lane, /** @type {number} */ unit) {
  const size = 12 * unit;
  const every = Math.ceil((size + 1) / at.height);
  c.textBaseline = "middle";
  for (let row = 0; row < Math.min(lane.upto, lane.names.length); row++) {
    const last = row === lane.upto - 1;
    if (row % every && !last) continue;
    if (!last && lane.upto - 1 - row < every && every > 1) continue;
    c.fillStyle = css(last ? "--ink" : "--soft");
    c.font = `${last ? 500 : 400} ${size}px ${getComputedStyle(document.body).getPropertyValue("--mono")}`;
    c.fillText(
      lane.names[row].slice(0, 13),
      at.x(lane.prompt + row - 1) + at.width + 4,
      Math.max(size / 2 + 1, (row + 0.5) * at.height),
    );
  }
}

// Where everything of the board stands. x(column), y(row): row 0 is the embedding, row l + 1 what layer l leaves.
import { labelling, windowOf } from "./columns.js";

/**
 * @param {{ width: number, height: number, unit: number }} size
 * @param {HTMLElement} root
 * @param {import("./board.js").Setting} now
 * @param {number} focus
 * @param {number | null} wanted
 */
export function geometryOf(size, root, now, focus, wanted) {
  const { unit } = size;
  const W = root.clientWidth || size.width;
  const H = root.clientHeight || size.height;
  const phone = W < 520;
  const gutter = (phone ? 42 : 124) * unit;
  const columns = windowOf(now.tokens.length, W - gutter, unit, focus, wanted);
  const cw = columns.width;
  const fs = Math.min(13.5 * unit, Math.max(10.5 * unit, cw / 4.4));
  const label = labelling(cw, fs);
  const labelH = label.level ? 2.7 * fs : (phone ? 46 : 58) * unit;
  const bottom = labelH + (columns.all ? 0 : 24) + (H < 230 ? 4 : 22 * unit);
  const bars = barsOf(H - bottom, now, { unit, phone, topWords: label.level ? 1.6 * fs : 2 });
  const room = H - bottom - bars.mapY - 4 * unit;
  const low = Math.min(room / (now.layers + 1), 22 * unit); // the embedding's row
  const rowH = (room - low) / now.layers;
  const gap = rowH > 8 ? 1.5 : rowH > 4 ? 1 : 0.5;
  const first = Math.min(Infinity, ...now.open);
  const above = (/** @type {number} */ py) => Math.floor((py - bars.mapY) / rowH);
  return {
    ...columns,
    ...bars,
    W,
    H,
    unit,
    phone,
    gutter,
    cw,
    fs,
    label,
    labelH,
    rowH,
    gap,
    first,
    small: 11.5 * unit,
    chip: (phone ? 16 : 26) * unit,
    wordsY: H - bottom + (label.level ? 3 : 2) * unit,
    cellH: rowH - gap,
    high: (/** @type {number} */ row) => Math.max(1, (row ? rowH : low) - gap),
    y: (/** @type {number} */ row) => bars.mapY + (now.layers - row) * rowH + (row === 0 ? 4 * unit : 0),
    x: (/** @type {number} */ column) => gutter + (column - columns.from) * cw,
    rowAt: (/** @type {number} */ py) => Math.max(0, Math.min(now.layers, now.layers - above(py))),
    /** Has what stands there read later tokens, by the rule? */
    ahead: (/** @type {number} */ row, /** @type {number} */ column) => row > first && column < now.tokens.length - 1,
  };
}

/**
 * The bars, the tokens they guess, and the lines from the columns that guess them.
 * @param {number} room
 * @param {import("./board.js").Setting} now
 * @param {{ unit: number, phone: boolean, topWords: number }} given
 */
function barsOf(room, now, { unit, phone, topWords }) {
  const linkH = (phone ? 16 : 24) * unit;
  const barsY = 18 * unit;
  const share = now.reach ? 0.28 : 0.42;
  const barsH = Math.max(36, room * share - barsY - topWords - linkH);
  const linkY = barsY + barsH + topWords;
  return { linkH, barsY, barsH, linkY, mapY: linkY + linkH, topWordsY: barsY + barsH + 2 };
}

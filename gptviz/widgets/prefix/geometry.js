// Where the columns of both runs stand.
import { labelling, windowOf } from "../mask/columns.js";

/**
 * @param {{ unit: number, width: number, height: number }} size
 * @param {HTMLElement} root
 * @param {number} total tokens
 * @param {number} keep the cut
 * @param {boolean} [whole] all columns, however narrow
 */
export function geometryOf(size, root, total, keep, whole = false) {
  const { unit } = size;
  const W = root.clientWidth || size.width;
  const H = root.clientHeight || size.height;
  const phone = W < 520;
  const gutter = (phone ? 6 : 112) * unit;
  const room = W - gutter - 2;
  const all = { from: 0, shown: total, width: room / total };
  const { from, shown, width } = whole ? all : windowOf(total, room, unit, keep, null, phone ? 20 : 31);
  const handleH = 24 * unit;
  const rowH = 26 * unit;
  const stripY = handleH + 5;
  return {
    W,
    H,
    unit,
    phone,
    gutter,
    total,
    keep,
    from,
    shown,
    cw: width,
    handleH,
    rowH,
    stripY,
    stripEnd: stripY + 2 * rowH + 3,
    level: labelling(width, 12 * unit).level,
    x: (/** @type {number} */ c) => gutter + (c - from) * width,
  };
}

// Lists of numbers as rows of colour, one under the other, so that equal ones look equal.
import { mix } from "../kit/colour.js";
import { el } from "../kit/dom.js";

const MOST = 64; // entries that are drawn; half on a phone

/**
 * @param {Float32Array & { shape: number[] }} rows [n, d]
 * @param {string[]} names one a row
 * @param {number} width of the place they have
 */
export function vectors(rows, names, width) {
  const d = rows.shape[1];
  const most = rows.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
  const shown = Math.min(d, width > 500 ? MOST : MOST / 2);
  const cell = (/** @type {number} */ value) =>
    el("i", { style: { background: mix("--card", value < 0 ? "--warn" : "--key", Math.abs(value) / most) } });
  return names.map((name, row) => {
    const cells = Array.from({ length: shown }, (_, i) => cell(rows[row * d + i]));
    return el("div", { class: "gv-kv-sample" }, el("span", null, name), el("div", { class: "gv-kv-vector" }, ...cells));
  });
}

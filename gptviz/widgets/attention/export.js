// A head as a table for the page, and as a file.
import { decimal, percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {any} s */
export function nameOf({ chosen, view }) {
  return `attention-layer${chosen[0]}-head${chosen[1]}-${view.stage === "values" ? "weights" : view.stage}`;
}

/** All T × T numbers; a masked score is -inf. @param {string[]} tokens @param {Float32Array} matrix row by row */
export function csvOf(tokens, matrix) {
  const T = tokens.length;
  const numbers = (/** @type {number} */ i) => Array.from(matrix.subarray(i * T, (i + 1) * T), finite);
  const rows = tokens.map((token, i) => [i, token, ...numbers(i)]);
  const lines = [["query", "token", ...tokens], ...rows].map((row) => row.map(quoted).join(","));
  return `\ufeff${lines.join("\n")}\n`;
}

const finite = (/** @type {number} */ x) => (x === -Infinity ? "-inf" : x);

/** A field of the file; one that a spreadsheet would take for a formula is text. @param {string | number} x */
function quoted(x) {
  if (typeof x === "number") return String(x);
  const plain = /^[=+\-@\t]/.test(x) && x !== "-inf" ? `'${x}` : x;
  return /[",\n\r']/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** The numbers of the picture. @param {any} s */
export function tableOf(s) {
  const { carried: c, tokens, g } = s;
  if (c && !c.none) {
    const row = (/** @type {string} */ token, /** @type {number} */ k) => [
      token,
      percent(c.weights[k]),
      decimal(c.value_norms[k], 3),
      decimal(c.contributions[k], 3),
    ];
    const head = ["token", "weights", "lengths", "carried"].map((name) => text(`attention.table_${name}`));
    return { head, rows: tokens.slice(0, s.at + 1).map(row) }; // words: attention.table_*
  }
  const cells = (/** @type {number} */ i) => g.cols.map((/** @type {number} */ j) => cell(s, i, j));
  return {
    head: ["", ...g.cols.map((/** @type {number} */ j) => tokens[j])],
    rows: g.rows.map((/** @type {number} */ i) => [tokens[i], ...cells(i)]),
  };
}

/** @param {any} s @param {number} i @param {number} j */
function cell(s, i, j) {
  if (s.view.stage === "weights") return s.seen(i, j) ? percent(s.value(i, j)) : percent(0);
  return s.view.stage === "scores" || s.seen(i, j) ? decimal(s.value(i, j), 2) : "−∞";
}

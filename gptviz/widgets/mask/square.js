// The influence matrix as cells: rows are outputs, columns the tokens that were replaced.
import { label, mix } from "../kit/colour.js";
import { svg } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";
import { fit } from "./columns.js";

/** @param {HTMLElement} box @param {number} T @param {number} unit */
export function sizesOf(box, T, unit) {
  const phone = box.clientWidth < 480;
  const left = (phone ? 52 : 86) * unit;
  const top = (phone ? 48 : 62) * unit;
  const room = Math.min(box.clientWidth - left - 4, box.clientHeight - top - 4);
  return { left, top, unit, cell: Math.max(2, Math.min(room / T, 44 * unit)) };
}

/**
 * @param {{ left: number, top: number, unit: number, cell: number }} sizes
 * @param {import("./influence.js").Run} now
 * @param {(i: number, j: number) => number} at
 * @returns {any[]}
 */
export function drawSquare(sizes, now, at) {
  const T = now.tokens.length;
  let low = Infinity;
  let high = 0;
  for (const x of now.matrix) if (x > now.tolerance) [low, high] = [Math.min(low, x), Math.max(high, x)];
  const range = Math.log(Math.max(1.001, high / low));
  const share = (/** @type {number} */ x) => 0.3 + (0.66 * Math.log(x / low)) / range;
  const out = names(sizes, now.tokens);
  for (let i = 0; i < T; i++) {
    for (let j = 0; j < T; j++) {
      const x = at(i, j);
      const kind = j >= now.done ? "wait" : x <= now.tolerance ? "zero" : j > i ? "warn" : "key";
      out.push(...cell(sizes, i, j, x, kind, x <= now.tolerance ? 0 : share(x)));
    }
  }
  return out;
}

/**
 * @param {any} sizes
 * @param {number} i
 * @param {number} j
 * @param {number} x
 * @param {string} kind
 * @param {number} full
 */
function cell({ left, top, cell: side }, i, j, x, kind, full) {
  const [px, py] = [left + j * side, top + i * side];
  const none = kind === "wait" || kind === "zero";
  const colour = none ? `var(--${kind === "wait" ? "card" : "void"})` : mix("--card", `--${kind}`, full);
  const size = Math.max(1, side - 1);
  const place = { x: px + 0.5, y: py + 0.5, width: size, height: size, rx: Math.min(2, side / 8) };
  const data = { "data-row": i, "data-column": j, "data-kind": kind };
  const box = svg("rect", { ...place, ...data, class: `gv-cell gv-cell-${kind}`, style: { fill: colour } });
  if (side < 27 || kind === "wait") return [box];
  const fs = Math.min(12.5, side * 0.34);
  // not words: names of colours
  const ink = none ? "var(--soft)" : label("--card", `--${kind}`, full);
  const at = { x: px + side / 2, y: py + side / 2 + fs * 0.35, "text-anchor": "middle", "font-size": fs };
  return [box, svg("text", { ...at, class: "gv-tok", "pointer-events": "none", style: { fill: ink } }, short(x))];
}

/** @param {any} sizes @param {string[]} tokens */
function names({ left, top, cell: side, unit }, tokens) {
  const size = Math.min(13 * unit, Math.max(9 * unit, side * 0.8));
  const every = Math.max(1, Math.ceil((size * 1.05) / side));
  const out = [];
  for (let t = 0; t < tokens.length; t += every) {
    const y = top + (t + 0.5) * side + size * 0.35;
    const row = { class: "gv-tok", x: left - 6, y, "text-anchor": "end", "font-size": size };
    out.push(svg("text", row, fit(tokens[t], left - 8, size)));
    const turn = `translate(${left + (t + 0.5) * side + size * 0.2} ${top - 6}) rotate(-58)`;
    out.push(svg("text", { class: "gv-tok", "font-size": size, transform: turn }, fit(tokens[t], top * 1.05, size)));
  }
  return out;
}

/** @param {number} x */
function short(x) {
  if (x === 0) return "0";
  if (x < 0.0995) return delta(x).slice(0, 5);
  return x < 9.95 ? x.toFixed(1) : String(Math.round(x));
}

// Every cut as a row: cells under the guesses it keeps.
import { mix } from "../kit/colour.js";
import { svg } from "../kit/dom.js";
import { text } from "../kit/words.js";

/**
 * @typedef {object} Rows what was measured so far
 * @property {number} done cuts
 * @property {number} tolerance
 * @property {(n: number, i: number) => number} at how far guess i moves when n tokens are kept
 * @property {(n: number) => boolean} escapes this cut sees nothing though others do
 */

/**
 * @param {any} g geometry
 * @param {Rows} rows
 * @param {{ pick: (n: number) => void, point: (n: number, i: number | null) => void }} on
 * @returns {any[]}
 */
export function drawTriangle(g, rows, on) {
  const { top, high } = rowsOf(g);
  const out = [];
  for (let n = 1; n < g.total; n++) {
    const y = top + (n - 1) * high;
    out.push(...names(g, rows, n, y, high));
    for (let i = 0; i < n; i++) out.push(...cell(g, rows, on, n, i, y, high));
  }
  const y = top + (g.keep - 1) * high;
  const frame = { x: g.x(0) - 0.5, y: y - 0.5, width: g.keep * g.cw + 1, height: high + 1, rx: 4 };
  return [...out, svg("rect", { class: "gv-chosenrow", ...frame })];
}

/** Where the rows begin, and how high one is. @param {any} g */
function rowsOf(g) {
  const top = g.stripEnd + 13 * g.unit;
  return { top, high: Math.min(34 * g.unit, (g.H - top - 4) / (g.total - 1)) };
}

/** The box of one cell. @param {any} g @param {number} n @param {number} i */
export function cellBox(g, n, i) {
  const { top, high } = rowsOf(g);
  return { x: g.x(i), y: top + (n - 1) * high, width: g.cw, height: high };
}

/** @param {any} g @param {Rows} rows @param {number} n @param {number} y @param {number} high */
function names(g, rows, n, y, high) {
  if (g.phone) return [];
  const size = Math.min(12.5 * g.unit, Math.max(9, high * 0.8));
  const every = Math.max(1, Math.ceil(11 / high));
  const base = y + high / 2 + size * 0.35;
  const name = { class: `gv-tok${n === g.keep ? " gv-strong" : ""}`, x: g.gutter - 10, y: base, "text-anchor": "end" };
  const out = [];
  if (n % every === 0) out.push(svg("text", { ...name, "font-size": size }, text("prefix.first_n", { n })));
  if (rows.escapes(n) && high >= 12) {
    out.push(svg("text", { class: "gv-warn", x: g.x(n) + 7, y: base, "font-size": size }, text("prefix.escapes")));
  }
  return out;
}

function cell(
  /** @type {any} */ g,
  /** @type {Rows} */ rows,
  /** @type {any} */ on,
  /** @type {number} */ n,
  /** @type {number} */ i,
  /** @type {number} */ y,
  /** @type {number} */ high,
) {
  const x = rows.at(n, i);
  const kind = n > rows.done ? "wait" : x === 0 ? "zero" : x > rows.tolerance ? "warn" : "key";
  const share = kind === "warn" ? Math.min(1, 0.55 + 0.16 * Math.log10(1 + 100 * x)) : 0.45;
  const fill = kind === "warn" || kind === "key" ? mix("--card", `--${kind}`, share) : "";
  const size = { width: Math.max(1, g.cw - 1.5), height: Math.max(1, high - 1.5), rx: Math.min(2, high / 6) };
  const place = { x: g.x(i) + 0.75, y: y + 0.75, ...size };
  const data = { "data-row": n, "data-column": i, "data-kind": kind };
  const told = { onpointerenter: () => on.point(n, i), onpointerleave: () => on.point(n, null) };
  const style = fill ? { fill } : {};
  const box = svg("rect", { class: `gv-cell-${kind}`, ...place, ...data, ...told, style, onclick: () => on.pick(n) });
  if (kind !== "zero" || high < 15 || g.cw < 20) return [box];
  const fs = Math.min(11.5 * g.unit, high * 0.7);
  const at = { x: g.x(i) + g.cw / 2, y: y + high / 2 + fs * 0.35, "text-anchor": "middle", "font-size": fs };
  return [box, svg("text", { class: "gv-tok gv-dim", ...at, "pointer-events": "none" }, "0")];
}

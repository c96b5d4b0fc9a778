// What the board's columns and rows are called: tokens below, layers with their masks at the left.
import { svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { fit } from "./columns.js";

/** The tokens under the columns; a replaced one is struck out. @param {any} g @param {any} now @returns {any[]} */
export function drawWords(g, now) {
  const out = [];
  for (let c = g.from; c < g.from + g.shown; c++) {
    const swapped = now.reach && now.reach.position === c;
    if (swapped || (c - g.from) % g.label.every === 0) {
      out.push(token(g, now.tokens[c], c, 0, swapped ? "gv-tok gv-gone" : "gv-tok"));
    }
    if (swapped) out.push(token(g, now.reach.replacement, c, 1, "gv-tok gv-new"));
  }
  return out;
}

/** @param {any} g @param {string} word @param {number} c @param {number} line @param {string} name */
function token(g, word, c, line, name) {
  const x = g.x(c) + g.cw / 2;
  const size = g.fs;
  if (g.label.level) {
    const y = g.wordsY + size * (1 + 1.35 * line);
    return svg("text", { class: name, x, y, "text-anchor": "middle", "font-size": size }, fit(word, g.cw - 3, size));
  }
  const turn = `translate(${x + 4 + line * size} ${g.wordsY + 4}) rotate(-60)`;
  const words = fit(word, g.labelH * 1.12, size);
  return svg("text", { class: name, transform: turn, "text-anchor": "end", "font-size": size }, words);
}

/** The layers' names and masks: pressing one takes its mask away. @param {any} g @param {any} now @returns {any[]} */
export function drawNames(g, now) {
  const dense = g.rowH < g.small * 1.1;
  const every = dense ? 5 * Math.max(1, Math.ceil(g.small / (5 * g.rowH))) : 1;
  const few = now.open.size < 3 ? [...now.open] : [];
  const out = [];
  for (let l = 0; l < now.layers; l++) {
    const crowded = few.some((o) => o !== l && Math.abs(o - l) * g.rowH < g.small);
    const last = l === now.layers - 1 && (l % every) * g.rowH > g.small;
    const named = few.includes(l) || ((l % every === 0 || last) && !crowded);
    out.push(layer(g, l, now.open.has(l), named));
  }
  if (g.phone) return out;
  const y = g.y(0) + g.high(0) / 2 + g.small * 0.35;
  out.push(svg("text", { x: g.gutter - 8, y, "text-anchor": "end", "font-size": g.small }, text("mask.embedding")));
  return out;
}

/** @param {any} g @param {number} l @param {boolean} open @param {boolean} named */
function layer(g, l, open, named) {
  const y = g.y(l + 1);
  const right = g.gutter - 8 - g.chip;
  const middle = y + g.cellH / 2 + g.small * 0.35;
  const label = g.phone ? String(l) : text("mask.layer", { l });
  const words = svg("text", { x: right - 5, y: middle, "text-anchor": "end", "font-size": g.small }, label);
  return svg(
    "g",
    { class: open ? "gv-lay gv-open" : "gv-lay", "data-layer": l },
    svg("rect", { class: "gv-hit", x: 0, y: y - g.gap / 2, width: g.gutter, height: g.rowH }),
    svg("rect", { class: "gv-lock", x: right, y: y + 0.5, width: g.chip, height: Math.max(1, g.cellH - 1), rx: 2 }),
    named && words,
  );
}

// Arcs from the asking token to what it reads, above its row; as thick as the weight.
import { fill, svg } from "../kit/dom.js";

/**
 * @typedef {object} Arc
 * @property {number} from column
 * @property {number} to column
 * @property {number} weight
 * @property {boolean} main the one that is named
 * @property {string} [words]
 * @property {string} [tone] a class
 */
/** @typedef {Arc & { x1: number, x2: number, y: number }} PlacedArc */

export function createArcs() {
  const root = svg("svg", { class: "gv-arcs", "aria-hidden": "true" });

  /** @param {PlacedArc[]} arcs @param {any} g geometry */
  function draw(arcs, g) {
    root.setAttribute("width", g.width);
    root.setAttribute("height", g.height);
    const ordered = [...arcs].sort((a, b) => Number(a.main) - Number(b.main)); // the named ones on top
    fill(root, ...ordered.flatMap((arc) => one(arc, g)), ...ordered.map((arc) => name(arc, g)));
  }
  return { root, draw };
}

/** How high an arc rises above its row. @param {PlacedArc} arc @param {any} g */
function rise({ x1, x2, y, main }, g) {
  const span = Math.abs(x1 - x2);
  const room = Math.max(4, y - g.tl - 20 * g.unit);
  return Math.min(room, Math.max(g.cell * 0.55, span * (main ? 0.42 : 0.28)));
}

/** @param {PlacedArc} arc @param {any} g */
function one(arc, g) {
  const { x1, x2, y, weight, main, tone = "" } = arc;
  const span = Math.abs(x1 - x2);
  const full = Math.min(g.cell * 0.2, 9 * g.unit, span * 0.09);
  const thick = main ? Math.max(2.5, full * Math.sqrt(weight)) : 1.5 * g.unit;
  const tip = main ? Math.max(6, thick * 1.6) : 5 * g.unit;
  const top = y - rise(arc, g) * 1.333; // of the control points: the curve itself rises to three quarters of that
  const bend = Math.sign(x1 - x2) * Math.min(g.cell * 0.6, span * 0.2);
  const look = main ? `gv-arc gv-arc-main ${tone}` : "gv-arc";
  const d = `M${x1} ${y}C${x1 - bend} ${top} ${x2 + bend} ${top} ${x2} ${y - tip}`;
  return [
    svg("path", { class: look, d, "stroke-width": thick }),
    svg("path", { class: `${look} gv-tip`, d: `M${x2} ${y}l${tip * 0.72} ${-tip * 1.3}h${-tip * 1.44}z` }),
  ];
}

/** @param {PlacedArc} arc @param {any} g */
function name(arc, g) {
  const { x1, x2, y, words, tone = "" } = arc;
  if (!words) return null;
  const size = Math.min((tone ? 14 : 16) * g.unit, Math.max(13, g.width / 24));
  const half = words.length * size * 0.275;
  const x = Math.max(g.lab + half, Math.min((x1 + x2) / 2, g.width - half - 4));
  const at = { x, y: Math.max(g.tl + 14 * g.unit, y - rise(arc, g) - 9 * g.unit) };
  const look = { class: `gv-arc-words ${tone}`, "text-anchor": "middle", "font-size": size };
  return svg("text", { ...look, ...at }, words);
}

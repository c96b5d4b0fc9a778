// Arcs from the asking token to what it reads, above its row; as thick as the weight.
import { fill, svg } from "../kit/dom.js";

export function createArcs() {
  const root = svg("svg", { class: "gv-arcs", "aria-hidden": "true" });

  /** @param {any[] | null} arcs x1, x2, y, weight, main, words @param {any} g */
  function draw(arcs, g) {
    root.setAttribute("width", g.width);
    root.setAttribute("height", g.height);
    if (!arcs) return void fill(root);
    const nodes = [];
    for (const arc of [...arcs].sort((a, b) => Number(a.main) - Number(b.main))) nodes.push(...one(arc, g));
    fill(root, ...nodes);
  }
  return { root, draw };
}

/** @param {any} arc @param {any} g */
function one({ x1, x2, y, weight, main, words, tone }, g) {
  const span = Math.abs(x1 - x2);
  const room = Math.max(4, y - g.tl - 20 * g.unit);
  const rise = Math.min(room, Math.max(g.cell * 0.55, span * (main ? 0.42 : 0.28)));
  const thick = main ? Math.max(2.5, Math.min(g.cell * 0.2, 9 * g.unit, span * 0.09) * Math.sqrt(weight)) : 1.5 * g.unit;
  const tip = main ? Math.max(6, thick * 1.6) : 5 * g.unit;
  const top = y - rise * 1.333; // of the control points: the curve itself rises to y - rise
  const bend = Math.sign(x1 - x2) * Math.min(g.cell * 0.6, span * 0.2);
  const look = { class: main ? `gv-arc gv-arc-main ${tone || ""}` : "gv-arc" };
  const path = svg("path", {
    ...look,
    d: `M${x1} ${y}C${x1 - bend} ${top} ${x2 + bend} ${top} ${x2} ${y - tip}`,
    "stroke-width": thick,
  });
  const head = svg("path", { class: `${look.class} gv-tip`, d: `M${x2} ${y}l${tip * 0.72} ${-tip * 1.3}h${-tip * 1.44}z` });
  if (!words) return [path, head];
  const half = words.length * 4.4 * g.unit;
  const x = Math.max(g.lab + half, Math.min((x1 + x2) / 2, g.width - half - 4));
  const name = svg("text", { class: `gv-arc-words ${tone || ""}`, x, y: Math.max(g.tl + 14 * g.unit, y - rise - 9 * g.unit), "text-anchor": "middle" }, words);
  return [path, head, name];
}

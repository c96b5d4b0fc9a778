// The route of an answer over the columns: only edges that carry at least a given share, followed down from the top.
import { css } from "../kit/colour.js";
import { el, rect, svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

export const SHARES = [0, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16]; // what the slider stops at

/**
 * The slider that keeps what matters.
 * @param {(keep: number) => void} pick per cent of a place
 */
export function createKeep(pick) {
  const name = text("inside.route_keep");
  const most = String(SHARES.length - 1);
  const input = el("input", { type: "range", min: "0", max: most, step: "1", "aria-label": name });
  const output = el("output", { class: "gv-n" });
  input.addEventListener("input", () => pick(100 * SHARES[Number(input.value)]));
  const node = el("label", { class: "gv-keep" }, el("span", null, name), input, output);
  /** @param {number} keep */
  const set = (keep) => {
    const near = SHARES.map((share) => Math.abs(100 * share - keep));
    input.value = String(near.indexOf(Math.min(...near)));
    output.textContent = keep > 0 ? percent(keep / 100) : text("inside.route_all");
    input.setAttribute("aria-valuetext", output.textContent);
  };
  return { node, set };
}

/**
 * What is left of a route when only shares of at least `least` count.
 * @param {any} found edges [layer, head, query, key, share] and places [layer, place, stayed, fed], from the top down
 * @param {number} least
 * @param {number} layers
 */
export function kept(found, least, layers) {
  /** @type {Set<number>[]} */
  const on = Array.from({ length: layers + 1 }, () => new Set());
  on[layers].add(found.position);
  const edges = [];
  const stays = [];
  const feeds = [];
  let e = 0;
  for (const [layer, place, stayed, fed] of found.places) {
    for (; e < found.edges.length && found.edges[e][0] > layer; e++);
    if (!on[layer + 1].has(place)) continue;
    if (fed >= least) feeds.push({ layer, place, share: fed });
    if (stayed >= least) stays.push({ layer, place });
    if (stayed >= least) on[layer].add(place);
    for (let k = e; k < found.edges.length && found.edges[k][0] === layer; k++) {
      const [, head, query, key, share] = found.edges[k];
      if (query !== place || share < least) continue;
      edges.push({ layer, head, query, key, share });
      on[layer].add(key);
    }
  }
  return { on, edges, stays, feeds };
}

/** What the picture's sentence says of it. @param {any} route @param {any} column */
export function counted(route, column) {
  const heads = new Set(route.edges.map((/** @type {any} */ e) => `${e.layer}.${e.head}`));
  const tokens = [...route.on[0]].sort((a, b) => a - b);
  return { heads: heads.size, tokens: tokens.length, of: column.place + 1 };
}

/** Lines over the cells: teal into the chosen column, grey elsewhere; squares where a feed-forward part matters. */
export function drawRoute(/** @type {any} */ g, /** @type {any} */ column, /** @type {any} */ route) {
  const index = new Map(column.window.map((/** @type {number} */ place, /** @type {number} */ i) => [place, i]));
  const wide = (/** @type {number} */ i) => (i === g.at ? g.own : g.pale);
  const x = (/** @type {number} */ place) => {
    const i = index.get(place);
    return i === undefined ? g.left - 4 : g.x(i) + (i === g.at ? 4 * g.unit : wide(i) / 2);
  };
  const y = (/** @type {number} */ row) => g.y(row) + g.rowHeight / 2;
  const out = [];
  for (const { layer, place } of route.stays) {
    if (place === column.place || !index.has(place)) continue;
    out.push(line(`M${x(place)} ${y(layer)}V${y(layer + 1)}`, "--soft", 1.5));
  }
  for (const { layer, query, key, share } of joined(route.edges)) {
    if (!index.has(query)) continue;
    const own = query === column.place;
    const [from, to, up] = [x(key), x(query), y(layer + 1)];
    const bend = Math.min(to, from + 14 * g.unit);
    const d = `M${from} ${y(layer)}C${from} ${up} ${from} ${up} ${bend} ${up}L${to} ${up}`;
    out.push(line(d, own ? "--key" : "--soft", Math.max(1, Math.min(6 * g.unit, 26 * g.unit * share))));
  }
  for (const { layer, place, share } of route.feeds) {
    if (!index.has(place)) continue;
    const side = Math.max(3, Math.min(9, 22 * share)) * g.unit;
    const colour = place === column.place ? "--key" : "--soft";
    const shift = place === column.place ? side : 0;
    const more = { fill: css(colour), "pointer-events": "none", class: "gv-fedmark" };
    out.push(rect(x(place) - side / 2 - shift, y(layer + 1) - side / 2, side, side, more));
  }
  return out;
}

/** Edges of several heads between the same two places are one line, and none from a place to itself. */
function joined(/** @type {any[]} */ edges) {
  /** @type {Map<string, any>} */
  const found = new Map();
  for (const edge of edges) {
    if (edge.query === edge.key) continue;
    const name = `${edge.layer} ${edge.query} ${edge.key}`;
    const before = found.get(name);
    if (before) before.share += edge.share;
    else found.set(name, { ...edge });
  }
  return [...found.values()];
}

/** @param {string} d @param {string} colour @param {number} width */
const line = (d, colour, width) =>
  svg("path", { d, class: "gv-route", style: { stroke: css(colour), "stroke-width": width.toFixed(1) } });

// The cells of the map, made once for a geometry, so that a change of colour runs through them.
import { label, mix } from "../kit/colour.js";
import { svg } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";

/** @param {any} picture the svg @param {any} g the geometry @param {any} board */
export function drawCells(picture, g, board) {
  const stamp = [g.W, g.H, g.from, g.shown, board.layers, g.mapY].join();
  let group = picture.querySelector(".gv-g-cells");
  if (!group || group.dataset.stamp !== stamp) {
    group?.remove();
    group = svg("g", { class: "gv-g-cells", "data-stamp": stamp });
    for (let r = board.layers; r >= 0; r--) for (let c = g.from; c < g.from + g.shown; c++) group.append(cell(g, r, c));
    picture.prepend(group);
  }
  picture.querySelector(".gv-g-values")?.remove();
  const colour = board.reach ? moved(board) : ahead(g, board);
  const values = svg("g", { class: "gv-g-values", "pointer-events": "none" });
  const numbers = board.reach && g.cellH >= g.small * 1.5 && g.cw >= g.small * 3.3;
  let index = 0;
  for (let r = board.layers; r >= 0; r--)
    for (let c = g.from; c < g.from + g.shown; c++) {
      const node = group.children[index++];
      const { kind, share } = colour(r, c);
      node.dataset.kind = kind;
      node.style.fill = kind === "zero" ? "var(--void)" : mix("--card", `--${kind}`, share);
      node.style.setProperty(
        "--d",
        String(Math.min(40, Math.max(0, r - 1 - (Number.isFinite(g.first) ? g.first : 0)))),
      );
      if (numbers) values.append(value(g, r, c, board, kind, share));
    }
  group.after(values);
}

/** @param {any} g @param {number} r @param {number} c */
const cell = (g, r, c) =>
  svg("rect", {
    x: g.x(c) + 0.75,
    y: g.y(r),
    width: Math.max(1, g.cw - 1.5),
    height: g.high(r),
    rx: Math.min(2, g.cellH / 5),
    "data-row": r,
    "data-column": c,
  });

/** @param {any} g @param {number} r @param {number} c @param {any} board @param {string} kind @param {number} share */
function value(g, r, c, board, kind, share) {
  const x = board.reach.change[r * board.tokens.length + c];
  const words = x === 0 ? "0" : delta(x).replace(/^0\./, "0.");
  // not words: names of colours
  const colour = kind === "zero" ? "var(--soft)" : label("--card", `--${kind}`, share);
  return svg(
    "text",
    {
      x: g.x(c) + g.cw / 2,
      y: g.y(r) + g.high(r) / 2 + g.small * 0.35,
      "text-anchor": "middle",
      "font-size": g.small,
      style: { fill: colour },
      class: "gv-tok",
    },
    words.length * g.small * 0.6 > g.cw ? "" : words,
  );
}

/** Which cells have read what comes later, by the rule alone. @param {any} g @param {any} board */
function ahead(g, board) {
  return (/** @type {number} */ r, /** @type {number} */ c) => {
    const sees = g.ahead(r, c) && c < board.tokens.length - 1;
    return { kind: sees ? "warn" : "key", share: sees ? 0.34 : 0.13 };
  };
}

/** Which cells moved when one token was replaced: measured. @param {any} board */
function moved(board) {
  const { change, position, tolerance } = board.reach; // above 0 only for models whose experts cannot be run alone
  const T = board.tokens.length;
  let low = Infinity;
  let high = 0;
  for (const x of change) if (x > tolerance) [low, high] = [Math.min(low, x), Math.max(high, x)];
  const range = Math.log(Math.max(high / low, 1.0001));
  return (/** @type {number} */ r, /** @type {number} */ c) => {
    const x = change[r * T + c];
    if (x <= tolerance) return { kind: "zero", share: 0 };
    return { kind: c < position ? "warn" : "key", share: 0.34 + (0.6 * Math.log(x / low)) / range };
  };
}

/** A difference of logits as a share of ink: 0 for none. @param {number} x */
export const shadeOf = (x) => (x === 0 ? 0 : Math.min(1, 0.25 + 0.75 * Math.log10(1 + x)));

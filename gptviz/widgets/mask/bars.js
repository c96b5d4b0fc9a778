// The bars: over each token the probability that it was given before it was read, masks closed and as set.
import { svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { fit } from "./columns.js";

/** @param {any} g the geometry @param {any} board @returns {any[]} */
export function drawBars(g, board) {
  const base = g.barsY + g.barsH;
  const out = [
    svg("line", { class: "gv-base", x1: g.gutter, x2: g.W, y1: base + 0.5, y2: base + 0.5 }),
    ...legend(g, board),
  ];
  const wide = Math.min(22 * g.unit, g.cw * 0.38);
  for (let c = Math.max(1, g.from); c < g.from + g.shown; c++) {
    const middle = g.x(c) + g.cw / 2;
    const chosen = c - 1 === board.example && board.open.size > 0 && !board.reach;
    out.push(bar(middle - wide - 1, base, wide, board.closed[c - 1] * g.barsH, "gv-closed", c));
    out.push(bar(middle + 1, base, wide, board.open.size ? board.changed[c - 1] * g.barsH : 0, "gv-changed", c));
    if (g.cw >= 40 * g.unit) out.push(...numbers(g, board, c, wide, base));
    if (g.label.level) out.push(word(g, board, c, chosen));
    out.push(link(g, c, chosen));
    if (chosen) out.push(head(g, c));
  }
  return out;
}

const bar = (
  /** @type {number} */ x,
  /** @type {number} */ base,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {string} */ name,
  /** @type {number} */ c,
) =>
  svg("rect", {
    class: name,
    x,
    width,
    y: base - Math.max(1, height),
    height: Math.max(1, height),
    rx: Math.min(2, height / 2),
    "data-column": c,
  });

/** Whole per cent over the bars; the unit stands in the legend. */
function numbers(
  /** @type {any} */ g,
  /** @type {any} */ board,
  /** @type {number} */ c,
  /** @type {number} */ wide,
  /** @type {number} */ base,
) {
  const middle = g.x(c) + g.cw / 2;
  const one = (/** @type {number} */ p, /** @type {number} */ x, /** @type {string} */ name) =>
    svg(
      "text",
      {
        class: `gv-p ${name}`,
        x,
        y: base - Math.max(1, p * g.barsH) - 4 * g.unit,
        "text-anchor": "middle",
        "font-size": g.small,
      },
      short(p),
    );
  const both = [one(board.closed[c - 1], middle - wide / 2 - 1, "gv-key")];
  if (board.open.size) both.push(one(board.changed[c - 1], middle + wide / 2 + 1, "gv-warn"));
  return both;
}

/** @param {number} p */
const short = (p) => (p === 0 ? "0" : p < 0.005 ? "<1" : p > 0.995 ? ">99" : String(Math.round(100 * p)));

/** @param {any} g @param {any} board @param {number} c @param {boolean} chosen */
const word = (g, board, c, chosen) =>
  svg(
    "text",
    {
      class: `gv-tok${chosen ? " gv-chosen" : ""}`,
      x: g.x(c) + g.cw / 2,
      y: g.topWordsY + 1.05 * g.fs,
      "text-anchor": "middle",
      "font-size": g.fs,
    },
    fit(board.tokens[c], g.cw - 3, g.fs),
  );

/**
 * From the column that guesses to the token it guesses: one to the right.
 * @param {any} g
 * @param {number} c
 * @param {boolean} chosen
 */
function link(g, c, chosen) {
  const x1 = g.x(c - 1) + g.cw / 2;
  const x2 = g.x(c) + g.cw / 2;
  const top = g.linkY + 2;
  const bottom = g.linkY + g.linkH - 3;
  if (c - 1 < g.from) return null;
  return svg("path", {
    class: `gv-linkline${chosen ? " gv-chosen" : ""}`,
    d: `M${x1} ${bottom}C${x1} ${top} ${x2} ${bottom} ${x2} ${top}`,
  });
}

/** @param {any} g @param {number} c */
const head = (g, c) => {
  const [x, y] = [g.x(c) + g.cw / 2, g.linkY];
  return svg("path", { class: "gv-arrow", d: `M${x - 5} ${y + 6}L${x} ${y - 2}L${x + 5} ${y + 6}Z` });
};

/** What the two colours are, with the mean surprise of each. @param {any} g @param {any} board */
function legend(g, board) {
  if (g.phone) return [];
  const size = 12.5 * g.unit;
  const line = (/** @type {number} */ row, /** @type {string} */ name, /** @type {string} */ words) =>
    svg("text", { class: name, x: 0, y: g.barsY + size * (0.9 + 1.35 * row), "font-size": size }, words);
  const low = board.reach !== null;
  const out = low ? [] : [line(0, "", text("mask.legend_1")), line(1, "", text("mask.legend_2"))];
  const first = low ? 0 : 2.4;
  out.push(
    line(first, "gv-key", text("mask.legend_closed")),
    line(first + 1, "gv-key gv-num", text("mask.loss", { loss: board.loss.closed })),
  );
  if (board.open.size) {
    const next = first + (low ? 2.15 : 2.4);
    const name =
      board.open.size === board.layers && board.direction === "none" ? "mask.legend_open" : "mask.legend_set";
    out.push(
      // words: mask.legend_open mask.legend_set
      line(next, "gv-warn", text(name)),
      line(next + 1, "gv-warn gv-num", text("mask.loss", { loss: board.loss.changed })),
    );
  }
  const y = g.linkY + g.linkH / 2 + g.small * 0.35;
  out.push(svg("text", { x: g.gutter - 8, y, "text-anchor": "end", "font-size": g.small }, text("mask.guesses_next")));
  return out;
}

/** For the table. @param {any} board */
export function rowsOf(board) {
  return board.closed.map((/** @type {number} */ p, /** @type {number} */ t) => [
    board.tokens[t + 1],
    board.tokens[t],
    percent(p),
    percent(board.changed[t]),
  ]);
}

// The example's way: from the answer at the bottom one column to the left, up, and into the guess over it.
import { svg } from "../kit/dom.js";
import { text } from "../kit/words.js";

/** @param {any} g the geometry @param {any} board @returns {any[]} */
export function drawPath(g, board) {
  if (board.reach) return column(g, board);
  const t = board.example; // this position guesses token t + 1
  if (t < 0 || t < g.from || t + 1 >= g.from + g.shown) return [];
  const open = board.open.size > 0;
  const from = g.x(t + 1) + g.cw / 2;
  const to = g.x(t) + g.cw / 2;
  const bottom = g.y(0) + g.high(0) + 2;
  const row = open ? Math.min(g.first, board.layers - 1) + 1 : 1;
  const cross = g.y(row) + g.high(row) / 2;
  const rise = Math.min(3 * g.rowH + 16, (bottom - g.mapY) / 3);
  const above = Math.max(g.mapY, cross - rise);
  const turn = `C${from} ${cross - rise * 0.25} ${to} ${cross} ${to} ${above}`;
  const d = `M${from} ${bottom}V${cross + Math.min(8, bottom - cross)}${turn}V${g.mapY - 2}`;
  const out = [
    svg("path", {
      class: open ? "gv-route" : "gv-route gv-shut",
      d: open ? d : `M${from} ${bottom}V${cross}H${g.x(t + 1) + 5}`,
    }),
  ];
  if (!open)
    out.push(
      svg("line", {
        class: "gv-stop",
        x1: g.x(t + 1),
        x2: g.x(t + 1),
        y1: cross - 11 * g.unit,
        y2: cross + 11 * g.unit,
      }),
    );
  out.push(caption(g, board, t, open, (g.mapY + bottom) / 2));
  return out;
}

/** @param {any} g @param {any} board @param {number} t @param {boolean} open @param {number} y */
function caption(g, board, t, open, y) {
  if (g.phone) return null;
  const words = text(open ? "mask.path_open" : "mask.path_closed", {
    token: board.tokens[t],
    answer: board.tokens[t + 1],
  });
  const size = 15 * g.unit;
  const left = g.x(t) + g.cw / 2 + 14 + (open ? g.cw * 0.25 : g.cw * 0.8);
  const room = words.length * size * 0.5;
  const right = left + room > g.W;
  const x = right ? g.x(t) + g.cw / 2 - 14 : left;
  return svg(
    "text",
    {
      class: `gv-caption${open ? " gv-warn" : " gv-key"}`,
      x,
      y: y + size * 0.35,
      "font-size": size,
      "text-anchor": right ? "end" : "start",
    },
    words,
  );
}

/** The replaced column, framed. @param {any} g @param {any} board */
function column(g, board) {
  const c = board.reach.position;
  if (c < g.from || c >= g.from + g.shown) return [];
  const y = g.mapY - 3;
  return [
    svg("rect", {
      class: "gv-frameline",
      x: g.x(c) - 1,
      y,
      width: g.cw + 2,
      height: g.y(0) + g.high(0) - y + 4,
      rx: 3,
    }),
  ];
}

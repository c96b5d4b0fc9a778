// The two runs over one set of columns, and the cut between what they share and what they do not.
import { svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { fit } from "../mask/columns.js";

/**
 * @param {any} g geometry: x, cw, fs, from, shown, gutter, phone, unit, stripY, rowH
 * @param {string[]} tokens @param {string[]} other @param {number} keep
 * @returns {any[]}
 */
export function drawStrip(g, tokens, other, keep) {
  const out = [];
  for (let row = 0; row < 2; row++) {
    const y = g.stripY + row * (g.rowH + 3);
    if (!g.phone) out.push(svg("text", { x: 0, y: y + g.rowH * 0.68, "font-size": 13 * g.unit }, text(row ? "prefix.second" : "prefix.first")));
    for (let c = g.from; c < g.from + g.shown; c++) out.push(...cell(g, row ? other[c] : tokens[c], c, y, c < keep ? "gv-same" : row ? "gv-other" : "gv-rest"));
  }
  return out;
}

/** @param {any} g @param {string | undefined} token @param {number} c @param {number} y @param {string} kind */
function cell(g, token, c, y, kind) {
  const gone = token === undefined;
  const box = svg("rect", { class: `gv-tile ${gone ? "gv-nothing" : kind}`, x: g.x(c) + 1, y, width: Math.max(1, g.cw - 2), height: g.rowH, rx: 3, "data-column": c });
  if (gone || g.cw < 15) return [box];
  const size = Math.min(13.5 * g.unit, Math.max(9 * g.unit, g.cw / 4.2));
  return [box, svg("text", { class: `gv-tok gv-on-${kind}`, x: g.x(c) + g.cw / 2, y: y + g.rowH * 0.69, "text-anchor": "middle", "font-size": size, "pointer-events": "none" }, fit(token, g.cw - 4, size))];
}

/** The cut with its handle. @param {any} g @param {number} keep @param {number} total @param {number} bottom @param {string} method */
export function drawCut(g, keep, total, bottom, method) {
  const x = Math.max(g.gutter, Math.min(g.W, g.x(keep)));
  const y = g.stripY - g.handleH - 3;
  const size = 13 * g.unit;
  const wide = 26 * g.unit;
  return [
    svg("line", { class: "gv-cut", x1: x, x2: x, y1: y + g.handleH, y2: bottom }),
    svg("rect", { class: "gv-handle", x: x - wide / 2, y, width: wide, height: g.handleH, rx: 6, tabindex: 0, role: "slider", "aria-label": text("prefix.cut"),
      "aria-valuemin": 1, "aria-valuemax": total - 1, "aria-valuenow": keep, "aria-valuetext": text("prefix.cut_at", { keep }) }),
    svg("path", { class: "gv-grip", d: `M${x - 7} ${y + g.handleH / 2}l4 -4v8zM${x + 7} ${y + g.handleH / 2}l-4 -4v8z` }),
    svg("text", { class: "gv-key", x: x - wide / 2 - 6, y: y + g.handleH * 0.72, "text-anchor": "end", "font-size": size }, text("prefix.same")),
    svg("text", { class: "gv-warn", x: x + wide / 2 + 6, y: y + g.handleH * 0.72, "font-size": size }, text(method === "edit" ? "prefix.others" : "prefix.nothing")),
  ]; // prettier-ignore
}

/**
 * Make the cut in a picture movable: by pointer, by a press on a token, by arrow keys.
 * @param {any} picture @param {() => any} geometry @param {(keep: number, done: boolean) => void} move
 */
export function watchCut(picture, geometry, move) {
  let dragging = false;
  let last = 0;
  const at = (/** @type {any} */ event) => {
    const g = geometry();
    const x = event.clientX - picture.getBoundingClientRect().left;
    return Math.max(1, Math.min(g.total - 1, g.from + Math.round((x - g.gutter) / g.cw)));
  };
  picture.addEventListener("pointerdown", (/** @type {any} */ event) => {
    if (!event.target.classList?.contains("gv-handle")) return;
    dragging = true;
    last = 0;
    picture.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  picture.addEventListener("pointermove", (/** @type {any} */ event) => {
    if (!dragging) return;
    const keep = at(event);
    if (keep !== last) move((last = keep), false);
  });
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, () => {
      if (dragging && last) move(last, true);
      dragging = false;
    });
  picture.addEventListener("click", (/** @type {any} */ event) => {
    const tile = event.target.classList?.contains("gv-tile");
    const g = geometry();
    if (tile) move(Math.max(1, Math.min(g.total - 1, Number(event.target.dataset.column) + 1)), true);
  });
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const g = geometry();
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    const keep = event.key === "Home" ? 1 : event.key === "End" ? g.total - 1 : step ? g.keep + step : 0;
    if (!(/** @type {any} */ (event.target).classList.contains("gv-handle")) || !keep) return;
    event.preventDefault();
    move(Math.max(1, Math.min(g.total - 1, keep)), true);
  });
}

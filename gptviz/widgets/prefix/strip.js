// The two runs over one set of columns, and the cut between what they share and what they do not.
import { svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { fit } from "../mask/columns.js";

/** The picture that stands on these columns, moved in by keys. @param {string} label @returns {any} */
export const picture = (label) =>
  svg("svg", { class: "gv-checkboard", tabindex: "0", role: "application", "aria-label": label });

/**
 * @param {any} g geometry
 * @param {string[]} tokens
 * @param {string[]} other
 * @returns {any[]}
 */
export function drawStrip(g, tokens, other) {
  const out = [];
  for (let row = 0; row < 2; row++) {
    const y = g.stripY + row * (g.rowH + 3);
    const name = { x: 0, y: y + g.rowH * 0.68, "font-size": 13 * g.unit };
    if (!g.phone) out.push(svg("text", name, text(row ? "prefix.second" : "prefix.first")));
    for (let c = g.from; c < g.from + g.shown; c++) {
      const kind = c < g.keep ? "same" : row ? "other" : "rest";
      out.push(...tile(g, row ? other[c] : tokens[c], c, y, kind));
    }
  }
  return [...out, ...beyond(g)];
}

/** How many columns stand outside the window. @param {any} g */
function beyond(g) {
  const after = g.total - g.from - g.shown;
  const more = (/** @type {number} */ n, /** @type {any} */ place) =>
    svg("text", { y: g.stripY - g.handleH * 0.45, "font-size": 12 * g.unit, ...place }, text("prefix.more", { n }));
  return [g.from > 0 && more(g.from, { x: g.gutter }), after > 0 && more(after, { x: g.W, "text-anchor": "end" })];
}

/** @param {any} g @param {string | undefined} token @param {number} c @param {number} y @param {string} kind */
function tile(g, token, c, y, kind) {
  const name = token === undefined ? "gv-tile gv-nothing" : `gv-tile gv-${kind}`;
  const place = { x: g.x(c) + 1, y, width: Math.max(1, g.cw - 2), height: g.rowH, rx: 3 };
  const box = svg("rect", { class: name, ...place, "data-column": c });
  if (token === undefined || g.cw < 19) return [box];
  const size = Math.min(13.5 * g.unit, Math.max(9 * g.unit, g.cw / 4.2));
  const at = { x: g.x(c) + g.cw / 2, y: y + g.rowH * 0.69, "text-anchor": "middle", "font-size": size };
  return [
    box,
    svg("text", { class: `gv-tok gv-on-${kind}`, ...at, "pointer-events": "none" }, fit(token, g.cw - 4, size)),
  ];
}

/** The cut with its handle. @param {any} g @param {string} method @returns {any[]} */
export function drawCut(g, method) {
  const x = g.x(g.keep);
  const y = g.stripY - g.handleH - 3;
  const [middle, base] = [y + g.handleH / 2, y + g.handleH * 0.72];
  const wide = 26 * g.unit;
  const size = 13 * g.unit;
  const handle = { x: x - wide / 2, y, width: wide, height: g.handleH, rx: 6 };
  const spoken = {
    role: "slider",
    "aria-label": text("prefix.cut"),
    "aria-valuemin": 1,
    "aria-valuemax": g.total - 1,
    "aria-valuenow": g.keep,
    "aria-valuetext": text("prefix.cut_at", { keep: g.keep }),
  };
  const left = { class: "gv-key", x: x - wide / 2 - 6, y: base, "text-anchor": "end", "font-size": size };
  const right = { class: "gv-warn", x: x + wide / 2 + 6, y: base, "font-size": size };
  const wings = `M${x - 7} ${middle}l4 -4v8zM${x + 7} ${middle}l-4 -4v8z`;
  return [
    svg("line", { class: "gv-cut", x1: x, x2: x, y1: y + g.handleH, y2: g.stripEnd + 5 }),
    svg("rect", { class: "gv-handle", tabindex: 0, ...handle, ...spoken }),
    svg("path", { class: "gv-grip", d: wings }),
    x - g.gutter > 60 && svg("text", left, text("prefix.same")),
    g.W - x > 110 && svg("text", right, text(method === "edit" ? "prefix.others" : "prefix.nothing")),
  ];
}

const STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowDown", -1],
  ["ArrowRight", 1],
  ["ArrowUp", 1],
  ["PageDown", -5],
  ["PageUp", 5],
  ["Home", -1e6],
  ["End", 1e6],
]);

/**
 * Make the cut in a picture movable: by pointer, by a press on a token, by arrow keys.
 * @param {any} picture
 * @param {() => any} geometry
 * @param {(keep: number, done: boolean) => void} move
 */
export function watchCut(picture, geometry, move) {
  let dragging = false;
  let last = 0;
  const within = (/** @type {number} */ keep) => Math.max(1, Math.min(geometry().total - 1, keep));
  const handle = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).classList.contains("gv-handle");
  picture.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (!handle(event)) return;
    dragging = true;
    last = 0;
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!dragging) return;
    const g = geometry();
    const x = event.clientX - picture.getBoundingClientRect().left;
    const keep = within(g.from + Math.round((x - g.gutter) / g.cw));
    if (keep !== last) move((last = keep), false);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    picture.addEventListener(end, () => {
      if (dragging && last) move(last, true);
      dragging = false;
    });
  }
  picture.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const target = /** @type {any} */ (event.target);
    if (target.classList.contains("gv-tile")) move(within(Number(target.dataset.column) + 1), true);
  });
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = STEPS.get(event.key);
    if (!step || !handle(event)) return;
    event.preventDefault();
    move(within(geometry().keep + step), true);
  });
}

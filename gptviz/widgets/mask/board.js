// The board: what each guess is worth on top, the layers below, one column a token; output on top, as in the model.
import { mix } from "../kit/colour.js";
import { el, fill, svg } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { drawBars } from "./bars.js";
import { drawCells, shadeOf } from "./cells.js";
import { fit, labelling, windowOf } from "./columns.js";
import { drawPath } from "./path.js";

/**
 * @typedef {object} Board what is drawn
 * @property {string[]} tokens
 * @property {number} layers
 * @property {number[]} closed p of the true next token, masks closed
 * @property {number[]} changed the same, masks as set
 * @property {Set<number>} open layers whose mask is open
 * @property {string} direction
 * @property {any} reach the contamination map, or null
 * @property {number} example the position whose guess is the example, or -1
 * @property {{ closed: number, changed: number }} loss
 */

/** @param {any} app @param {{ layer: (l: number) => void, column: (t: number) => void }} on */
export function createBoard(app, on) {
  const picture = svg("svg", { class: "gv-board", tabindex: "0", role: "application", "aria-label": text("mask.board") });
  const over = el("canvas", { class: "gv-overview", hidden: true });
  const keys = el("p", { class: "gv-legend" });
  const root = el("div", { class: "gv-boardbox" }, picture, over, keys);
  /** @type {Board | null} */
  let board = null;
  /** @type {any} */
  let g = null; // the geometry
  /** @type {number | null} */
  let from = null; // the window's first column, when the reader moved it
  let cursor = { row: -1, column: 0 }; // row -1: the bars

  function draw(/** @type {Board} */ next, fresh = false) {
    if (fresh || !board || board.tokens !== next.tokens) from = null;
    board = next;
    paint();
  }

  function paint() {
    if (!board) return;
    const focus = board.reach ? board.reach.position : Math.max(0, board.example);
    g = geometry(app.parts.stage.size(), root, board, focus, from);
    picture.setAttribute("viewBox", `0 0 ${g.W} ${g.H}`);
    picture.setAttribute("width", g.W);
    picture.setAttribute("height", g.H);
    drawCells(picture, g, board);
    fill(part("gv-g-rest"), ...words(), ...drawBars(g, board), ...names(), ...drawPath(g, board), svg("rect", { class: "gv-cursor" }));
    mark();
    overview();
    const kinds = board.reach ? ["zero", "key", "warn"] : ["past", "ahead"];
    fill(keys, ...kinds.map((kind) => el("span", null, el("i", { class: `gv-sw gv-sw-${kind}` }), text(`mask.key_${kind}`))));
    // words: mask.key_past mask.key_ahead
  }

  /** @param {string} name */
  function part(name) {
    return picture.querySelector(`.${name}`) || picture.appendChild(svg("g", { class: name }));
  }

  /** The tokens under the columns, and the replaced one struck out. */
  function words() {
    const { tokens, reach } = /** @type {Board} */ (board);
    const out = [];
    for (let c = g.from; c < g.from + g.shown; c++) {
      const swapped = reach && reach.position === c;
      const nodes = token(tokens[c], c, g.wordsY, swapped ? "gv-tok gv-gone" : "gv-tok");
      if (nodes) out.push(nodes);
      if (swapped) out.push(token(reach.replacement, c, g.wordsY + (g.label.level ? 1.35 * g.fs : 0), "gv-tok gv-new", true));
    }
    return out;
  }

  /** @param {string} word @param {number} c @param {number} y @param {string} name */
  function token(word, c, y, name, always = false) {
    if (!always && (c - g.from) % g.label.every) return null;
    const x = g.x(c) + g.cw / 2;
    if (g.label.level) return svg("text", { class: name, x, y: y + g.fs, "text-anchor": "middle", "font-size": g.fs }, fit(word, g.cw - 3, g.fs));
    const shift = name.includes("gv-new") ? g.fs : 0;
    return svg("text", { class: name, "font-size": g.fs, "text-anchor": "end", transform: `translate(${x + 4 + shift} ${y + 4}) rotate(-60)` },
      fit(word, g.labelH * 1.12, g.fs)); // prettier-ignore
  }

  /** The layers' names and masks: pressing one takes its mask away. */
  function names() {
    const { layers, open } = /** @type {Board} */ (board);
    const every = g.rowH >= g.small * 1.1 ? 1 : 5;
    const out = [];
    for (let l = 0; l < layers; l++) {
      const y = g.y(l + 1);
      const named = l % every === 0 || l === layers - 1 || (open.has(l) && open.size < 3);
      const crowd = [...open].some((o) => open.size < 3 && o !== l && Math.abs(o - l) * g.rowH < g.small);
      const label = g.phone ? String(l) : text("mask.layer", { l });
      out.push(
        svg("g", { class: `gv-lay${open.has(l) ? " gv-open" : ""}`, "data-layer": l },
          svg("rect", { class: "gv-hit", x: 0, y: y - g.gap / 2, width: g.gutter, height: g.rowH }),
          svg("rect", { class: "gv-lock", x: g.gutter - 8 - g.chip, y: y + 0.5, width: g.chip, height: g.cellH - 1, rx: 2 }),
          named && !crowd && svg("text", { x: g.gutter - 13 - g.chip, y: y + g.cellH / 2 + g.small * 0.35, "text-anchor": "end", "font-size": g.small }, label)),
      ); // prettier-ignore
    }
    const e = g.y(0) + g.high(0) / 2 + g.small * 0.35;
    if (!g.phone) out.push(svg("text", { x: g.gutter - 8, y: e, "text-anchor": "end", "font-size": g.small }, text("mask.embedding")));
    return out;
  }

  /** Where the pointer or the arrow keys are. */
  function mark() {
    const node = picture.querySelector(".gv-cursor");
    const seen = document.activeElement === picture;
    if (!node) return;
    node.setAttribute("visibility", seen ? "visible" : "hidden");
    const { row, column } = cursor;
    const [y, height] = row === -1 ? [g.barsY, g.barsH] : [g.y(row), g.high(row)];
    const [x, width] = column < 0 ? [0, g.gutter - 4] : [g.x(column), g.cw];
    for (const [name, value] of Object.entries({ x, y, width, height })) node.setAttribute(name, value);
  }

  function overview() {
    over.hidden = g.all;
    if (g.all) return;
    const width = g.W - g.gutter;
    over.width = Math.round(width);
    over.height = 16;
    over.style.left = `${g.gutter}px`;
    const c = over.getContext("2d");
    const { tokens, changed, closed, reach } = /** @type {Board} */ (board);
    const step = width / tokens.length;
    for (let t = 0; t < tokens.length; t++) {
      const size = reach ? shadeOf(reach.logit_change[t]) : t ? Math.max(changed[t - 1], closed[t - 1]) : 0;
      c.fillStyle = mix("--grid", reach && t < reach.position ? "--warn" : "--key", size);
      c.fillRect(t * step, 0, Math.max(1, step), 16);
    }
    c.strokeStyle = mix("--warn", "--warn", 1);
    c.lineWidth = 2;
    c.strokeRect(g.from * step + 1, 1, g.shown * step - 2, 14);
  }

  // Pointing, pressing, and the keyboard

  /** @param {any} event */
  function at(event) {
    const box = picture.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const column = x < g.gutter ? -1 : Math.min(g.from + g.shown - 1, g.from + Math.floor((x - g.gutter) / g.cw));
    return { row: y < g.mapY ? -1 : g.rowAt(y), column };
  }

  function speak(/** @type {{ row: number, column: number } | null} */ place) {
    app.parts.stage.point(place && board ? told(place) : null);
  }

  function told(/** @type {{ row: number, column: number }} */ { row, column }) {
    const b = /** @type {Board} */ (board);
    const layer = row - 1;
    if (column < 0) {
      if (layer < 0) return null;
      return phrase(b.open.has(layer) ? "mask.tell_open" : "mask.tell_closed", { l: layer, leak: app.known[`leak_${layer}`] });
    }
    const token = b.tokens[column];
    if (row === -1) {
      if (!column) return phrase("mask.tell_first", { token });
      const values = { token, before: b.tokens[column - 1], closed: b.closed[column - 1], changed: b.changed[column - 1] };
      return phrase(b.open.size ? "mask.tell_bar" : "mask.tell_bar_closed", values);
    }
    if (!b.reach) return phrase(g.ahead(row, column) ? "mask.tell_ahead" : "mask.tell_past", { token, l: layer });
    const change = b.reach.change[row * b.tokens.length + column];
    const key = change === 0 ? "mask.tell_zero" : column < b.reach.position ? "mask.tell_leak" : "mask.tell_moved";
    return phrase(row ? key : `${key}_0`, { token, l: layer, change, old: b.tokens[b.reach.position], now: b.reach.replacement });
    // words: mask.tell_zero_0 mask.tell_leak_0 mask.tell_moved_0
  }

  function press(/** @type {{ row: number, column: number }} */ { row, column }) {
    if (!board) return;
    if (column < 0 && row > 0) on.layer(row - 1);
    else if (column >= 0) on.column(column);
  }

  picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => g && speak(at(event)));
  picture.addEventListener("pointerleave", () => speak(null));
  picture.addEventListener("click", (/** @type {MouseEvent} */ event) => g && press(at(event)));
  picture.addEventListener("focus", () => (clamp(), mark(), speak(cursor)));
  picture.addEventListener("blur", () => (mark(), speak(null)));
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
    if (!board || (!step && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    if (!step) return press(cursor);
    move(step);
  });

  /** @param {number[]} step rows upwards, columns to the right */
  function move([up, right]) {
    const { layers } = /** @type {Board} */ (board);
    let row = cursor.row === -1 ? layers + 1 : cursor.row; // the bars stand above the last layer
    row = Math.max(0, Math.min(layers + 1, row + up));
    cursor = { row: row > layers ? -1 : row, column: cursor.column + right };
    clamp();
    if (cursor.column >= 0 && (cursor.column < g.from || cursor.column >= g.from + g.shown)) {
      from = Math.max(0, cursor.column - (right > 0 ? g.shown - 1 : 0));
      paint();
    }
    mark();
    speak(cursor);
  }

  function clamp() {
    if (!board) return;
    cursor.column = Math.max(-1, Math.min(board.tokens.length - 1, cursor.column));
    if (cursor.row > board.layers) cursor.row = board.layers;
  }

  const drag = (/** @type {PointerEvent} */ event) => {
    if (!board || !(event.buttons & 1)) return;
    const box = over.getBoundingClientRect();
    const middle = ((event.clientX - box.left) / box.width) * board.tokens.length;
    from = Math.round(middle - g.shown / 2);
    paint();
  };
  over.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => (over.setPointerCapture(event.pointerId), drag(event)));
  over.addEventListener("pointermove", drag);

  return { root, draw, paint };
}

/**
 * Where everything stands. x(column), y(row): row 0 is the embedding, row l + 1 what layer l leaves.
 * @param {{ width: number, height: number, unit: number }} size @param {HTMLElement} root @param {Board} board
 * @param {number} focus @param {number | null} wanted
 */
function geometry(size, root, board, focus, wanted) {
  const { unit } = size;
  const W = root.clientWidth || size.width;
  const H = root.clientHeight || size.height;
  const phone = W < 520;
  const gutter = (phone ? 42 : 124) * unit;
  const columns = windowOf(board.tokens.length, W - gutter, unit, focus, wanted);
  const cw = columns.width;
  const fs = Math.min(13.5 * unit, Math.max(10.5 * unit, cw / 4.4));
  const label = labelling(cw, fs);
  const labelH = label.level ? 2.7 * fs : (phone ? 44 : 58) * unit;
  const small = 11.5 * unit;
  const linkH = 24 * unit;
  const bottom = labelH + (columns.all ? 0 : 24) + 22 * unit;
  const topWords = label.level ? 1.6 * fs : 2;
  const barsY = 18 * unit;
  const share = board.reach ? 0.28 : 0.42;
  const barsH = Math.max(36, (H - bottom) * share - barsY - topWords - linkH);
  const mapY = barsY + barsH + topWords + linkH;
  const room = H - bottom - mapY - 4 * unit;
  const low = Math.min(room / (board.layers + 1), 22 * unit); // the embedding's row
  const rowH = (room - low) / board.layers;
  const gap = rowH > 8 ? 1.5 : rowH > 4 ? 1 : 0.5;
  const y = (/** @type {number} */ row) => mapY + (board.layers - row) * rowH + (row === 0 ? 4 * unit : 0);
  const first = Math.min(Infinity, ...board.open);
  return {
    W, H, unit, phone, gutter, cw, fs, label, labelH, small, linkH, barsY, barsH, mapY, rowH, gap, y,
    chip: (phone ? 16 : 26) * unit,
    cellH: rowH - gap,
    high: (/** @type {number} */ row) => Math.max(1, (row ? rowH : low) - gap),
    wordsY: H - bottom + (label.level ? 3 : 2) * unit,
    topWordsY: barsY + barsH + 2,
    linkY: barsY + barsH + topWords,
    from: columns.from, shown: columns.shown, all: columns.all, first,
    x: (/** @type {number} */ column) => gutter + (column - columns.from) * cw,
    rowAt: (/** @type {number} */ py) => Math.max(0, Math.min(board.layers, board.layers - Math.floor((py - mapY) / rowH))),
    ahead: (/** @type {number} */ row, /** @type {number} */ column) => row - 1 >= first && column < board.tokens.length - 1,
  }; // prettier-ignore
}

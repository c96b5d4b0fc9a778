// One head large: rows ask, columns are read. Cells on a canvas, what points at them above it.
import { css, label, mix } from "../kit/colour.js";
import { canvas, el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { createArcs } from "./arcs.js";
import { framed } from "./layout.js";

/**
 * @param {{ pick: (row: number, col: number) => void, point: (row: number, col: number) => void, leave: () => void, centre: (col: number) => void }} on
 */
export function createMatrix(on) {
  const node = el("canvas", { tabindex: "0", role: "application", class: "gv-cells" });
  const arcs = createArcs();
  const strip = el("canvas", { class: "gv-strip", "aria-hidden": "true" });
  const root = el("div", { class: "gv-matrix" }, strip, node, arcs.root);
  /** @type {any} */
  let m = null;
  /** @type {any} */
  let g = null; // geometry
  /** @type {[number, number] | null} */
  let cursor = null;

  /** What fits: rows and columns that will be drawn, so that the page can ask for them. */
  function frame(/** @type {number} */ T, /** @type {number} */ at, /** @type {number} */ centre) {
    const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
    const width = root.clientWidth;
    const height = root.clientHeight;
    const narrow = width < 420 * unit;
    const lab = Math.round((narrow ? 54 : 72) * unit);
    const tl = Math.round((narrow ? 44 : 58) * unit);
    const over = T * 11.5 * unit > Math.min(width - lab, height - tl) && T > 2 ? Math.round(30 * unit) : 0;
    const found = framed(T, at, centre, width - lab - 14 * unit, height - tl - over - 2, unit);
    g = { ...found, T, unit, lab, tl: tl + over, over: found.whole ? 0 : over, width, height, size: Math.round((narrow ? 11 : 13) * unit) };
    return g;
  }

  /** @param {any} model tokens, at, col, stage, one, rest, value(i, j), seen(i, j), row: all weights of the asking row */
  function draw(model) {
    m = model;
    node.setAttribute("aria-label", text("attention.matrix_label"));
    const c = canvas(node, g.width, g.height);
    cells(c);
    labels(c);
    frameRow(c);
    if (g.over) overview();
    strip.hidden = !g.over;
    arcs.draw(m.arcs ? arcsOf() : null, g);
  }

  /** @param {CanvasRenderingContext2D} c */
  function cells(c) {
    const { cell, lab, tl, rows, cols } = g;
    const digits = Math.round(Math.min(14 * g.unit, cell * 0.37));
    c.textBaseline = "middle";
    c.textAlign = "center";
    c.font = `${digits}px ${family("--mono")}`;
    rows.forEach((/** @type {number} */ i, /** @type {number} */ r) => {
      const faint = m.one && i !== m.at;
      cols.forEach((/** @type {number} */ j, /** @type {number} */ k) => {
        const x = lab + k * cell;
        const y = tl + r * cell;
        const look = shade(i, j, faint);
        c.fillStyle = look.hatched ? hatching(c) : look.colour;
        c.fillRect(x, y, cell - 1, cell - 1);
        if (!look.words || cell < 22 * Math.min(1, g.unit) || digits < 8) return;
        c.fillStyle = look.ink;
        c.fillText(look.words, x + (cell - 1) / 2, y + cell / 2);
      });
    });
  }

  /** A row's smallest and largest score: softmax compares within a row only. @param {number} i */
  function range(i) {
    let low = Infinity;
    let high = -Infinity;
    for (const j of g.cols) {
      const x = m.value(i, j);
      if (Number.isFinite(x)) [low, high] = [Math.min(low, x), Math.max(high, x)];
    }
    return [low, high];
  }

  /** @param {number} i @param {number} j @param {boolean} faint */
  function shade(i, j, faint) {
    const x = m.value(i, j);
    const weights = m.stage === "weights";
    if (weights && m.rest && j === 0) return { hatched: true, colour: "", words: "", ink: "" };
    if (!m.seen(i, j) && m.stage !== "scores") {
      const words = m.stage === "masked" ? "−∞" : "";
      return { hatched: m.stage === "masked", colour: css("--void"), words, ink: css("--soft") };
    }
    if (weights) {
      const t = Math.sqrt(x) * (faint ? 0.22 : 1);
      const words = !faint && x >= 0.015 ? String(Math.round(100 * x)) : "";
      return { hatched: false, colour: mix("--grid", "--key", t), words, ink: label("--grid", "--key", t) };
    }
    const to = m.seen(i, j) ? "--key" : "--warn";
    const [low, high] = range(i);
    const t = high > low ? ((x - low) / (high - low)) * 0.85 : 0.5;
    const words = Math.abs(x) < 9.95 ? x.toFixed(1).replace("-", "−").replace("−0.0", "0.0") : String(Math.round(x)).replace("-", "−");
    return { hatched: false, colour: mix("--grid", to, t), words, ink: label("--grid", to, t) };
  }

  /** @param {CanvasRenderingContext2D} c */
  function labels(c) {
    const { cell, lab, tl, rows, cols, size, unit } = g;
    c.textBaseline = "middle";
    const strong = `500 ${size}px ${family("--mono")}`;
    const plain = `${size}px ${family("--mono")}`;
    rows.forEach((/** @type {number} */ i, /** @type {number} */ r) => {
      const mine = i === m.at;
      c.font = mine ? strong : plain;
      c.fillStyle = css(mine ? "--ink" : "--soft");
      c.textAlign = "right";
      c.fillText(shorten(c, m.tokens[i], lab - 8), lab - 7, tl + (r + 0.5) * cell);
    });
    cols.forEach((/** @type {number} */ j, /** @type {number} */ k) => {
      const read = m.targets.has(j);
      c.save();
      c.translate(lab + (k + 0.5) * cell + size * 0.1, tl - 6 * unit);
      c.rotate(-0.95);
      c.font = read ? strong : plain;
      c.fillStyle = css(read ? "--ink" : "--soft");
      c.textAlign = "left";
      c.fillText(shorten(c, m.tokens[j], (tl - g.over) * 1.1), 0, 0);
      c.restore();
      if (k && j !== cols[k - 1] + 1) gap(c, lab + k * cell);
    });
  }

  /** Columns are left out here. @param {CanvasRenderingContext2D} c @param {number} x */
  function gap(c, x) {
    c.strokeStyle = css("--ink");
    c.setLineDash([2, 3]);
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x - 0.5, g.tl - 4);
    c.lineTo(x - 0.5, g.tl + g.rows.length * g.cell);
    c.stroke();
    c.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} c */
  function frameRow(c) {
    const r = g.rows.indexOf(m.at);
    if (r < 0 || !m.one) return;
    c.strokeStyle = css("--warn");
    c.lineWidth = 2;
    c.strokeRect(g.lab - 1.5, g.tl + r * g.cell - 1.5, g.cols.length * g.cell + 2, g.cell + 2);
    if (cursor && g.rows.includes(cursor[0]) && g.cols.includes(cursor[1]) && document.activeElement === node) {
      const [i, j] = cursor;
      c.strokeStyle = css("--ink");
      c.strokeRect(g.lab + g.cols.indexOf(j) * g.cell, g.tl + g.rows.indexOf(i) * g.cell, g.cell - 1, g.cell - 1);
    }
  }

  /** The whole asking row in small, with the window marked. */
  function overview() {
    const width = g.cols.length * g.cell;
    const height = g.over - 10 * g.unit;
    strip.style.left = `${g.lab}px`;
    const c = canvas(strip, width, height);
    c.fillStyle = css("--grid");
    c.fillRect(0, 0, width, height);
    const step = width / g.T;
    const inner = g.cols.filter((/** @type {number} */ j) => j > 0 && j !== m.at);
    c.fillStyle = css("--key-soft");
    c.fillRect(inner[0] * step, 0, Math.max(2, inner.length * step), height);
    c.fillStyle = css("--key");
    for (let j = 0; j <= m.at; j++) {
      const h = Math.sqrt(Math.max(0, m.weight(j))) * height;
      c.fillRect(j * step, height - h, Math.max(1, step - 0.5), h);
    }
    c.strokeStyle = css("--warn");
    c.strokeRect(inner[0] * step, 0.5, Math.max(2, inner.length * step), height - 1);
  }

  function arcsOf() {
    const r = g.rows.indexOf(m.at);
    if (r < 0) return null;
    const across = (/** @type {number} */ j) => g.lab + (g.cols.indexOf(j) + 0.5) * g.cell;
    const shown = m.arcs.filter((/** @type {any} */ arc) => g.cols.includes(arc.to) && g.cols.includes(arc.from));
    return shown.map((/** @type {any} */ arc) => ({ ...arc, x1: across(arc.from), x2: across(arc.to), y: g.tl + r * g.cell - 2 }));
  }

  /** @param {PointerEvent} event @returns {[number, number] | null} */
  function under(event) {
    if (!m || !g) return null;
    const b = node.getBoundingClientRect();
    const k = Math.floor((event.clientX - b.left - g.lab) / g.cell);
    const r = Math.floor((event.clientY - b.top - g.tl) / g.cell);
    const inRow = r >= 0 && r < g.rows.length;
    if (inRow && k >= 0 && k < g.cols.length) return [g.rows[r], g.cols[k]];
    return inRow && event.clientX - b.left < g.lab ? [g.rows[r], -1] : null;
  }

  node.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
    const found = under(e);
    if (found && found[1] >= 0) on.point(...found);
    else on.leave();
  });
  node.addEventListener("pointerleave", () => on.leave());
  node.addEventListener("blur", () => on.leave());
  node.addEventListener("click", (/** @type {PointerEvent} */ e) => {
    const found = under(e);
    if (!found) return;
    cursor = found[1] >= 0 ? found : null;
    on.pick(...found);
  });
  node.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!m || !move) return;
    e.preventDefault();
    const [i, j] = cursor && cursor[0] === m.at ? cursor : [m.at, Math.max(0, m.target)];
    cursor = [Math.max(0, Math.min(g.T - 1, i + move[0])), Math.max(0, Math.min(g.T - 1, j + move[1]))];
    if (move[0]) on.pick(cursor[0], cursor[1]);
    else if (!g.cols.includes(cursor[1])) on.centre(cursor[1]);
    else draw(m);
    on.point(...cursor);
  });
  strip.addEventListener("click", (/** @type {PointerEvent} */ e) => {
    const b = strip.getBoundingClientRect();
    on.centre(Math.max(0, Math.min(g.T - 1, Math.floor(((e.clientX - b.left) / b.width) * g.T))));
  });
  return { root, frame, draw, canvas: node, geometry: () => g };
}

/** @param {string} token */
const family = (token) => getComputedStyle(document.body).getPropertyValue(token);

/** @param {CanvasRenderingContext2D} c @param {string} words @param {number} room */
export function shorten(c, words, room) {
  if (c.measureText(words).width <= room) return words;
  let kept = words;
  while (kept.length > 1 && c.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** @param {CanvasRenderingContext2D} c */
function hatching(c) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  t.fillStyle = css("--void");
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = css("--rule");
  t.lineWidth = 1.5;
  t.beginPath();
  for (const x of [-6, 0, 6]) {
    t.moveTo(x, 6);
    t.lineTo(x + 6, 0);
  }
  t.stroke();
  return /** @type {CanvasPattern} */ (c.createPattern(tile, "repeat"));
}

// The large head's cells, labels and frames on its canvas. g says where, m says what (see matrix.js).
import { css, label, mix } from "../kit/colour.js";
import { canvas } from "../kit/dom.js";
import { decimal, whole } from "../kit/numbers.js";

/** @typedef {CanvasRenderingContext2D} Context */

/** @param {Context} c @param {any} g @param {any} m */
export function drawCells(c, g, m) {
  const { cell, lab, tl, rows, cols, unit } = g;
  const weights = m.stage === "weights";
  const least = weights ? 17 : 27; // px a number needs: two digits; or a sign, a point and two
  const size = weights ? Math.min(14 * unit, Math.max(9.5, cell * 0.4)) : Math.min(13 * unit, cell * 0.36);
  c.textBaseline = "middle";
  c.textAlign = "center";
  c.font = `${size}px ${family("--mono")}`;
  const hatch = hatching(c);
  rows.forEach((/** @type {number} */ i, /** @type {number} */ r) => {
    const faint = m.one && i !== m.at;
    const range = weights ? [0, 1] : rangeOf(m, i, cols);
    cols.forEach((/** @type {number} */ j, /** @type {number} */ k) => {
      const look = weights ? weightLook(m, i, j, faint) : scoreLook(m, i, j, range);
      const [x, y] = [lab + k * cell, tl + r * cell];
      c.fillStyle = look.colour || hatch;
      c.fillRect(x, y, cell - 1, cell - 1);
      if (!look.words || cell < least) return;
      c.fillStyle = look.ink;
      c.fillText(look.words, x + (cell - 1) / 2, y + cell / 2);
    });
  });
}

/**
 * A weight's cell; a column that is left out has no colour, and is hatched.
 * @param {any} m @param {number} i @param {number} j @param {boolean} faint
 */
function weightLook(m, i, j, faint) {
  if (m.rest && j === 0) return { colour: "", words: "", ink: "" };
  if (!m.seen(i, j)) return { colour: css("--void"), words: "", ink: "" };
  const x = m.value(i, j);
  const t = Math.sqrt(x) * (faint ? 0.22 : 1);
  const words = !faint && x >= 0.015 ? whole(Math.round(100 * x)) : "";
  return { colour: mix(FLAT, FULL, t), words, ink: label(FLAT, FULL, t) };
}

/**
 * A score's cell; orange where the mask will forbid it.
 * @param {any} m @param {number} i @param {number} j @param {number[]} range
 */
function scoreLook(m, i, j, [low, high]) {
  const seen = m.seen(i, j);
  if (!seen && m.stage === "masked") return { colour: "", words: "−∞", ink: css("--soft") };
  const x = m.value(i, j);
  const to = seen ? FULL : LATER;
  const t = high > low ? ((x - low) / (high - low)) * 0.85 : 0.5;
  const size = Math.abs(x);
  const words = decimal(x, size < 0.05 ? 2 : size < 9.95 ? 1 : 0);
  return { colour: mix(FLAT, to, t), words, ink: label(FLAT, to, t) };
}

const [FLAT, FULL, LATER] = ["--grid", "--key", "--warn"]; // not words: colours

/**
 * A row's smallest and largest score: softmax compares within a row only.
 * @param {any} m @param {number} i @param {number[]} cols
 */
function rangeOf(m, i, cols) {
  const scores = cols.map((j) => m.value(i, j)).filter(Number.isFinite);
  return [Math.min(...scores), Math.max(...scores)];
}

/** @param {Context} c @param {any} g @param {any} m */
export function drawLabels(c, g, m) {
  const { cell, lab, tl, rows, cols, size, unit } = g;
  const font = (/** @type {boolean} */ strong) => `${strong ? "500 " : ""}${size}px ${family("--mono")}`;
  c.textBaseline = "middle";
  c.textAlign = "right";
  rows.forEach((/** @type {number} */ i, /** @type {number} */ r) => {
    c.font = font(i === m.at);
    c.fillStyle = css(i === m.at ? "--ink" : "--soft");
    c.fillText(shorten(c, m.tokens[i], lab - 8), lab - 7, tl + (r + 0.5) * cell);
  });
  c.textAlign = "left";
  cols.forEach((/** @type {number} */ j, /** @type {number} */ k) => {
    const read = m.targets.has(j);
    c.save();
    c.translate(lab + (k + 0.5) * cell + size * 0.1, tl - 6 * unit);
    c.rotate(-0.95);
    c.font = font(read);
    c.fillStyle = css(read ? "--ink" : "--soft");
    c.fillText(shorten(c, m.tokens[j], (tl - g.over) * 1.1), 0, 0);
    c.restore();
    if (k && j !== cols[k - 1] + 1) drawGap(c, g, lab + k * cell);
  });
}

/** Columns are left out here. @param {Context} c @param {any} g @param {number} x */
function drawGap(c, g, x) {
  c.strokeStyle = css("--ink");
  c.setLineDash([2, 3]);
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x - 0.5, g.tl - 4);
  c.lineTo(x - 0.5, g.tl + g.rows.length * g.cell);
  c.stroke();
  c.setLineDash([]);
}

/**
 * The asking row, and the cell that the keys are on.
 * @param {Context} c @param {any} g @param {any} m @param {number[] | null} cursor
 */
export function drawFrame(c, g, m, cursor) {
  const r = g.rows.indexOf(m.at);
  c.lineWidth = 2;
  c.strokeStyle = css("--warn");
  if (r >= 0 && m.one) c.strokeRect(g.lab - 1.5, g.tl + r * g.cell - 1.5, g.cols.length * g.cell + 2, g.cell + 2);
  if (!cursor || !g.rows.includes(cursor[0]) || !g.cols.includes(cursor[1])) return;
  c.strokeStyle = css("--ink");
  const [x, y] = [g.lab + g.cols.indexOf(cursor[1]) * g.cell, g.tl + g.rows.indexOf(cursor[0]) * g.cell];
  c.strokeRect(x, y, g.cell - 1, g.cell - 1);
}

/**
 * The whole asking row in small, with the window marked.
 * @param {HTMLCanvasElement} strip @param {any} g @param {any} m
 */
export function drawOverview(strip, g, m) {
  const width = g.cols.length * g.cell;
  const height = g.over - 10 * g.unit;
  strip.style.left = `${g.lab}px`;
  const c = canvas(strip, width, height);
  const step = width / g.T;
  const inner = g.cols.filter((/** @type {number} */ j) => j > 0 && j !== m.at);
  const [x, across] = [inner[0] * step, Math.max(2, inner.length * step)];
  c.fillStyle = css("--grid");
  c.fillRect(0, 0, width, height);
  c.fillStyle = css("--key-soft");
  c.fillRect(x, 0, across, height);
  c.fillStyle = css("--key");
  for (let j = 0; j <= m.at; j++) {
    const h = Math.sqrt(Math.max(0, m.weight(j))) * height;
    c.fillRect(j * step, height - h, Math.max(1, step - 0.5), h);
  }
  c.strokeStyle = css("--warn");
  c.strokeRect(x, 0.5, across, height - 1);
}

/** @param {string} token */
const family = (token) => getComputedStyle(document.body).getPropertyValue(token);

/** @param {Context} c @param {string} words @param {number} room */
function shorten(c, words, room) {
  if (c.measureText(words).width <= room) return words;
  let kept = words;
  while (kept.length > 1 && c.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** @param {Context} c */
function hatching(c) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = /** @type {Context} */ (tile.getContext("2d"));
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

// How far each kept guess moved: one panel with the mask on, one with a faulty mask, on the columns of the strip.
import { svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { fit } from "../mask/columns.js";

const SCALES = [0.02, 0.05, 0.1, 0.2, 0.5, 1]; // what a full height may stand for

/**
 * @param {any} g geometry
 * @param {any} checks
 * @param {string} fault what the faulty mask is called
 * @param {boolean} moving the cut is being dragged: no numbers stand for it yet
 * @param {(side: any, c: number | null) => void} point
 * @returns {any[]}
 */
export function drawPanels(g, checks, fault, moving, point) {
  const top = g.stripEnd + 14 * g.unit;
  const room = g.H - top;
  const upper = Math.max(96 * g.unit, room * 0.36);
  const gap = 14 * g.unit;
  const shared = { g, checks, fault, moving, point };
  if (room < 200 * g.unit) return panel({ ...shared, name: "own", y: top, height: room }); // the answer alone
  const second = { ...shared, name: "faulty", y: top + upper + gap, height: room - upper - gap };
  return [...panel({ ...shared, name: "own", y: top, height: upper }), ...panel(second)];
}

/** @param {any} p */
function panel(p) {
  const { g, checks, name, y, height } = p;
  const side = checks[name];
  const clean = !side.changed.some(Boolean);
  const big = (g.phone ? 13.5 : 20) * g.unit;
  const foot = name === "faulty" && !clean && g.level && g.cw >= 44 * g.unit ? 36 * g.unit : 4;
  const at = { top: y + big + 26 * g.unit, base: y + height - foot, foot }; // of the bars and their numbers
  const out = [
    ...heading(p, side, clean, big),
    svg("line", { class: "gv-base", x1: g.gutter, x2: g.W, y1: at.base + 0.5, y2: at.base + 0.5 }),
    ...remarks(p, side, clean, at),
    ...(g.phone ? [] : gutter(g, at)),
  ];
  if (p.moving) return out;
  const scale = SCALES.find((s) => s >= 1.02 * Math.max(...side.moved)) || 1;
  const most = Math.max(0, at.base - at.top - 24 * g.unit) / scale; // px of a whole guess
  if (!clean && !g.phone) out.push(...ruler(g, at, scale, most));
  const last = Math.min(checks.keep, g.from + g.shown);
  for (let c = g.from; c < last; c++) out.push(...column(p, side, c, at, most));
  return out;
}

/** @param {any} p @param {any} side @param {boolean} clean @param {number} big */
function heading({ g, checks, name, fault, y }, side, clean, big) {
  const key = `${name}_${clean ? (side.tolerance ? "within" : "clean") : "moves"}`;
  // words: prefix.own_clean prefix.own_within prefix.own_moves prefix.faulty_clean prefix.faulty_within
  // words: prefix.faulty_moves prefix.own_what prefix.faulty_what
  const values = { n: side.changed.filter(Boolean).length, keep: checks.keep, fault };
  const title = { class: `gv-verdict ${clean ? "gv-key" : "gv-warn"}`, x: 0, y: y + big, "font-size": big };
  const under = { x: 0, y: y + big + 18 * g.unit, "font-size": 12.5 * g.unit };
  return [
    svg("text", title, text(`prefix.${key}`, values)),
    !g.phone && svg("text", under, text(`prefix.${name}_what`, values)),
  ];
}

/** What the rows of a panel are. @param {any} g @param {{ base: number, foot: number }} at */
function gutter(g, { base, foot }) {
  const line = (/** @type {number} */ down, /** @type {string} */ words) =>
    svg("text", { x: 0, y: base + down * g.unit, "font-size": 12.5 * g.unit }, words);
  const out = [line(-17, text("prefix.axis_1")), line(-2, text("prefix.axis_2"))];
  return foot < 20 ? out : [...out, line(14, text("prefix.axis_word")), line(29, text("prefix.axis_chance"))];
}

/**
 * What a full height stands for, since panels differ.
 * @param {any} g
 * @param {any} at
 * @param {number} scale
 * @param {number} most
 */
function ruler(g, at, scale, most) {
  const y = at.base - scale * most;
  const line = { class: "gv-base", "stroke-dasharray": "2 4", x1: g.gutter, x2: g.x(g.keep), y1: y, y2: y };
  const words = { x: g.gutter - 8 * g.unit, y: y + 4 * g.unit, "text-anchor": "end", "font-size": 12.5 * g.unit };
  return [svg("line", line), svg("text", words, percent(scale))];
}

/** The cut goes on through the panel, and what stands right of it is said there. */
function remarks(
  /** @type {any} */ { g, checks, moving },
  /** @type {any} */ side,
  /** @type {boolean} */ clean,
  /** @type {any} */ at,
) {
  const x = g.x(g.keep);
  const line = svg("line", { class: "gv-cut", x1: x, x2: x, y1: at.top, y2: at.base });
  const key = `side_${clean ? "none" : side.changed.every(Boolean) ? "all" : "some"}`;
  // words: prefix.side_none prefix.side_all prefix.side_some
  const words = text(`prefix.${key}`, { keep: checks.keep, n: side.changed.filter(Boolean).length });
  const size = 15 * g.unit;
  if (moving || words.length * size * 0.5 > g.W - x - 20) return [line];
  const place = { class: "gv-remark", x: x + 14, y: (at.top + at.base) / 2 + size * 0.35, "font-size": size };
  return [line, svg("text", place, words)];
}

/** @param {any} p @param {any} side @param {number} c @param {any} at @param {number} most */
function column({ g, name, point }, side, c, at, most) {
  const middle = g.x(c) + g.cw / 2;
  const bad = side.changed[c];
  const height = bad ? Math.max(3, side.moved[c] * most) : 3;
  const wide = Math.min(40 * g.unit, g.cw * 0.62);
  const narrow = g.cw < 34;
  const share = narrow ? whole(side.moved[c]) : percent(side.moved[c]);
  const number = side.deltas[c] === 0 ? "0" : bad ? share : "≈ 0";
  const size = Math.min((bad ? 15 : 26) * g.unit, g.cw * (number === "0" ? 0.5 : narrow && bad ? 0.44 : 0.3));
  const place = { x: middle - wide / 2, width: wide, y: at.base - height, height, rx: Math.min(2, height / 2) };
  const bar = { class: bad ? "gv-bad" : "gv-good", "data-column": c, "data-side": name, ...place };
  const above = { x: middle, y: at.base - height - 6 * g.unit, "text-anchor": "middle", "font-size": size };
  const reach = {
    x: g.x(c),
    width: g.cw,
    y: at.top,
    height: Math.max(0, at.base - at.top + at.foot),
    class: "gv-hit",
    "data-panel": name,
    "data-column": c,
  };
  const told = { onpointerenter: () => point(side, c), onpointerleave: () => point(side, null) };
  return [
    svg("rect", bar),
    size >= 8.5 && svg("text", { class: `gv-tok ${bad ? "gv-warn" : "gv-key"}`, ...above }, number),
    ...(at.foot > 20 && bad ? expected(g, side, c, middle, at.base) : []),
    svg("rect", { ...reach, ...told }),
  ];
}

/** The likeliest word of the first run, and its chance in both. */
function expected(
  /** @type {any} */ g,
  /** @type {any} */ side,
  /** @type {number} */ c,
  /** @type {number} */ x,
  /** @type {number} */ base,
) {
  const size = 11.5 * g.unit;
  const shift = text("prefix.shift", { before: whole(side.before[c]), after: whole(side.after[c]) });
  const at = (/** @type {number} */ down) => ({
    x,
    y: base + down * g.unit,
    "text-anchor": "middle",
    "font-size": size,
  });
  return [
    svg("text", { class: "gv-tok", ...at(14) }, fit(side.expected[c], g.cw - 2, size)),
    svg("text", { class: "gv-tok gv-dim", ...at(29) }, fit(shift, g.cw + 4, size)),
  ];
}

/** @param {number} p */
const whole = (p) => (p > 0 && p < 0.005 ? "<1" : String(Math.round(100 * p)));

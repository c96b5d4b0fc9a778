// The check as a picture: two runs on top, under them how far each guess moved, with the mask and with a faulty one.
import { el, fill, svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { fit, labelling, windowOf } from "../mask/columns.js";
import { drawCut, drawStrip, watchCut } from "./strip.js";

/** @param {any} app */
export function createBoard(app) {
  const picture = svg("svg", { class: "gv-checkboard", role: "group", "aria-label": text("prefix.board") });
  const root = el("div", { class: "gv-fill" }, picture);
  /** @type {any} */
  let checks = null;
  /** @type {any} */
  let view = null;
  /** @type {any} */
  let g = null;
  let moving = 0; // the cut while it is dragged

  function draw(/** @type {any} */ found, /** @type {any} */ next) {
    checks = found;
    view = next;
    moving = 0;
    paint();
  }

  function paint() {
    if (!checks) return;
    const held = document.activeElement?.classList.contains("gv-handle") && picture.contains(document.activeElement);
    const keep = moving || checks.keep;
    g = { ...geometryOf(app.parts.stage.size(), root, checks.tokens.length, keep), keep };
    picture.setAttribute("width", g.W);
    picture.setAttribute("height", g.H);
    picture.classList.toggle("gv-moving", moving > 0);
    fill(picture, ...drawStrip(g, checks.tokens, moving ? [] : checks.other, keep), ...panels(), ...drawCut(g, keep, g.total, g.stripY + 2 * g.rowH + 8, view.method));
    if (held) picture.querySelector(".gv-handle").focus();
  }

  function panels() {
    const top = g.stripY + 2 * g.rowH + 3 + 14 * g.unit;
    const room = g.H - top;
    const upper = Math.max(96 * g.unit, room * 0.36);
    const gap = 14 * g.unit;
    return [...panel("own", top, upper), ...panel("faulty", top + upper + gap, room - upper - gap)];
  }

  /** @param {"own" | "faulty"} name @param {number} y @param {number} height */
  function panel(name, y, height) {
    const side = checks[name];
    const clean = side.changed.every((/** @type {boolean} */ c) => !c);
    const big = (g.phone ? 15 : 20) * g.unit;
    const key = `${name}_${clean ? (side.tolerance ? "within" : "clean") : "moves"}`;
    // words: prefix.own_clean prefix.own_within prefix.own_moves prefix.faulty_clean prefix.faulty_within prefix.faulty_moves
    const words = { n: side.changed.filter(Boolean).length, keep: checks.keep, fault: faultName() };
    const out = [
      svg("text", { class: `gv-verdict ${clean ? "gv-key" : "gv-warn"}`, x: 0, y: y + big, "font-size": big }, text(`prefix.${key}`, words)),
      svg("text", { x: 0, y: y + big + 18 * g.unit, "font-size": 12.5 * g.unit }, text(`prefix.${name}_what`, words)),
    ]; // words: prefix.own_what prefix.faulty_what
    const foot = name === "faulty" && !clean && g.cw >= 44 * g.unit ? 36 * g.unit : 4;
    const base = y + height - foot;
    const top = y + big + 26 * g.unit; // of the bars and their numbers
    const scale = SCALES.find((s) => s >= 1.02 * Math.max(...side.moved)) || 1;
    out.push(svg("line", { class: "gv-base", x1: g.gutter, x2: g.W, y1: base + 0.5, y2: base + 0.5 }), ...remarks(name, side, clean, top, base));
    if (!g.phone) out.push(...gutter(base, foot));
    if (moving) return out;
    const last = Math.min(checks.keep, g.from + g.shown);
    for (let c = g.from; c < last; c++) out.push(...column(side, c, base, (base - top - 24 * g.unit) / scale, foot));
    return out;
  }

  /** What the rows of a panel are. @param {number} base @param {number} foot */
  function gutter(base, foot) {
    const line = (/** @type {number} */ y, /** @type {string} */ key) => svg("text", { x: 0, y, "font-size": 12.5 * g.unit }, text(key));
    const out = [line(base - 17 * g.unit, "prefix.axis_1"), line(base - 2 * g.unit, "prefix.axis_2")];
    return foot < 20 ? out : [...out, line(base + 14 * g.unit, "prefix.axis_word"), line(base + 29 * g.unit, "prefix.axis_chance")];
  }

  /** The cut goes on through the panel, and what stands right of it is said there. */
  function remarks(/** @type {string} */ name, /** @type {any} */ side, /** @type {boolean} */ clean, /** @type {number} */ top, /** @type {number} */ base) {
    const x = g.x(g.keep);
    const out = [svg("line", { class: "gv-cut", x1: x, x2: x, y1: top, y2: base })];
    const all = side.changed.every(Boolean);
    const key = `side_${clean ? "none" : all ? "all" : "some"}`; // words: prefix.side_none prefix.side_all prefix.side_some
    const size = 15 * g.unit;
    const words = text(`prefix.${key}`, { keep: checks.keep, n: side.changed.filter(Boolean).length });
    if (words.length * size * 0.5 < g.W - x - 20 && !moving)
      out.push(svg("text", { class: "gv-remark", x: x + 14, y: (top + base) / 2 + size * 0.35, "font-size": size }, words));
    return out;
  }

  /** @param {any} side @param {number} c @param {number} base @param {number} most @param {number} foot */
  function column(side, c, base, most, foot) {
    const middle = g.x(c) + g.cw / 2;
    const p = side.moved[c];
    const bad = side.changed[c];
    const height = bad ? Math.max(3, p * most) : 3;
    const wide = Math.min(40 * g.unit, g.cw * 0.62);
    const size = Math.min((bad ? 15 : 26) * g.unit, g.cw * (bad ? 0.3 : 0.5));
    const number = side.deltas[c] === 0 ? "0" : bad ? percent(p) : "≈ 0";
    const out = [
      svg("rect", { class: bad ? "gv-bad" : "gv-good", x: middle - wide / 2, width: wide, y: base - height, height, rx: Math.min(2, height / 2), "data-column": c, "data-side": side === checks.own ? "own" : "faulty",
        onpointerenter: () => app.parts.stage.point(told(side, c)), onpointerleave: () => app.parts.stage.point(null) }),
      g.cw >= 22 && svg("text", { class: `gv-tok ${bad ? "gv-warn" : "gv-key"}`, x: middle, y: base - height - 6 * g.unit, "text-anchor": "middle", "font-size": size, "pointer-events": "none" }, number),
    ]; // prettier-ignore
    if (foot < 20 || !bad) return out;
    const fs = 11.5 * g.unit;
    const shift = text("prefix.shift", { before: whole(side.before[c]), after: whole(side.after[c]) });
    out.push(svg("text", { class: "gv-tok", x: middle, y: base + 14 * g.unit, "text-anchor": "middle", "font-size": fs }, fit(side.expected[c], g.cw - 2, fs)));
    out.push(svg("text", { class: "gv-tok gv-dim", x: middle, y: base + 29 * g.unit, "text-anchor": "middle", "font-size": fs }, fit(shift, g.cw, fs)));
    return out;
  }

  /** @param {any} side @param {number} c */
  function told(side, c) {
    const values = { token: checks.tokens[c], expected: side.expected[c], before: side.before[c], after: side.after[c], p: side.moved[c], delta: side.deltas[c] };
    const key = side.deltas[c] === 0 ? "tell_zero" : side.changed[c] ? "tell_moved" : "tell_dust";
    return phrase(`prefix.${key}`, values); // words: prefix.tell_zero prefix.tell_moved prefix.tell_dust
  }

  function faultName() {
    const open = checks.faulty.open;
    if (view.direction === "blocks") return text("prefix.name_blocks");
    if (view.direction === "wrong_way") return text("prefix.name_wrong");
    if (open.length === checks.layers) return text("prefix.name_off");
    return open.length ? text("prefix.name_layers", { list: open.slice(0, 4).join(", ") }) : text("prefix.name_none");
  }

  watchCut(picture, () => g, (keep, done) => {
    if (done) {
      moving = 0;
      if (keep !== checks.keep) app.set({ keep });
      else paint();
      return;
    }
    moving = keep;
    paint();
  }); // prettier-ignore

  return { root, draw, paint };
}

const SCALES = [0.02, 0.05, 0.1, 0.2, 0.5, 1]; // what a full height may stand for

/** @param {number} p */
const whole = (p) => (p > 0 && p < 0.005 ? "<1" : String(Math.round(100 * p)));

/**
 * @param {{ unit: number, width: number, height: number }} size @param {HTMLElement} root
 * @param {number} total @param {number} focus
 */
export function geometryOf(size, root, total, focus) {
  const { unit } = size;
  const W = root.clientWidth || size.width;
  const H = root.clientHeight || size.height;
  const phone = W < 520;
  const gutter = (phone ? 6 : 112) * unit;
  const columns = windowOf(total, W - gutter - 2, unit, focus, null);
  const fs = Math.min(13.5 * unit, Math.max(10.5 * unit, columns.width / 4.4));
  const handleH = 24 * unit;
  return {
    W, H, unit, phone, gutter, total, fs, handleH,
    label: labelling(columns.width, fs),
    cw: columns.width, from: columns.from, shown: columns.shown,
    rowH: 26 * unit,
    stripY: handleH + 5,
    x: (/** @type {number} */ c) => gutter + (c - columns.from) * columns.width,
  }; // prettier-ignore
}

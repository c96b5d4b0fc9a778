// The strip: what was read, what was asked for, the chance it was given and the surprise, one column a question.
import { el, fill, mark, rect, svg } from "../kit/dom.js";
import { percentList } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { callout, means, numberRows, overview } from "./around.js";
import { worst } from "./scenes.js";

const ALL = 40; // columns that are drawn at once, whatever the text's length
const NARROW = 24; // px of a column when there are more

/** @typedef {import("./scenes.js").Scene} Scene */

/** @param {{ point: (column: number | null) => void, choose: (column: number) => void }} acts */
export function createStrip({ point, choose }) {
  const back = svg("g", null);
  const bars = svg("g", { class: "gv-trbars" });
  const front = svg("g", null);
  const picture = svg("svg", { class: "gv-trsvg", role: "img", tabindex: 0 }, back, bars, front);
  const root = el("div", { class: "gv-strip" }, picture);
  /** @type {Map<string, any>} */
  const pool = new Map();
  /** @type {any} */
  let now = null;
  let cursor = -1;

  /** @param {Scene} scene @param {number} at the chosen column, −1 for none @param {boolean} plain a first look: with a note */
  function draw(scene, at, plain) {
    const g = geometry(root, scene, at);
    if (!g) return;
    now = { scene, g };
    picture.setAttribute("viewBox", `0 0 ${g.width} ${g.height}`);
    picture.setAttribute("aria-label", text("training.strip", { n: scene.read.length }));
    const parts = [...labels(g), ...tokens(g, scene), ...(g.chance ? chances(g, scene) : [])];
    fill(back, ...parts, ...lines(g), ...(at >= 0 ? column(g, at) : []));
    pour(g, scene);
    fill(
      front,
      ...numberRows(g, scene),
      ...means(g, scene),
      ...overview(g, scene),
      ...(plain ? callout(g, scene) : []),
    );
  }

  /** Bars are kept from state to state, so that they move. @param {any} g @param {Scene} scene */
  function pour(g, scene) {
    const wanted = new Set();
    scene.series.forEach((series, s) => {
      for (let i = g.from; i < g.to; i++) {
        const nats = series.nats[i];
        if (nats === null || nats === undefined) continue;
        const key = `${s} ${i}`;
        wanted.add(key);
        let bar = pool.get(key);
        if (!bar) {
          bar = rect(0, 0, 1, 1);
          pool.set(key, bar);
          bars.append(bar);
        }
        place(bar, g, scene, s, i, nats);
      }
    });
    for (const [key, bar] of pool) if (!wanted.has(key)) (bar.remove(), pool.delete(key));
  }

  picture.addEventListener("pointermove", (event) => aim(columnAt(event)));
  picture.addEventListener("pointerleave", () => aim(-1));
  picture.addEventListener("click", (event) => {
    const g = now && now.g;
    if (!g) return;
    const y = event.clientY - picture.getBoundingClientRect().top;
    if (g.over && y > g.over.top) choose(g.over.at(event.clientX - picture.getBoundingClientRect().left));
    else if (columnAt(event) >= 0) choose(columnAt(event));
  });
  picture.addEventListener("keydown", (event) => {
    if (!now) return;
    const n = now.scene.read.length;
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -n, End: n, PageDown: 10, PageUp: -10 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = cursor < 0 ? (by > 0 ? now.g.from : now.g.to - 1) : Math.min(n - 1, Math.max(0, cursor + by));
    if (next < now.g.from || next >= now.g.to) choose(next);
    aim(next);
  });
  picture.addEventListener("blur", () => aim(-1));

  /** @param {PointerEvent | MouseEvent} event */
  function columnAt(event) {
    if (!now) return -1;
    const { g } = now;
    const x = event.clientX - picture.getBoundingClientRect().left;
    const y = event.clientY - picture.getBoundingClientRect().top;
    const i = g.from + Math.floor((x - g.left) / g.cw);
    return x >= g.left && i >= g.from && i < g.to && y < g.bottom + 30 * g.unit ? i : -1;
  }

  /** @param {number} i */
  function aim(i) {
    if (i === cursor) return;
    cursor = i;
    point(i < 0 ? null : i);
  }
  return { root, draw };
}

/** Where everything stands. @param {HTMLElement} root @param {Scene} scene @param {number} at */
function geometry(root, scene, at) {
  const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
  const width = root.clientWidth;
  const height = root.clientHeight;
  if (width < 40 || height < 40) return null;
  const slim = width < 560;
  const low = height < 330 * unit;
  const left = (slim ? 4 : 92) * unit;
  const right = width - (slim ? 8 : 110) * unit;
  const n = scene.read.length;
  const most = n <= ALL ? n : Math.max(8, Math.floor((right - left) / (NARROW * unit)));
  const count = Math.min(n, slim ? Math.min(most, 16) : most);
  const centre = at >= 0 ? at : worst(scene);
  const from = count === n ? 0 : Math.min(n - count, Math.max(0, centre - Math.floor(count / 2)));
  const cw = (right - left) / count;
  const turned = cw < 46 * unit;
  const token = (turned ? 62 : 24) * unit;
  const asked = token + 16 * unit;
  const numbers = scene.form === "level" ? 0 : cw >= 27 * unit && !low ? scene.series.length : 0;
  const g = {
    unit,
    width,
    height,
    slim,
    low,
    left,
    right,
    n,
    from,
    to: from + count,
    cw,
    turned,
    token,
    asked,
    numbers,
    top: 2,
  };
  const chance = low ? 0 : (slim ? 44 : 78) * unit;
  const chanceBottom = asked + token + chance + (low ? 0 : 26 * unit);
  const over = count < n ? 46 * unit : 0;
  const bottom = height - 6 - over - numbers * 17 * unit - (numbers ? 4 : 0);
  const top = chanceBottom + (low ? 12 : 26) * unit;
  const max = Math.max(
    1,
    ...scene.series.flatMap((s) => s.nats.slice(from, from + count).map((x) => x ?? 0)),
    ...scene.series.map((s) => s.mean),
  );
  const y = (/** @type {number} */ nats) => bottom - ((bottom - top) * nats) / max;
  const strip = { left, right, top: height - over + 10 * unit, height: over - 12 * unit };
  const overAt = (/** @type {number} */ x) =>
    Math.min(n - 1, Math.max(0, Math.floor(((x - left) / (right - left)) * n)));
  return { ...g, chance, chanceBottom, surpriseTop: top, bottom, y, max, over: over ? { ...strip, at: overAt } : null };
}

/** @param {any} g */
function labels({ slim, low, unit, token, asked, chance, chanceBottom, surpriseTop }) {
  if (slim) return [];
  const out = [
    mark(0, token * 0.55 + 4, text("training.row_read"), "gv-trrow"),
    mark(0, asked + token * 0.55 + 4, text("training.row_asked"), "gv-trrow"),
    mark(0, surpriseTop + 10 * unit, text("training.row_surprise"), "gv-trrow"),
    mark(0, surpriseTop + 26 * unit, text("training.row_nats"), "gv-trsmall"),
  ];
  if (!low) out.push(mark(0, chanceBottom - chance + 8 * unit, text("training.row_chance"), "gv-trrow"));
  if (!low) out.push(mark(0, chanceBottom - chance + 24 * unit, text("training.row_answer"), "gv-trsmall"));
  return out;
}

/** @param {any} g @param {Scene} scene */
function tokens(g, scene) {
  const out = [];
  const first = scene.read.length - scene.pads;
  for (let i = g.from; i < g.to; i++) {
    const x = g.left + (i - g.from) * g.cw;
    const pad = i >= first;
    out.push(...token(g, x, g.top, scene.read[i], pad && i > first ? "gv-trpad" : "gv-trread"));
    out.push(...token(g, x, g.top + g.asked, scene.asked[i], pad || scene.same ? "gv-trpad" : "gv-trasked"));
    const middle = x + g.cw / 2;
    const foot = g.top + g.token + 3;
    const arrow = `M${middle} ${foot}v${10 * g.unit}m-3 -4l3 4l3 -4`;
    out.push(svg("path", { d: arrow, class: `gv-trarrow${pad || scene.same ? " gv-bad" : ""}` }));
  }
  return out;
}

/** @param {any} g @param {number} x @param {number} y @param {string} words @param {string} kind */
function token(g, x, y, words, kind) {
  const box = rect(x + 1, y, g.cw - 2, g.token, { rx: 3, class: kind });
  if (g.turned) {
    const [cx, cy] = [x + g.cw / 2 + 4 * g.unit, y + g.token - 4];
    const cut = words.length > 7 ? `${words.slice(0, 6)}…` : words;
    return [box, mark(0, 0, cut, `gv-trtoken ${kind}`, "start", { transform: `translate(${cx} ${cy}) rotate(-90)` })];
  }
  const fits = Math.max(2, Math.floor((g.cw - 6) / (7.4 * g.unit)));
  const cut = words.length > fits ? `${words.slice(0, fits - 1)}…` : words;
  return [box, mark(x + g.cw / 2, y + g.token * 0.68, cut, `gv-trtoken ${kind}`, "middle")];
}

/** The chance each answer was given, from 0 to 1. @param {any} g @param {Scene} scene */
function chances(g, scene) {
  const out = [svg("line", { x1: g.left, x2: g.right, y1: g.chanceBottom, y2: g.chanceBottom, class: "gv-trbase" })];
  const pair = scene.form === "pair";
  const wide = barWidth(g, pair);
  scene.series.forEach((series, s) => {
    for (let i = g.from; i < g.to; i++) {
      const nats = series.nats[i];
      if (nats === null || nats === undefined) continue;
      const h = Math.max(1, g.chance * Math.exp(-nats));
      const x = left(g, scene, s, i, wide);
      out.push(rect(x, g.chanceBottom - h, wide, h, { rx: 2, class: `gv-trbar gv-is-${series.kind}` }));
    }
  });
  return g.turned || pair ? out : [...out, ...chanceWords(g, scene)];
}

/** @param {any} g @param {Scene} scene */
function chanceWords(g, scene) {
  const nats = scene.read.map((_, i) => scene.series[0].nats[i] ?? scene.series[scene.series.length - 1].nats[i] ?? 0);
  const some = nats.slice(g.from, g.to);
  const most = some.map((_, k) => Math.max(...scene.series.map((s) => Math.exp(-(s.nats[g.from + k] ?? 99)))));
  return percentList(some.map((x) => Math.exp(-x))).flatMap((full, k) => {
    const words = full.replace(/^>\s/, ">");
    const middle = g.left + (k + 0.5) * g.cw;
    const [first, ...rest] = words.split(/\s(?=[\d,.]+$)/); // a chance such as "1 in 430,000" takes two lines
    const y = g.chanceBottom - g.chance * most[k] - 5 * g.unit;
    const lines = rest.length ? [first, rest.join(" ")] : [first];
    return lines.map((line, r) =>
      mark(middle, y - (lines.length - 1 - r) * 12 * g.unit, line, "gv-trnum gv-trhalo", "middle"),
    );
  });
}

/** @param {any} g */
function lines(g) {
  return [svg("line", { x1: g.left, x2: g.right, y1: g.bottom, y2: g.bottom, class: "gv-trbase" })];
}

/** @param {any} g @param {number} at */
function column(g, at) {
  if (at < g.from || at >= g.to || !g.over) return [];
  return [rect(g.left + (at - g.from) * g.cw, 0, g.cw, g.bottom, { class: "gv-trcolumn" })];
}

/** @param {any} g @param {boolean} pair */
const barWidth = (g, pair) => Math.max(2, Math.min(26 * g.unit, g.cw * (pair ? 0.36 : 0.5)));

/** @param {any} g @param {Scene} scene @param {number} s @param {number} i @param {number} wide */
function left(g, scene, s, i, wide) {
  const middle = g.left + (i - g.from + 0.5) * g.cw;
  return scene.form === "pair" ? (s ? middle + 1 : middle - wide - 1) : middle - wide / 2;
}

/** @param {any} bar @param {any} g @param {Scene} scene @param {number} s @param {number} i @param {number} nats */
function place(bar, g, scene, s, i, nats) {
  const level = scene.form === "level";
  const wide = level ? g.cw - 1 : barWidth(g, scene.form === "pair");
  const top = g.y(level ? scene.series[0].mean : nats);
  bar.setAttribute("class", `gv-trbar gv-is-${scene.series[s].kind}`);
  const box = { x: left(g, scene, s, i, wide), y: top, width: wide, height: Math.max(1, g.bottom - top) };
  for (const [name, value] of Object.entries(box)) bar.style.setProperty(name, `${value}px`);
  bar.style.setProperty("rx", level ? "0" : "2px");
}

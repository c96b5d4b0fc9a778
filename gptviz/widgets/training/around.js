// What stands around the strip's bars: numbers under them, means beside them, the whole text in small, one note.
import { mark, rect, svg } from "../kit/dom.js";
import { chance, percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { natsText, worst } from "./scenes.js";

/** @typedef {import("./scenes.js").Scene} Scene */

/** The surprises in figures, a row a series. @param {any} g @param {Scene} scene */
export function numberRows(g, scene) {
  if (scene.form === "level") return ghosts(g, scene);
  if (!g.numbers) return [];
  return scene.series.flatMap((series, s) => {
    const y = g.bottom + (s + 1) * 17 * g.unit - 3;
    const label = g.slim ? [] : [mark(0, y, series.name, `gv-trsmall gv-is-${series.kind}`)];
    const cells = [];
    for (let i = g.from; i < g.to; i++) {
      const nats = series.nats[i];
      if (nats === null || nats === undefined) continue;
      const x = g.left + (i - g.from + 0.5) * g.cw;
      cells.push(mark(x, y, natsText(nats), `gv-trnum gv-is-${series.kind}`, "middle"));
    }
    return [...label, ...cells];
  });
}

/** Where the bars stood before they were poured level. @param {any} g @param {Scene} scene */
function ghosts(g, scene) {
  const out = [];
  const { nats, mean } = scene.series[0];
  const wide = Math.max(2, Math.min(26 * g.unit, g.cw * 0.5));
  for (let i = g.from; i < g.to; i++) {
    const own = nats[i] ?? 0;
    const x = g.left + (i - g.from + 0.5) * g.cw;
    const kind = own > mean ? "gv-trghost" : "gv-trghost gv-inside";
    out.push(rect(x - wide / 2, g.y(own), wide, g.bottom - g.y(own), { class: kind }));
    const y = Math.min(g.y(own), g.y(mean)) - 6 * g.unit;
    if (g.cw >= 27 * g.unit) out.push(mark(x, y, natsText(own), "gv-trnum gv-trhalo", "middle"));
  }
  return out;
}

/** The mean of each series as a line, named at its right end. @param {any} g @param {Scene} scene */
export function means(g, scene) {
  const places = scene.series.map((series) => g.y(series.mean));
  const gap = 42 * g.unit;
  if (places.length === 2 && Math.abs(places[0] - places[1]) < gap) {
    const middle = (places[0] + places[1]) / 2;
    const [upper, lower] = places[0] <= places[1] ? [0, 1] : [1, 0];
    places[upper] = middle - gap / 2;
    places[lower] = middle + gap / 2;
  }
  return scene.series.flatMap((series, s) => {
    const kind = `gv-is-${series.kind}`;
    const y = g.y(series.mean);
    const line = svg("line", { x1: g.left, x2: g.right, y1: y, y2: y, class: `gv-trmean ${kind}` });
    if (g.slim) {
      const words = text("training.mean_short", { name: series.name, loss: natsText(series.mean) });
      return [line, mark(g.right, places[s] - 4, words, `gv-trname gv-trhalo ${kind}`, "end")];
    }
    const at = Math.min(places[s], g.bottom - 14 * g.unit);
    return [
      line,
      mark(g.right + 8 * g.unit, at + 1, natsText(series.mean), `gv-trvalue ${kind}`),
      mark(g.right + 8 * g.unit, at + 16 * g.unit, series.name, `gv-trname ${kind}`),
    ];
  });
}

/**
 * The whole text as one small row of surprises, with the window that is drawn large.
 * @param {any} g @param {Scene} scene
 */
export function overview(g, scene) {
  if (!g.over) return [];
  const { left, right, top, height } = g.over;
  const width = (right - left) / g.n;
  const most = Math.max(...scene.series[0].nats.map((x) => x ?? 0), 1);
  const bar = (/** @type {number} */ x, /** @type {number} */ i) =>
    `M${left + i * width} ${top + height}v${(-x / most) * height}h${Math.max(0.6, width * 0.8)}V${top + height}z`;
  const d = scene.series[0].nats.map((x, i) => bar(x ?? 0, i)).join("");
  return [
    rect(left, top, right - left, height, { class: "gv-trover" }),
    svg("path", { d, class: "gv-is-before gv-trsmallbars" }),
    rect(left + g.from * width, top - 2, (g.to - g.from) * width, height + 4, { class: "gv-trwindow" }),
    ...(g.slim ? [] : [mark(0, top + height / 2 + 4, text("training.all_of_it"), "gv-trsmall")]),
  ];
}

/**
 * A first look needs one column in words: the greatest surprise, where there is room beside its bar.
 * @param {any} g @param {Scene} scene
 */
export function callout(g, scene) {
  if (g.slim || g.low || g.turned) return [];
  const at = worst(scene);
  const { nats } = scene.series[0];
  const height = (/** @type {number} */ i) => Math.max(...scene.series.map((series) => series.nats[i] ?? 0)) / g.max;
  const free = (nats[at] ?? 0) / g.max - 0.2; // no bar beside it may reach the words
  const clear = (/** @type {number} */ from, /** @type {number} */ to) =>
    from >= g.from && to <= g.to && nats.slice(from, to).every((_, k) => height(from + k) < free);
  const need = Math.ceil((250 * g.unit) / g.cw);
  const rightFree = clear(at + 1, at + 1 + need);
  const leftFree = clear(at - need, at);
  if (!rightFree && !leftFree) return [];
  const p = Math.exp(-(nats[at] ?? 0));
  const word = (/** @type {string} */ token) => token.replace(/^·/, "");
  const values = {
    token: word(scene.asked[at]),
    read: word(scene.read[at]),
    chance: p < 0.001 ? chance(p) : percent(p),
    nats: natsText(nats[at] ?? 0),
  };
  const x = g.left + (at - g.from + 0.5) * g.cw + (rightFree ? 22 : -22) * g.unit;
  const anchor = rightFree ? "start" : "end";
  const y = g.y(nats[at] ?? 0) + 14 * g.unit;
  return [
    mark(x, y, text("training.note_chance", values), "gv-trnote gv-trhalo", anchor),
    mark(x, y + 20 * g.unit, text("training.note_surprise", values), "gv-trnote gv-trhalo", anchor),
  ];
}

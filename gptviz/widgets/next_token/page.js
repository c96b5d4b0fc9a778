// Next token: bars over the whole vocabulary, the settings that shape them, draws from them, and writing on.
import { el, fill } from "../kit/dom.js";
import { phrase } from "../kit/words.js";
import { createBars } from "./bars.js";
import { createControls } from "./controls.js";
import { createDraws } from "./draws.js";
import { createLine } from "./line.js";
import * as S from "./sampling.js";
import { createWriting } from "./writing.js";

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const context = el("div", { class: "gv-ctx" });
  const line = createLine(app);
  const bars = createBars(point);
  const draws = createDraws(app, { names, paint });
  const writing = createWriting(app);
  const controls = createControls(app, { draws, writing, wanted: exact });
  root.append(
    context,
    line.root,
    el("div", { class: "gv-nt" }, el("div", { class: "gv-ntmain" }, bars.root, writing.root), controls.root),
  );
  /** @type {any} */
  let view = null;
  /** @type {any} */
  let outlook = null;
  /** @type {any} */
  let ready = null; // all logits, prepared; null until they are wanted
  let readyKey = "";
  let frame = 0;
  /** @type {Map<number, string>} */
  const known = new Map();

  async function show(/** @type {any} */ next) {
    const args = { text: next.text, model: next.model };
    const found = await next.ask("outlook", args);
    if (!next.current()) return;
    const other = outlook !== found;
    view = next;
    outlook = found;
    if (other) adopt();
    const key = `${next.text}\u0000${next.model}`;
    if (readyKey !== key) ready = null;
    if (!next.recorded && (!plain(next) || next.show !== "bars")) await exact();
    if (!next.current()) return;
    controls.set(next);
    draws.reset(key + settingsKey(next));
    writing.reset(key);
    root.dataset.show = next.show;
    paint();
  }

  /** A new prediction: names, and the text that led to it. */
  function adopt() {
    known.clear();
    outlook.ids.forEach((/** @type {number} */ id, /** @type {number} */ i) => known.set(id, outlook.shown[i]));
    const last = outlook.tokens.slice(-40);
    fill(context, ...last.map((/** @type {string} */ t) => el("span", null, t)), el("span", { class: "gv-slot" }, "?"));
    context.scrollLeft = context.scrollWidth;
    controls.vocabulary(outlook.vocabulary, outlook.below);
  }

  /** All logits, for what a slider needs; asked for once a prompt, when the settings are first touched. */
  async function exact() {
    if (!view || view.recorded) return;
    const key = `${view.text}\u0000${view.model}`;
    if (ready && readyKey === key) return;
    const { logits } = await view.ask("logits", { text: view.text, model: view.model });
    if (key !== `${view.text}\u0000${view.model}`) return;
    ready = S.prepare(logits);
    readyKey = key;
  }

  /** @param {number[]} ids */
  async function names(ids) {
    const missing = ids.filter((id) => !known.has(id));
    if (missing.length) {
      const { shown } = await app.parts.ask("names", { ids: missing, model: view.model });
      missing.forEach((id, i) => known.set(id, shown[i]));
    }
    return ids.map((id) => known.get(id) || "");
  }

  /** Slider moves are gathered: one paint a frame, always with the latest settings. */
  function later() {
    if (!frame) frame = requestAnimationFrame(() => ((frame = 0), paint()));
  }

  function paint() {
    if (!outlook) return;
    const table = ready ? shaped(ready, view, outlook) : modelsOwn(outlook);
    const rows = bars.draw(table, outlook.shown, draws.counts(), view.show === "draws");
    line.draw(table, outlook.shown, rows, draws.darts());
    controls.facts(table);
    draws.use(ready, table);
    speak(table, rows);
    root.dataset.painted = `${view.temperature} ${view.top_k} ${view.top_p}`;
  }

  function speak(/** @type {any} */ table, /** @type {number} */ rows) {
    const facts = factsOf(outlook, table, view, ready, rows);
    app.facts(facts);
    if (view.show === "writing") writing.speak();
    else if (view.show === "draws") draws.speak();
    else app.parts.stage.say(`next_token.${sentence(view)}`, facts); // words: next_token.expects next_token.greedy next_token.tempered next_token.cooled next_token.cut
    app.parts.steps.prose();
  }

  /** @param {any} row what is pointed at */
  function point(row) {
    if (!row) return app.parts.stage.point(null);
    const key = row.others ? "next_token.row_others" : "next_token.row";
    app.parts.stage.point(phrase(key, row));
  }

  controls.onmove = (/** @type {any} */ fields) => {
    Object.assign(view, fields);
    app.set(fields, { draw: false });
    if (ready) return later();
    exact().then(later);
  };

  return { show, resize: paint, table: () => tableOf(outlook) };
}

/** @param {any} v */
const plain = (v) => v.temperature === 1 && !v.top_k && v.top_p === 1;
/** @param {any} v */
const settingsKey = (v) => `${v.temperature} ${v.top_k} ${v.top_p} ${v.order} ${v.seed}`;

/** @param {any} v */
function sentence(v) {
  if (v.temperature === 0) return "greedy";
  if (v.top_k || v.top_p < 1) return "cut";
  if (v.temperature === 1) return "expects";
  return v.temperature > 1 ? "tempered" : "cooled";
}

/** The bars' numbers while only the model's own are known: ranks from the likeliest, and all others as one. */
function modelsOwn(/** @type {any} */ outlook) {
  const V = outlook.vocabulary;
  const p = Float64Array.from(outlook.p);
  const shown = p.reduce((a, b) => a + b, 0);
  const others = (/** @type {number} */ from) => {
    let sum = Math.max(0, 1 - shown);
    for (let r = p.length - 1; r >= from; r--) sum += p[r];
    return sum;
  };
  return {
    V,
    raw: p,
    tempered: p,
    final: p,
    kept: V,
    entropy: outlook.entropy,
    rest: { raw: others, tempered: others, final: others },
  };
}

/** The three stages for the settings, over the whole vocabulary. */
function shaped(/** @type {any} */ ready, /** @type {any} */ v, /** @type {any} */ outlook) {
  const settings = {
    temperature: v.temperature,
    topK: Math.min(v.top_k, ready.V),
    topP: v.top_p,
    topPFirst: v.order === "top_p",
  };
  const result = S.stages(ready, settings);
  const rest = (/** @type {Float64Array} */ p) => (/** @type {number} */ from) => S.sum(p, from, ready.V);
  return {
    V: ready.V,
    raw: ready.raw,
    tempered: result.tempered,
    final: result.final,
    kept: result.kept,
    entropy: result.entropyFinal,
    rest: { raw: rest(ready.raw), tempered: rest(result.tempered), final: rest(result.final) },
    ids: outlook.ids,
  };
}

/** What the prose may say about what is on the stage. */
function factsOf(
  /** @type {any} */ outlook,
  /** @type {any} */ t,
  /** @type {any} */ v,
  /** @type {any} */ ready,
  /** @type {number} */ rows,
) {
  const [raw, now] = [t.rest.raw(rows), t.rest.tempered(rows)];
  const settings = { temperature: v.temperature, topK: Math.min(v.top_k, t.V), topP: v.top_p };
  const kept = (/** @type {boolean} */ first) => (ready ? S.keptInOrder(ready, settings, first) : t.kept);
  return {
    tokens: outlook.tokens.length,
    vocabulary: t.V,
    others: t.V - rows,
    others_all: t.V - 1,
    best: outlook.shown[0],
    second: outlook.shown[1],
    best_p: outlook.p[0],
    second_p: outlook.p[1],
    best_now: t.tempered[0],
    temperature: v.temperature,
    others_raw: raw,
    others_p: now,
    others_way: Math.abs(now - raw) < 0.01 ? 1 : now > raw ? 2 : 0,
    kept: t.kept,
    kept_temperature: kept(false),
    kept_top_p: kept(true),
    cut_p: Math.max(0, 1 - S.sum(t.tempered, 0, Math.min(t.kept, t.tempered.length))),
  };
}

/** @param {any} outlook */
function tableOf(outlook) {
  if (!outlook) return null;
  const rows = outlook.shown.map((/** @type {string} */ token, /** @type {number} */ i) => [
    token,
    i + 1,
    outlook.p[i],
  ]);
  return { head: ["token", "rank", "p"], rows };
}

// Every token replaced in turn, every output looked at: a square that fills column by column, and can be stopped.
import { label, mix } from "../kit/colour.js";
import { el, fill, svg } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { fit } from "./columns.js";

const AT_ONCE = 24; // tokens: so many are run without being asked to
const MOST = 64;

/** @param {any} app */
export function createInfluence(app) {
  const picture = svg("svg", { class: "gv-square", tabindex: "0", role: "application", "aria-label": text("mask.square") });
  const go = el("button", { type: "button", class: "gv-btn gv-main", onclick: () => (running ? running.abort() : start()) });
  const count = el("p", { class: "gv-soft", role: "status" });
  const tally = el("p", { class: "gv-tally" });
  const legend = el("div", { class: "gv-keys" }, ...["zero", "key", "warn"].map((k) => el("p", null, el("i", { class: `gv-sw gv-sw-${k}` }), text(`mask.key_${k}`))));
  // words: mask.key_zero mask.key_key mask.key_warn
  const root = el("div", { class: "gv-influence" }, el("div", { class: "gv-squarebox" }, picture), el("div", { class: "gv-squareside" }, tally, legend, go, count));
  /** @type {AbortController | null} */
  let running = null;
  /** @type {any} */
  let now = null; // { tokens, matrix [T × T] by column, done, stamp, asked }
  let cursor = [0, 0];
  let cell = 0;
  let left = 0;
  let top = 0;

  /** @param {any} view @param {any} asked @param {string[]} tokens @param {any} rule */
  function draw(view, asked, tokens, rule) {
    const stamp = JSON.stringify([asked, view.model]);
    if (!now || now.stamp !== stamp) {
      if (running) running.abort();
      now = { tokens, matrix: new Float32Array(tokens.length ** 2), done: 0, stamp, asked, open: rule.open.size > 0 };
      if (tokens.length <= AT_ONCE && !view.recorded) start();
    }
    paint();
  }

  async function start() {
    const mine = (running = new AbortController());
    const of = now;
    of.done = 0;
    of.matrix.fill(0);
    paint();
    try {
      await app.stream("influence_columns", of.asked, (/** @type {any} */ value) => take(of, value.columns), mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) app.parts.notice(/** @type {Error} */ (error).message);
    } finally {
      if (running === mine) running = null;
      if (of === now) paint();
    }
  }

  /** @param {any} of @param {any} columns [b, T], one row for each token replaced */
  function take(of, columns) {
    const T = of.tokens.length;
    of.matrix.set(columns, of.done * T);
    of.done += columns.shape[0];
    if (of === now && !root.hidden) paint();
  }

  /** How far output i moves when token j is replaced. @param {number} i @param {number} j */
  const at = (i, j) => now.matrix[j * now.tokens.length + i];

  function paint() {
    if (!now) return;
    const T = now.tokens.length;
    const box = picture.parentElement;
    const unit = app.parts.stage.size().unit;
    const phone = box.clientWidth < 480;
    left = (phone ? 52 : 86) * unit;
    top = (phone ? 48 : 62) * unit;
    cell = Math.max(2, Math.min((box.clientWidth - left - 4) / T, (box.clientHeight - top - 4) / T, 44 * unit));
    const side = cell * T;
    picture.setAttribute("width", left + side + 4);
    picture.setAttribute("height", top + side + 4);
    fill(picture, ...labels(T, unit), ...cells(T), svg("rect", { class: "gv-cursor", visibility: "hidden" }));
    words(T);
  }

  /** @param {number} T @param {number} unit */
  function labels(T, unit) {
    const size = Math.min(13 * unit, Math.max(9 * unit, cell * 0.8));
    const every = Math.max(1, Math.ceil((size * 1.05) / cell));
    const out = [];
    for (let t = 0; t < T; t += every) {
      const word = now.tokens[t];
      out.push(svg("text", { class: "gv-tok", x: left - 6, y: top + (t + 0.5) * cell + size * 0.35, "text-anchor": "end", "font-size": size }, fit(word, left - 8, size)));
      const [x, y] = [left + (t + 0.5) * cell, top - 6];
      out.push(svg("text", { class: "gv-tok", "font-size": size, transform: `translate(${x + size * 0.2} ${y}) rotate(-58)` }, fit(word, top * 1.05, size)));
    }
    return out;
  }

  /** @param {number} T */
  function cells(T) {
    const found = now.matrix.filter((/** @type {number} */ x) => x > 0);
    const low = found.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.min(a, b), Infinity);
    const range = Math.log(Math.max(1.001, found.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b), 0) / low));
    const out = [];
    const size = Math.min(12.5, cell * 0.34);
    for (let i = 0; i < T; i++)
      for (let j = 0; j < T; j++) {
        const x = at(i, j);
        const kind = j >= now.done ? "wait" : x === 0 ? "zero" : j > i ? "warn" : "key";
        const share = 0.3 + (0.66 * Math.log(x / low)) / range;
        const colour = x === 0 ? `var(--${kind === "wait" ? "card" : "void"})` : mix("--card", `--${kind}`, share);
        const place = { x: left + j * cell + 0.5, y: top + i * cell + 0.5, width: Math.max(1, cell - 1), height: Math.max(1, cell - 1), rx: Math.min(2, cell / 8) };
        out.push(svg("rect", { ...place, class: `gv-cell gv-cell-${kind}`, "data-row": i, "data-column": j, "data-kind": kind, style: { fill: colour } }));
        if (cell < 27 || kind === "wait") continue;
        const ink = x === 0 ? "var(--soft)" : label("--card", `--${kind}`, share);
        out.push(svg("text", { class: "gv-tok", x: left + (j + 0.5) * cell, y: top + (i + 0.5) * cell + size * 0.35, "text-anchor": "middle", "font-size": size, style: { fill: ink } }, short(x)));
      }
    return out;
  }

  /** @param {number} T */
  function words(T) {
    let right = 0;
    for (let i = 0; i < T; i++) for (let j = i + 1; j < T; j++) if (at(i, j) !== 0) right++;
    const pairs = (T * (T - 1)) / 2;
    const ready = now.done === T;
    const facts = { pairs, right, prompts: T, done: now.done, ready };
    app.facts(facts);
    go.textContent = running ? text("mask.stop") : text("mask.run_prompts", { n: T });
    go.disabled = T > MOST;
    count.textContent = T > MOST ? text("mask.too_long", { most: MOST }) : running ? text("mask.done", facts) : "";
    fill(tally, ...(ready ? phrase(right ? "mask.tally_leak" : "mask.tally_clean", facts) : []));
    const key = !ready ? "square_wait" : right ? "square_leak" : "square_clean";
    app.parts.stage.say(`mask.${key}`, facts); // words: mask.square_wait mask.square_leak mask.square_clean
    app.parts.steps.prose();
  }

  /** @param {number[] | null} place */
  function speak(place) {
    if (!place || !now || place[1] >= now.done) return app.parts.stage.point(null);
    const [i, j] = place;
    const x = at(i, j);
    const key = x === 0 ? (j > i ? "pair_zero" : "pair_none") : j > i ? "pair_leak" : "pair_moved";
    // words: mask.pair_zero mask.pair_none mask.pair_leak mask.pair_moved
    app.parts.stage.point(phrase(`mask.${key}`, { out: now.tokens[i], token: now.tokens[j], change: x }));
  }

  function mark() {
    const node = picture.querySelector(".gv-cursor");
    if (!node) return;
    node.setAttribute("visibility", document.activeElement === picture ? "visible" : "hidden");
    const [i, j] = cursor;
    for (const [k, v] of Object.entries({ x: left + j * cell, y: top + i * cell, width: cell, height: cell })) node.setAttribute(k, String(v));
  }

  picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const { row, column } = /** @type {SVGElement} */ (event.target).dataset || {};
    speak(row === undefined ? null : [Number(row), Number(column)]);
  });
  picture.addEventListener("pointerleave", () => speak(null));
  picture.addEventListener("focus", () => (mark(), speak(cursor)));
  picture.addEventListener("blur", () => (mark(), speak(null)));
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || !now) return;
    event.preventDefault();
    const most = now.tokens.length - 1;
    cursor = cursor.map((v, k) => Math.max(0, Math.min(most, v + step[k])));
    mark();
    speak(cursor);
  });

  function table() {
    if (!now) return null;
    const rows = now.tokens.map((/** @type {string} */ t, /** @type {number} */ i) => [t, ...now.tokens.map((/** @type {string} */ _, /** @type {number} */ j) => (j < now.done ? delta(at(i, j)) : ""))]);
    return { head: [text("mask.head_output"), ...now.tokens], rows };
  }
  return { root, draw, paint, table };
}

/** @param {number} x */
const short = (x) => (x === 0 ? "0" : x < 0.0995 ? delta(x).slice(0, 5) : x < 9.95 ? x.toFixed(1) : String(Math.round(x)));

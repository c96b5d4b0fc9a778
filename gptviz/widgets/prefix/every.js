// Every cut at once: a triangle, one row a length; its empty corner holds the count of the cuts that notice.
import { mix } from "../kit/colour.js";
import { el, fill, svg } from "../kit/dom.js";
import { delta } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { geometryOf } from "./board.js";
import { drawCut, drawStrip, watchCut } from "./strip.js";

const AT_ONCE = 24; // tokens: so many are checked without being asked to
const MOST = 64;

/** @param {any} app */
export function createEvery(app) {
  const picture = svg("svg", { class: "gv-checkboard", role: "group", "aria-label": text("prefix.triangle") });
  const go = el("button", { type: "button", class: "gv-btn gv-main", onclick: () => (running ? running.abort() : start()) });
  const big = el("p", { class: "gv-caught" });
  const under = el("p", { class: "gv-soft", role: "status" });
  const keys = el("div", { class: "gv-keys" }, ...["zero", "key", "warn"].map((k) => el("p", null, el("i", { class: `gv-sw gv-sw-${k}` }), text(`prefix.key_${k}`))));
  // words: prefix.key_zero prefix.key_key prefix.key_warn
  const corner = el("div", { class: "gv-corner" }, big, under, keys, go);
  const root = el("div", { class: "gv-fill" }, picture, corner);
  /** @type {AbortController | null} */
  let running = null;
  /** @type {any} */
  let now = null;
  /** @type {any} */
  let g = null;
  let moving = 0;

  /** @param {any} checks @param {any} view @param {any} asked */
  function draw(checks, view, asked) {
    const T = checks.tokens.length;
    const stamp = JSON.stringify(asked);
    moving = 0;
    if (!now || now.stamp !== stamp) {
      if (running) running.abort();
      now = { checks, asked, stamp, rows: new Float32Array(T * T), done: 0, tolerance: 0 };
      if (T <= AT_ONCE && !view.recorded) start();
    }
    now.checks = checks;
    now.view = view;
    paint();
  }

  async function start() {
    const mine = (running = new AbortController());
    const of = now;
    of.done = 0;
    try {
      await app.stream("prefix_rows", of.asked, (/** @type {any} */ value) => take(of, value), mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) app.parts.notice(/** @type {Error} */ (error).message);
    } finally {
      if (running === mine) running = null;
      if (of === now && !root.hidden) paint();
    }
  }

  /** @param {any} of @param {any} value */
  function take(of, value) {
    of.rows.set(value.rows, of.done * of.checks.tokens.length);
    of.done += value.rows.shape[0];
    of.tolerance = value.tolerance;
    if (of === now && !root.hidden) paint();
  }

  /** How far output i moves when n tokens are kept. @param {number} n @param {number} i */
  const at = (n, i) => now.rows[(n - 1) * now.checks.tokens.length + i];
  /** @param {number} n */
  const notices = (n) => Array.from({ length: n }, (_, i) => at(n, i)).some((x) => x > now.tolerance);

  function paint() {
    if (!now) return;
    const held = picture.contains(document.activeElement);
    const { tokens, other } = now.checks;
    const T = tokens.length;
    const keep = moving || now.checks.keep;
    g = { ...geometryOf(app.parts.stage.size(), root, Math.min(T, MOST), keep), keep, total: T };
    if (T <= MOST) Object.assign(g, { from: 0, shown: T, cw: (g.W - g.gutter - 2) / T });
    g.x = (/** @type {number} */ c) => g.gutter + (c - g.from) * g.cw;
    picture.setAttribute("width", g.W);
    picture.setAttribute("height", g.H);
    const top = g.stripY + 2 * g.rowH + 16 * g.unit;
    const high = Math.min(34 * g.unit, (g.H - top - 4) / (T - 1));
    const rows = T <= MOST ? Array.from({ length: T - 1 }, (_, r) => r + 1) : [];
    fill(picture, ...drawStrip(g, tokens, moving ? [] : other, keep), ...rows.flatMap((n) => row(n, top + (n - 1) * high, high, keep)), ...drawCut(g, keep, T, g.stripY + 2 * g.rowH + 8, now.view.method));
    if (held) picture.querySelector(".gv-handle")?.focus();
    words(T, keep);
  }

  /** @param {number} n @param {number} y @param {number} high @param {number} keep */
  function row(n, y, high, keep) {
    const size = Math.min(12.5 * g.unit, high * 0.8);
    const every = Math.max(1, Math.ceil(11 / high));
    const out = [];
    if (!g.phone && n % every === 0) out.push(svg("text", { class: `gv-tok${n === keep ? " gv-strong" : ""}`, x: g.gutter - 10, y: y + high / 2 + size * 0.35, "text-anchor": "end", "font-size": size }, text("prefix.first_n", { n })));
    for (let i = 0; i < n; i++) {
      const x = at(n, i);
      const kind = n > now.done ? "wait" : x === 0 ? "zero" : x > now.tolerance ? "warn" : "key";
      const fill = kind === "warn" ? mix("--card", "--warn", Math.min(1, 0.55 + 0.16 * Math.log10(1 + 100 * x))) : kind === "key" ? mix("--card", "--key", 0.45) : "";
      out.push(svg("rect", { class: `gv-cell-${kind}`, x: g.x(i) + 0.75, y: y + 0.75, width: Math.max(1, g.cw - 1.5), height: Math.max(1, high - 1.5), rx: Math.min(2, high / 6), "data-row": n, "data-column": i, "data-kind": kind,
        style: fill ? { fill } : {}, onclick: () => app.set({ keep: n }), onpointerenter: () => app.parts.stage.point(told(n, i)), onpointerleave: () => app.parts.stage.point(null) })); // prettier-ignore
      if (kind === "zero" && high >= 15 && g.cw >= 20)
        out.push(svg("text", { class: "gv-tok gv-dim", x: g.x(i) + g.cw / 2, y: y + high / 2 + size * 0.35, "text-anchor": "middle", "font-size": size * 0.92, "pointer-events": "none" }, "0"));
    }
    if (n === keep) out.push(svg("rect", { class: "gv-chosenrow", x: g.x(0) - 0.5, y: y - 0.5, width: n * g.cw + 1, height: high + 1, rx: 4 }));
    const passes = n <= now.done && now.done === now.checks.tokens.length - 1 && !notices(n) && rowsThatNotice() > 0;
    if (passes && high >= 12 && !g.phone) out.push(svg("text", { class: "gv-warn", x: g.x(n) + 7, y: y + high / 2 + size * 0.35, "font-size": size }, text("prefix.escapes")));
    return out;
  }

  function rowsThatNotice() {
    let count = 0;
    for (let n = 1; n <= now.done; n++) if (notices(n)) count++;
    return count;
  }

  /** @param {number} T @param {number} keep */
  function words(T, keep) {
    const ready = now.done === T - 1;
    const caught = rowsThatNotice();
    const missed = Array.from({ length: now.done }, (_, r) => r + 1).filter((n) => !notices(n));
    const list = missed.slice(0, 6).join(", ") + (missed.length > 6 ? " …" : "");
    const outputs = (T * (T - 1)) / 2;
    const facts = { caught, cuts: T - 1, missed: missed.length, missed_list: list, outputs, every_ready: ready, sly: ready && caught > 0 && missed.length > 0, this_misses: ready && caught > 0 && !notices(keep) };
    app.facts(facts);
    go.textContent = running ? text("prefix.stop") : text("prefix.run", { n: outputs });
    go.hidden = T > MOST || (ready && !running);
    fill(big, ready ? text("prefix.of", facts) : "");
    big.classList.toggle("gv-clean", ready && caught === 0);
    under.textContent = T > MOST ? text("prefix.too_long", { most: MOST }) : ready ? text(caught ? "prefix.notice" : "prefix.notice_none", facts) : running ? text("prefix.done", { done: now.done, cuts: T - 1 }) : "";
    const key = !ready ? "every_wait" : !caught ? "every_clean" : facts.this_misses ? "every_escapes" : missed.length ? "every_sly" : "every_caught";
    app.parts.stage.say(`prefix.${key}`, { ...facts, keep });
    // words: prefix.every_wait prefix.every_clean prefix.every_escapes prefix.every_sly prefix.every_caught
    app.parts.steps.prose();
  }

  /** @param {number} n @param {number} i */
  function told(n, i) {
    if (n > now.done) return null;
    const x = at(n, i);
    const key = x === 0 ? "cell_zero" : x > now.tolerance ? "cell_moved" : "cell_dust";
    return phrase(`prefix.${key}`, { n, token: now.checks.tokens[i], delta: x }); // words: prefix.cell_zero prefix.cell_moved prefix.cell_dust
  }

  watchCut(picture, () => g, (keep, done) => {
    moving = done ? 0 : keep;
    if (done && keep !== now.checks.keep) app.set({ keep });
    else paint();
  }); // prettier-ignore

  function table() {
    if (!now) return null;
    const { tokens } = now.checks;
    const rows = Array.from({ length: now.done }, (_, r) => [text("prefix.first_n", { n: r + 1 }), ...tokens.slice(0, -1).map((/** @type {string} */ _t, /** @type {number} */ i) => (i <= r ? delta(at(r + 1, i)) : ""))]);
    return { head: ["", ...tokens.slice(0, -1)], rows };
  }
  return { root, draw, paint, table };
}

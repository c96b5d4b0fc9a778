// Prefix check: one text, its end changed; with the mask no guess before the change moves, with a faulty one some do.
import { el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { asWord, rule, setting } from "../mask/page.js";
import { Board } from "./board.js";
import { Controls } from "./controls.js";
import { Every } from "./every.js";
import { Evidence } from "./evidence.js";
import { Toy } from "./toy.js";
import { decimal, number, percent } from "../kit/numbers.js";

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const controls = new Controls(app);
  const board = new Board(app);
  const every = new Every(app);
  const toy = new Toy(app);
  const evidence = new Evidence(app);
  root.append(controls.root, el("div", { class: "gv-prefixmain" }, board.root, every.root, toy.root, evidence.root));
  for (const part of [controls, board, every, toy, evidence]) part.root.hidden = true; // until there is what to show
  /** @type {any} */
  let view = null;
  /** @type {any} */
  let found = null;

  /** @param {any} next */
  async function show(next) {
    const four = next.show === "toy" ? await next.ask("prefix_toy", {}) : null;
    const layers = app.model() ? app.model().layers : 0;
    const asked = { text: next.text, model: next.model, ...rule(next, layers), method: next.method };
    const checks = four ? null : await next.ask("two_checks", { ...asked, keep: next.keep, by: ending(next) });
    if (!next.current()) return;
    view = next;
    found = checks;
    const now = setting(next, layers);
    controls.set(next, now, checks);
    board.root.hidden = next.show !== "check";
    every.root.hidden = next.show !== "all";
    toy.root.hidden = !four;
    evidence.root.hidden = next.show !== "evidence";
    if (checks) app.facts(factsOf(checks, now, next));
    if (four) toy.draw(four);
    else if (next.show === "check") {
      board.draw(checks, next);
      say(app, checks, next);
    } else if (next.show === "all") every.draw(checks, next, asked);
    else await evidence.draw(next, { ...asked, keep: checks.keep, by: ending(next) }, checks);
    const open = [...now.open].join();
    root.dataset.painted = `${next.show} ${checks ? checks.keep : ""} ${next.method} ${open} ${next.direction}`;
  }

  function resize() {
    if (!view) return;
    if (view.show === "check") board.paint();
    if (view.show === "all") every.paint();
    if (view.show === "toy") toy.paint();
  }

  function table() {
    if (!view) return null;
    if (view.show === "toy") return toy.table();
    if (view.show === "all") return every.table();
    return tableOf(found);
  }
  return { show, resize, table };
}

/** The new ending; a word of a text has its space before it. @param {any} view */
function ending(view) {
  if (view.method !== "edit") return "";
  return asWord(view.by);
}

/** Rounding with all its zeros: how small it is is the point. @param {number} x */
const tiny = (x) => (x === 0 ? text("numbers.exactly_0") : x < 1e-4 ? decimal(x, 7) : number(x));

/** @param {any} c @param {any} now @param {any} view */
function factsOf(c, now, view) {
  const { own, faulty } = c;
  let most = 0;
  faulty.moved.forEach(
    (/** @type {number} */ m, /** @type {number} */ i) => void (m > faulty.moved[most] && (most = i)),
  );
  const count = (/** @type {any} */ side) => side.changed.filter(Boolean).length;
  return {
    keep: c.keep,
    last: c.tokens[c.keep - 1],
    gone: c.tokens.length - c.keep,
    n: c.tokens.length,
    own_changed: count(own),
    own_max: tiny(Math.max(...own.deltas)),
    own_exact: own.deltas.every((/** @type {number} */ d) => d === 0),
    changed: count(faulty),
    all_changed: count(faulty) === c.keep,
    leak_option: count(faulty) === 0 ? 0 : count(faulty) < c.keep ? 1 : 2,
    sly_option: count(faulty) === 0 ? 1 : 0,
    none_changed: count(faulty) === 0,
    most: c.tokens[most],
    most_p: faulty.moved[most],
    most_delta: Math.max(...faulty.deltas),
    expected: faulty.expected[most],
    before: faulty.before[most],
    after: faulty.after[most],
    layer: Math.min(...now.open),
    open: now.open.size,
    tolerance: tiny(own.tolerance),
    dtype: c.dtype,
    edit: view.method === "edit",
    blocks: view.direction === "blocks",
    loss_own: own.loss,
    loss_faulty: faulty.loss,
    better: faulty.loss < own.loss,
  };
}

/** @param {any} app @param {any} c @param {any} view */
function say(app, c, view) {
  const { stage } = app.parts;
  const f = app.known;
  const way = view.method === "edit" ? "edit" : "cut";
  const holds = f.own_changed === 0 ? "holds" : "fails";
  stage.say(c.keep === 1 && holds === "holds" ? `prefix.${way}_one` : `prefix.${way}_${holds}`, f);
  // words: prefix.edit_holds prefix.edit_fails prefix.edit_one prefix.cut_holds prefix.cut_fails prefix.cut_one
}

/** @param {any} c */
function tableOf(c) {
  const head = [
    "head_after",
    "head_own",
    "head_own_p",
    "head_faulty",
    "head_faulty_p",
    "head_expected",
    "head_before",
    "head_then",
  ].map((k) => text(`prefix.${k}`));
  // words: prefix.head_after prefix.head_own prefix.head_own_p prefix.head_faulty
  // words: prefix.head_faulty_p prefix.head_expected prefix.head_before prefix.head_then
  const rows = c.own.deltas.map((/** @type {number} */ d, /** @type {number} */ i) => [
    c.tokens[i],
    short(d),
    percent(c.own.moved[i]),
    short(c.faulty.deltas[i]),
    percent(c.faulty.moved[i]),
    c.faulty.expected[i],
    percent(c.faulty.before[i]),
    percent(c.faulty.after[i]),
  ]);
  return { head, rows };
}

/** @param {number} x */
const short = (x) => (x === 0 ? text("numbers.exactly_0") : Number(x.toPrecision(3)));

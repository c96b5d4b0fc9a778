// The mask: what the guesses gain when it is taken away, how far a changed token reaches, and how it is written.
import { el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { Board } from "./board.js";
import { rowsOf } from "./bars.js";
import { Controls } from "./controls.js";
import { Grid } from "./grid.js";
import { Influence } from "./influence.js";
import { createWays } from "./ways.js";

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const controls = new Controls(app);
  const board = new Board(app, { layer: (l) => controls.toggle(l), column: (t) => chosen(t) });
  const grid = new Grid(app);
  const ways = createWays(app);
  const influence = new Influence(app);
  root.append(controls.root, el("div", { class: "gv-maskmain" }, board.root, grid.root, ways.root, influence.root));
  /** @type {any} */
  let drawn = null; // what the board shows
  /** @type {any} */
  let view = null;

  /** @param {any} next */
  async function show(next) {
    const answers = await answersOf(next);
    if (!next.current()) return;
    const now = setting(next, answers.layers);
    const asked = { text: next.text, model: next.model, ...rule(next, answers.layers) };
    const parts = await extra(next, asked, now, answers);
    if (!next.current()) return;
    view = next;
    for (const name of ["answers", "reach"]) root.classList.toggle(`gv-in-${name}`, next.show === name);
    controls.set(next, now, answers.tokens, parts.reach);
    board.root.hidden = next.show !== "answers" && next.show !== "reach";
    grid.root.hidden = next.show !== "grid";
    ways.root.hidden = next.show !== "ways";
    influence.root.hidden = next.show !== "influence";
    drawn = { ...answers, ...now, reach: parts.reach, example: exampleOf(answers, now.open.size > 0) };
    app.facts(factsOf(drawn, parts));
    if (!board.root.hidden) {
      board.draw(drawn);
      say(app, drawn);
    } else if (next.show === "grid") grid.draw(parts.grid);
    else if (next.show === "ways") ways.draw(parts.ways, answers.tokens.length);
    else influence.draw(next, asked, answers.tokens);
    root.dataset.painted = `${next.show} ${[...now.open].join()} ${next.direction}`;
  }

  /** @param {number} t */
  function chosen(t) {
    if (view && view.show === "reach" && t !== drawn.reach.position) app.set({ at: t });
  }

  function resize() {
    if (!view) return;
    if (!board.root.hidden) board.paint();
    for (const part of [grid, ways, influence]) if (!part.root.hidden) part.paint();
  }

  function table() {
    if (!view) return null;
    if (view.show === "grid") return grid.table();
    if (view.show === "influence") return influence.table();
    if (view.show === "ways") return ways.table();
    if (view.show === "answers")
      return {
        head: [text("mask.head_token"), text("mask.head_after"), text("mask.legend_closed"), text("mask.legend_open")],
        rows: rowsOf(drawn),
      };
    return reachTable(drawn);
  }
  return { show, resize, table };
}

/** The guesses under the masks as set; the layer in the middle waits for the number of layers. @param {any} view */
async function answersOf(view) {
  const asked = { text: view.text, model: view.model };
  const found = await view.ask("true_tokens", { ...asked, ...rule(view, null) });
  if (view.open !== "middle" || !view.current()) return found;
  return view.ask("true_tokens", { ...asked, ...rule(view, found.layers) });
}

/** What else this view needs. @param {any} view @param {any} asked @param {any} now @param {any} answers */
async function extra(view, asked, now, answers) {
  if (view.show === "grid") return { grid: await view.ask("mask_grid", asked), reach: null };
  if (view.show === "ways") {
    const layer = now.open.size ? Math.min(...now.open) : answers.layers >> 1;
    return { ways: await view.ask("mask_ways", { text: view.text, model: view.model, layer }), reach: null };
  }
  if (view.show !== "reach") return { reach: null };
  const replacement = asWord(view.by);
  const [reach, leaked] = await Promise.all([
    view.ask("reach", { ...asked, position: view.at, replacement }),
    now.open.size ? view.ask("leaked", asked) : null,
  ]);
  return { reach, leaked: leaked && leaked.leaked };
}

/** What is typed as a word of a text, which has its space before it. @param {string} typed */
export const asWord = (typed) => (/^[\p{L}\p{N}]/u.test(typed) ? ` ${typed}` : typed);

/** @typedef {{ open: Set<number>, direction: string }} Masks the open layers, and what an open one reads */

/** The open layers of the address. @param {any} view @param {number} layers */
export function setting(view, layers) {
  const all = Array.from({ length: layers }, (_, l) => l);
  const named = view.open === "" ? [] : view.open.split(",").map(Number);
  const open = view.open === "all" ? all : view.open === "middle" ? [layers >> 1] : named;
  return { open: new Set(open), direction: view.direction };
}

/**
 * The rule as the server takes it. Without the number of layers only what needs none is known: middle waits.
 * @param {any} view @param {number | null} layers
 */
export function rule(view, layers) {
  if (view.open === "" || (view.open === "middle" && layers === null)) return { open_layers: [], direction: "causal" };
  if (view.open === "all") return { open_layers: [], direction: view.direction };
  const open = view.open === "middle" ? [/** @type {number} */ (layers) >> 1] : view.open.split(",").map(Number);
  return { open_layers: open, direction: view.direction };
}

/** The guess that the masks change most, for the better if any gets better. @param {any} a @param {boolean} open */
function exampleOf(a, open) {
  const n = a.closed.length;
  if (!n) return -1;
  const gain = (/** @type {number} */ t) => (open ? a.changed[t] - a.closed[t] : a.closed[t]);
  let best = 0;
  for (let t = 1; t < n; t++) if (gain(t) > gain(best)) best = t;
  if (gain(best) > 0) return best;
  for (let t = 0; t < n; t++) if (gain(t) < gain(best)) best = t;
  return best;
}

/** What the prose may say. @param {any} d @param {any} parts */
function factsOf(d, parts) {
  const { closed, changed } = d.loss;
  const e = Math.max(0, d.example);
  const n = d.closed.length;
  const facts = {
    n,
    rises: d.rises,
    falls: d.falls,
    one_token: n === 0,
    guess: d.tokens[e + 1],
    before: d.tokens[e],
    guess_closed: d.closed[e],
    guess_open: d.changed[e],
    rose: n > 0 && d.changed[e] > d.closed[e],
    most: n > 0 && d.rises * 2 > n,
    cheaper: d.verdict === "cheaper",
    dearer: d.verdict === "dearer",
    loss_closed: closed,
    loss_open: changed,
    layers: d.layers,
    narrow: d.narrow.layers,
    reach: d.narrow.size,
    open: d.open.size,
    layer: Math.min(...d.open),
  };
  return parts.reach ? { ...facts, ...reachFacts(d, parts) } : facts;
}

/** @param {any} d @param {any} parts */
function reachFacts(d, parts) {
  const { change, position, replacement, tolerance } = d.reach;
  const T = d.tokens.length;
  let leaks = 0;
  const dirty = new Set();
  for (let r = 0; r <= d.layers; r++)
    for (let c = 0; c < position; c++) if (change[r * T + c] > tolerance) (leaks++, dirty.add(r));
  const facts = /** @type {Record<string, any>} */ ({
    position,
    leaks,
    old: d.tokens[position],
    now: replacement,
    left: position * (d.layers + 1),
    rows: dirty.size,
    all_rows: d.layers + 1,
    row_option: dirty.size === 0 ? 3 : dirty.size === 1 ? 0 : dirty.size === d.layers - Math.min(...d.open) ? 1 : 2,
  });
  if (!parts.leaked) return facts;
  const heads = parts.leaked.shape[1];
  let sum = 0;
  for (const l of d.open) {
    let mine = 0;
    for (let h = 0; h < heads; h++) mine += parts.leaked[l * heads + h] / heads;
    facts[`leak_${l}`] = mine;
    sum += mine / d.open.size;
  }
  return { ...facts, leaked: sum };
}

/** The board's own sentence, from its own numbers. @param {any} app @param {any} d */
function say(app, d) {
  const { stage } = app.parts;
  const facts = app.known;
  if (d.reach) {
    const one = d.open.size === 1;
    const clean = d.reach.tolerance > 0 ? "reach_within" : "reach_clean";
    const key = !d.reach.position ? "reach_first" : !facts.leaks ? clean : one ? "reach_one" : "reach_leak";
    // words: mask.reach_first mask.reach_clean mask.reach_within mask.reach_leak mask.reach_one
    return stage.say(`mask.${key}`, facts);
  }
  if (!d.closed.length) return stage.say("mask.one_token", { token: d.tokens[0] });
  if (!d.open.size) return stage.say("mask.closed", facts);
  const key =
    facts.rises === facts.n ? "reads_all" : facts.most ? "reads_most" : facts.rises ? "reads_some" : "reads_none";
  stage.say(`mask.${key}`, facts); // words: mask.reads_all mask.reads_most mask.reads_some mask.reads_none
}

/** @param {any} d */
function reachTable(d) {
  const T = d.tokens.length;
  const rows = [];
  for (let r = d.layers; r >= 0; r--) {
    const name = r ? text("mask.layer", { l: r - 1 }) : text("mask.embedding");
    rows.push([name, ...Array.from({ length: T }, (_, c) => Number(d.reach.change[r * T + c].toPrecision(3)))]);
  }
  return { head: ["", ...d.tokens], rows };
}

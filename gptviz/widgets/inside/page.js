// Inside: one column followed from the token table to the answer; what it looks like half-way, and what it is made of.
import { el } from "../kit/dom.js";
import { createColumn } from "./column.js";
import { createCount } from "./count.js";
import { createOrder } from "./order.js";
import { createStream } from "./stream.js";
import { createTable } from "./lookup.js";
import { createParts } from "./parts.js";
import { text } from "../kit/words.js";

const VIEWS = {
  column: createColumn,
  table: createTable,
  order: createOrder,
  stream: createStream,
  parts: createParts,
  count: createCount,
};

/** @param {HTMLElement} root @param {any} app */
export function mount(root, app) {
  /** @type {Record<string, any>} */
  const made = {};
  /** @type {any} */
  let now = null;

  async function show(/** @type {any} */ view) {
    const args = { text: view.text, at: view.at, model: view.model };
    const column = await view.ask("column", args);
    if (!view.current()) return;
    const name = /** @type {keyof typeof VIEWS} */ (view.show);
    if (!made[name]) {
      const box = el("div", { class: `gv-inside-view gv-inside-${name}` });
      root.append(box);
      made[name] = { box, draw: VIEWS[name](box, app) };
    }
    await made[name].draw.show(view, column);
    if (!view.current()) return;
    for (const [key, each] of Object.entries(made)) each.box.hidden = key !== name;
    now = made[name].draw;
    now.resize();
    app.facts(factsOf(column, view));
  }
  return { show, resize: () => now && now.resize(), table: () => (now ? now.table() : null) };
}

/** @param {any} column @param {any} view */
function factsOf(column, view) {
  const rows = column.rows;
  const last = rows[rows.length - 1];
  const settles = settled(rows);
  return {
    token: column.tokens[column.place],
    width: column.width,
    layers: rows.length - 1,
    vocabulary: column.vocabulary,
    answer: word(last.top[0].shown),
    settles,
    only_last: settles === rows.length - 2,
    midway: settles >= 0 && settles < rows.length - 2,
    show: view.show,
  };
}

/** The layer from which on the column says what it says at the top; −1 when the table row says it already. */
export function settled(/** @type {any[]} */ rows) {
  const target = rows[rows.length - 1].top[0].id;
  let at = rows.length - 1;
  while (at > 0 && rows[at - 1].top[0].id === target) at--;
  return at - 1;
}

export const BLANK = /^[·⍽⏎]+$/;

/** A token as a word of a sentence: a lone blank has a name. @param {string} shown */
export const word = (shown) => (BLANK.test(shown) ? text("inside.space") : shown);

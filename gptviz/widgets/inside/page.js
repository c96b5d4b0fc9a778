// Inside: one column followed from the token table to the answer; what it looks like half-way, and what it is made of.
import { el } from "../kit/dom.js";
import { createColumn } from "./column.js";
import { createCount } from "./count.js";
import { createNeurons } from "./neurons.js";
import { createOrder } from "./order.js";
import { createSwap } from "./swap.js";
import { createStream } from "./stream.js";
import { createTable } from "./lookup.js";
import { createParts } from "./parts.js";
import { createPatching } from "./patching.js";
import { course } from "./runs.js";
import { text } from "../kit/words.js";

const VIEWS = {
  column: createColumn,
  table: createTable,
  order: createOrder,
  swap: createSwap,
  stream: createStream,
  neurons: createNeurons,
  parts: createParts,
  patching: createPatching,
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
  const { key, settles } = course(rows);
  return {
    token: column.tokens[column.place],
    width: column.width,
    layers: rows.length - 1,
    vocabulary: column.vocabulary,
    answer: word(last.top[0].shown),
    settles,
    only_last: key === "top",
    midway: key === "late" || key === "back",
    show: view.show,
  };
}

export const BLANK = /^[·⍽⏎]+$/;

/** A token as a word of a sentence: a lone blank has a name. @param {string} shown */
export const word = (shown) => (BLANK.test(shown) ? text("inside.space") : shown);

// The KV cache: one pane for each of its pictures, one of them on the stage.
import { Cost } from "./cost.js";
import { Draft } from "./draft.js";
import { End } from "./end.js";
import { Heads } from "./heads.js";
import { Race } from "./race.js";
import { Rows } from "./rows.js";
import { Size } from "./size.js";

const MAKE = { race: Race, draft: Draft, rows: Rows, heads: Heads, size: Size, end: End, cost: Cost };

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  /** @type {Record<string, any>} */
  const panes = {};
  /** @type {any} */
  let pane = null;

  /** The bill is the race with another line under it. @param {string} show */
  function open(show) {
    const name = show === "bill" ? "race" : show;
    if (!panes[name]) root.append((panes[name] = new MAKE[/** @type {"race"} */ (name)](app)).root);
    for (const other of Object.values(panes)) other.root.hidden = other !== panes[name];
    if (pane && pane !== panes[name] && pane.leave) pane.leave();
    return (pane = panes[name]);
  }

  return {
    show: (/** @type {any} */ view) => open(view.show).show(view),
    resize: () => pane && pane.resize(),
    table: () => pane && pane.table(),
  };
}

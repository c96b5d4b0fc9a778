// Runs of layers that say the same, and what is said of them.
import { text } from "../kit/words.js";
import { BLANK, word } from "./page.js";

/** @param {any[]} rows */
export function grouped(rows) {
  /** @type {{ first: number, last: number, shown: string }[]} */
  const runs = [];
  rows.forEach((row, r) => {
    const last = runs[runs.length - 1];
    if (last && r > 1 && rows[r - 1].top[0].id === row.top[0].id) last.last = r;
    else runs.push({ first: r, last: r, shown: row.top[0].shown });
  });
  return runs;
}

/** @param {any} run @param {number} rows @param {any} column */
export function told(run, rows, column) {
  if (run.first === 0) return text("inside.looked_up", { id: column.ids[column.place], vocabulary: column.vocabulary });
  const values = { first: run.first - 1, last: run.last - 1, word: word(run.shown) };
  // words: inside.run_*
  const one = run.first === run.last;
  if (BLANK.test(run.shown) && run.last < rows - 1)
    return text(one ? "inside.run_blank_one" : "inside.run_blank", values);
  if (run.last === rows - 1) return text(one ? "inside.run_final_one" : "inside.run_final", values);
  return text(one ? "inside.run_one" : "inside.run_many", values);
}

/** A second line beside a run of layers: why a blank, or what the first of the last ones did. */
export function why(/** @type {any} */ run, /** @type {any} */ column, /** @type {boolean} */ final) {
  if (!final) return BLANK.test(run.shown) && run.first ? text("inside.run_blank_why") : "";
  if (run.first < 1) return "";
  const [from, to] = [column.rows[run.first - 1].target_p, column.rows[run.first].target_p];
  return text("inside.run_lift", { layer: run.first - 1, from, to });
}

/** @param {string} words @param {number} room */
export const clip = (words, room) => (words.length > room ? `${words.slice(0, Math.max(1, room - 1))}…` : words);

/** How the column comes to its answer: the key of the sentence, and since which layer. @param {any[]} rows */
export function course(rows) {
  const last = rows.length - 1;
  const target = rows[last].top[0].id;
  let at = last;
  while (at > 0 && rows[at - 1].top[0].id === target) at--;
  const once = rows.findIndex((row, r) => r > 0 && row.top[0].id === target);
  const settles = at - 1;
  const key = settles < 0 ? "from_start" : once < at ? "back" : at === last ? "top" : "late";
  return { key, settles, once: once - 1 };
}

// The two lanes of the race side by side: headings, running numbers and cells, with pointer and arrow keys.
import { el, fill } from "../kit/dom.js";
import { whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { createGrid } from "./grid.js";

export const LANES = ["uncached", "cached"];

/**
 * Tokens run through the model to write n after a prompt of p.
 * @param {number} p @param {number} n @param {string} lane
 */
export function readings(p, n, lane) {
  if (!n) return 0;
  return lane === "cached" ? p + n - 1 : n * p + (n * (n - 1)) / 2;
}

/** How that number comes about. @param {number} p @param {number} n @param {string} lane */
function summed(p, n, lane) {
  if (n < 2) return phrase("kv_cache.sum_one", { p: n ? p : 0 });
  const values = { p, q: p + 1, last: p + n - 1, more: n - 1 };
  if (lane === "cached") return phrase("kv_cache.sum_kept", values);
  // words: kv_cache.sum_two kv_cache.sum_again
  return phrase(n === 2 ? "kv_cache.sum_two" : "kv_cache.sum_again", values);
}

/** @param {{ point: (cell: any) => void, move: (key: string) => void }} on */
export function createLanes(on) {
  const lanes = LANES.map(createLane);
  const attributes = {
    class: "gv-kv-lanes",
    tabindex: "0",
    role: "application",
    "aria-label": text("kv_cache.picture"),
  };
  const root = el("div", attributes, ...lanes.map((lane) => lane.root));
  listen(root, lanes, on);

  /** @param {any} given prompt, count, rows, names, caption, unit */
  function draw({ prompt, count, rows, names, caption, unit }) {
    LANES.forEach((name, i) => {
      lanes[i].number.textContent = whole(readings(prompt, rows[i], name));
      fill(lanes[i].sum, ...summed(prompt, rows[i], name));
      lanes[i].grid.draw({ prompt, count, upto: rows[i], names, kept: name === "cached" }, unit, caption);
    });
  }

  /** @param {any} cell */
  const point = (cell) => lanes.forEach((lane, i) => lane.grid.point(cell && cell.lane === i ? cell : null));
  return { root, draw, point };
}

/** @param {string} name */
function createLane(name) {
  const number = el("b", { class: "gv-kv-bignumber" });
  const sum = el("span", { class: "gv-kv-sum" });
  // words: kv_cache.lane_uncached kv_cache.lane_cached kv_cache.lane_uncached_note kv_cache.lane_cached_note
  const grid = createGrid();
  const title = el("h2", null, text(`kv_cache.lane_${name}`), el("small", null, text(`kv_cache.lane_${name}_note`)));
  const count = el(
    "div",
    { class: "gv-kv-tally" },
    el("div", null, number, " ", el("span", null, text("kv_cache.readings"))),
    sum,
  );
  const root = el(
    "div",
    { class: `gv-kv-lane gv-kv-lane-${name}` },
    el("div", { class: "gv-kv-lanehead" }, title, count),
    grid.root,
  );
  return { root, number, sum, grid };
}

/** @param {HTMLElement} root @param {any[]} lanes @param {any} on */
function listen(root, lanes, on) {
  lanes.forEach((lane, i) => {
    const look = (/** @type {PointerEvent} */ event) => {
      const found = lane.grid.find(event.clientX, event.clientY);
      on.point(found && { ...found, lane: i });
    };
    lane.grid.box.addEventListener("pointermove", look);
    lane.grid.box.addEventListener("pointerdown", look);
  });
  root.addEventListener("pointerleave", () => on.point(null));
  root.addEventListener("blur", () => on.point(null));
  root.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    on.move(event.key);
  });
}

/**
 * The cell that an arrow key leads to; over the end of a row into the other lane.
 * @param {{ lane: number, row: number, column: number }} now @param {string} key
 * @param {number} prompt @param {number} count
 */
export function neighbour(now, key, prompt, count) {
  const next = { ...now };
  if (key === "ArrowUp") next.row = Math.max(0, now.row - 1);
  if (key === "ArrowDown") next.row = Math.min(count - 1, now.row + 1);
  if (key === "ArrowRight") next.column = now.column + 1;
  if (key === "ArrowLeft") next.column = now.column - 1;
  const last = prompt + next.row - 1;
  if (next.column > last) return now.lane ? { ...next, column: last } : { ...next, lane: 1, column: 0 };
  if (next.column < 0) return now.lane ? { ...next, lane: 0, column: last } : { ...next, column: 0 };
  return next;
}

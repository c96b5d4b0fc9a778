// The stage: one picture with its sentence. Its box has its final height before any data comes, and nothing covers it.
import { el, fill } from "./dom.js";
import { phrase, text } from "./words.js";

/**
 * @typedef {object} Stage
 * @property {HTMLElement} root
 * @property {HTMLElement} fig where a page draws
 * @property {(key: string, values?: Record<string, any>) => void} say the picture's own sentence
 * @property {(nodes: (Node | string)[] | null) => void} point a sentence about what is pointed at; null gives way again
 * @property {(title: string) => void} title for the present view
 * @property {(on: boolean) => void} recorded
 * @property {(sentence: string) => void} fail
 * @property {(on: boolean) => void} busy
 * @property {(table: Table | null) => void} table
 * @property {() => { width: number, height: number, unit: number }} size
 * @typedef {{ head: string[], rows: (string | number)[][] }} Table
 */

/** @returns {Stage} */
export function createStage() {
  const title = el("p", { class: "gv-big" });
  const sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const mark = el("span", { class: "gv-recorded", hidden: true }, text("frame.recorded"));
  const waiting = createWaiting();
  const fig = el("div", { class: "gv-fig" });
  const error = el("div", { class: "gv-fail", role: "alert", hidden: true });
  const numbers = el("div", { class: "gv-numbers", hidden: true, tabindex: "0", "aria-label": text("frame.table") });
  const box = el("div", { class: "gv-figbox" }, fig, error, numbers);
  const label = text("frame.picture");
  const attributes = { class: "gv-stage", id: "gv-stage", tabindex: "-1", "aria-label": label };
  const root = el("section", attributes, title, el("div", { class: "gv-sayrow" }, sentence, waiting.root, mark), box);
  /** @type {(Node | string)[]} */
  let own = [];
  let pointing = false;
  const show = (/** @type {(Node | string)[]} */ nodes) => fill(sentence, ...nodes);
  const point = (/** @type {(Node | string)[] | null} */ nodes) => {
    pointing = nodes !== null;
    show(nodes || own);
  };
  fig.addEventListener("focusout", () => point(null));

  return {
    root,
    fig,
    point,
    say(key, values = {}) {
      own = phrase(key, values);
      if (!pointing) show(own);
    },
    title: (words) => void (title.textContent = words),
    recorded(on) {
      mark.hidden = !on;
      box.classList.toggle("gv-there", on); // a recorded picture is not dimmed while the live one is on its way
    },
    fail(words) {
      error.hidden = !words;
      fig.hidden = Boolean(words);
      error.textContent = words;
      if (words) own = [];
      if (words) show([]);
    },
    busy(on) {
      if (on) box.setAttribute("aria-busy", "true");
      else box.removeAttribute("aria-busy");
      waiting.on(on);
    },
    table(table) {
      numbers.hidden = !table;
      fig.classList.toggle("gv-behind", Boolean(table));
      if (table) fill(numbers, drawTable(table));
    },
    size() {
      const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
      return { width: box.clientWidth, height: box.clientHeight, unit };
    },
  };
}

/** From the first second of a wait on: how long it has lasted, counted beside the sentence. */
function createWaiting() {
  const root = el("span", { class: "gv-recorded gv-waiting", hidden: true });
  let timer = 0;
  let seconds = 0;
  const count = () => {
    root.hidden = false;
    fill(root, text("frame.computing", { seconds: ++seconds }));
  };
  /** @param {boolean} waits */
  function on(waits) {
    clearInterval(timer);
    root.hidden = true;
    seconds = 0;
    if (waits) timer = window.setInterval(count, 1000);
  }
  return { root, on };
}

/** @param {Table} table */
function drawTable({ head, rows }) {
  return el(
    "table",
    { class: "gv-table" },
    el("thead", null, el("tr", null, ...head.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, ...rows.map((row) => el("tr", null, ...row.map(cell)))),
  );
}

/** @param {string | number} value @param {number} index */
const cell = (value, index) => el(index ? "td" : "th", index ? {} : { scope: "row" }, String(value));

// The text that was read, token by token: pointed at, each says what the model expected in its place.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

const SHOWN = 40; // tokens, from the end

/** @param {any} instead the list of what was expected at a place */
export function createContext(instead) {
  const label = text("next_token.read");
  const root = el("div", { class: "gv-ctx", role: "listbox", "aria-label": label, "aria-orientation": "horizontal" });
  root.addEventListener("pointerleave", () => instead.rest());
  root.addEventListener("focusout", () => instead.rest());
  root.addEventListener("keydown", step);
  /** @type {any[]} */
  let cells = [];

  /** @param {string[]} tokens */
  function draw(tokens) {
    const from = Math.max(0, tokens.length - SHOWN);
    cells = tokens.slice(from).map((token, i) => cell(token, from + i));
    if (cells.length) cells[cells.length - 1].tabIndex = 0;
    fill(root, ...cells, el("span", { class: "gv-slot", "aria-hidden": "true" }, "?"));
    root.scrollLeft = root.scrollWidth;
  }

  /** @param {string} token @param {number} at */
  function cell(token, at) {
    const look = () => instead.point(at);
    const hold = () => instead.hold(at);
    const more = { onpointerenter: look, onfocus: look, onclick: hold };
    return el("span", { role: "option", tabindex: "-1", "aria-selected": "false", ...more }, token);
  }

  /** @param {KeyboardEvent} event */
  function step(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const here = cells.indexOf(/** @type {any} */ (document.activeElement));
    const there = cells[Math.max(0, Math.min(cells.length - 1, here + way))];
    cells.forEach((c) => (c.tabIndex = c === there ? 0 : -1));
    there.focus();
  }
  return { root, draw };
}

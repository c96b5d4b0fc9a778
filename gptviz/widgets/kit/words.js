// Texts by key, in the visitor's language: the twin of gptviz/words.py. gptviz/marks.py says what may stand in a text.
//
//   setWords(bundle, "en")                      once, with what words(language).bundle() gave
//   text("mask.title", { n: 3 })                plain characters: for titles, labels, canvases
//   phrase("mask.sentence", { token, p })       DOM nodes: values enter as text nodes only, never as HTML
//   render(template, values)                    the same for a text that is not in the words, such as a step's prose
//
// A value may be a string, a number, an array (format `list`) or, in phrase(), a node of the page's own.

import * as numbers from "./numbers.js";
import { parse } from "./marks.js";

/** @typedef {import("./marks.js").Part} Part */
/** @typedef {import("./marks.js").Value} Value */
/** @typedef {import("./marks.js").Marked} Marked */
/** @typedef {import("./numbers.js").Text} Text */
/** @typedef {{[name: string]: unknown}} Values */

/** @type {{[key: string]: Text}} */
let entries = {};
let strict = false;
let spoken = "en";
let terms = 0;
/** @type {Map<string, Part[]>} */
const read = new Map();

/**
 * The texts of the page from now on.
 * @param {{[key: string]: Text}} bundle by key
 * @param {string} language its tag; `qps`, the language of tests, says its numbers in English
 * @param {{strict?: boolean}} [options] strict: a missing key or value throws (in tests); else it shows as itself
 */
export function setWords(bundle, language, options = {}) {
  entries = bundle;
  spoken = language;
  strict = options.strict ?? false;
  const own = Object.entries(bundle).filter(([key]) => key.startsWith("numbers."));
  numbers.setNumbers(
    language === "qps" ? "en" : language,
    Object.fromEntries(own.map(([key, text]) => [key.slice("numbers.".length), text])),
  );
}

/** The language of the page, which its questions carry, so that errors are said in it too. */
export const language = () => spoken;

/**
 * Is there a text with this key?
 * @param {string} key
 */
export const has = (key) => Object.hasOwn(entries, key);

/**
 * A text as plain characters: values said, marks taken away.
 * @param {string} key
 * @param {Values} [values]
 * @returns {string}
 */
export function text(key, values = {}) {
  return plain(template(key, values), values);
}

/**
 * Any template as plain characters.
 * @param {string} given
 * @param {Values} [values]
 */
export function plain(given, values = {}) {
  return parsed(given)
    .map((part) => said(part, values))
    .join("");
}

/**
 * A text as nodes: <strong>, <em>, <code class="gv-token">, <button class="gv-link" data-state>, and terms with their
 * definition.
 * @param {string} key
 * @param {Values} [values]
 * @returns {Node[]}
 */
export function phrase(key, values = {}) {
  return render(template(key, values), values);
}

/**
 * Any template as nodes.
 * @param {string} given
 * @param {Values} [values]
 * @returns {Node[]}
 */
export function render(given, values = {}) {
  return parsed(given).flatMap((part) => nodes(part, values));
}

/**
 * @param {string} key
 * @param {Values} values
 * @returns {string}
 */
function template(key, values) {
  if (!has(key)) {
    if (strict) throw new Error(`no text for ${key}`);
    return literal(key);
  }
  const entry = entries[key];
  return typeof entry === "string" ? entry : form(key, entry, values);
}

/**
 * A key as a template that shows it, whatever characters it has.
 * @param {string} shown
 */
const literal = (shown) => shown.replace(/[\\{}*`[\](]/g, "\\$&");

/**
 * The plural form for the value that `by` names.
 * @param {string} key
 * @param {{[name: string]: string}} forms
 * @param {Values} values
 */
function form(key, forms, values) {
  const n = values[forms.by];
  if (typeof n !== "number") {
    if (strict) throw new Error(`${key} needs the number ${forms.by}`);
    return forms.other;
  }
  return forms[`=${n}`] || forms[numbers.plural(n, { ordinal: forms.type === "ordinal" })] || forms.other;
}

/**
 * @param {string} given
 * @returns {Part[]}
 */
function parsed(given) {
  let parts = read.get(given);
  if (!parts) {
    parts = parse(given);
    if (read.size > 4096) read.clear();
    read.set(given, parts);
  }
  return parts;
}

/**
 * @param {Part} part
 * @param {Values} values
 * @returns {string}
 */
function said(part, values) {
  if (typeof part === "string") return part;
  if ("value" in part) return valueOf(part, values);
  return part.inside.map((inner) => said(inner, values)).join("");
}

/**
 * @param {Value} part
 * @param {Values} values
 * @returns {string}
 */
function valueOf(part, values) {
  const { value: name, format: how } = part;
  if (!Object.hasOwn(values, name)) {
    if (strict) throw new Error(`the value ${name} is missing`);
    return `{${name}}`;
  }
  const value = values[name];
  if (how === "list") return [.../** @type {Iterable<unknown>} */ (value)].map(bare).join(separator());
  if (how === "raw") return String(value);
  return how && typeof value === "number" ? FORMATS[how](value, part.digits) : bare(value);
}

/** @type {{[format: string]: (value: number, digits: number) => string}} */
const FORMATS = {
  decimal: (value, digits) => numbers.decimal(value, digits),
  percent: (value) => numbers.percent(value),
  chance: (value) => numbers.chance(value),
  exact: (value) => numbers.exact(value),
  delta: (value) => numbers.delta(value),
  number: (value) => numbers.number(value),
  whole: (value) => numbers.whole(value),
  ordinal: (value) => numbers.ordinal(value),
  times: (value) => numbers.times(value),
  bytes: (value) => numbers.bytes(value),
  bytes_exact: (value) => numbers.bytesExact(value),
  seconds: (value) => numbers.seconds(value),
};

const separator = () => String(entries["numbers.list_separator"] ?? ", ");

/**
 * A value without a format: a number as people say it, all else as it is.
 * @param {unknown} value
 */
const bare = (value) => (typeof value === "number" ? numbers.number(value) : String(value));

/**
 * @param {Part} part
 * @param {Values} values
 * @returns {Node[]}
 */
function nodes(part, values) {
  if (typeof part === "string") return [document.createTextNode(part)];
  if ("value" in part) {
    const given = values[part.value];
    return [given instanceof Node ? given : document.createTextNode(valueOf(part, values))];
  }
  const inside = part.inside.flatMap((inner) => nodes(inner, values));
  if (part.mark === "link") return [link(inside, stateOf(part, values))];
  if (part.mark === "term") return term(part.term ?? "", inside);
  const node = document.createElement(part.mark === "token" ? "code" : part.mark);
  if (part.mark === "token") node.className = "gv-token";
  node.append(...inside);
  return [node];
}

/**
 * The state a link sets, its values as they are in an address.
 * @param {Marked} part
 * @param {Values} values
 */
function stateOf(part, values) {
  const parts = part.state ?? [];
  return parts
    .map((inner) => {
      if (typeof inner === "string" || !("value" in inner)) return inner;
      return encodeURIComponent(valueOf({ ...inner, format: "raw" }, values));
    })
    .join("");
}

/**
 * @param {Node[]} inside
 * @param {string} state
 */
function link(inside, state) {
  const node = document.createElement("button");
  node.type = "button";
  node.className = "gv-link";
  node.dataset.state = state;
  node.append(...inside);
  return node;
}

/**
 * A term and its definition.
 * @param {string} key
 * @param {Node[]} inside
 * @returns {Node[]}
 */
function term(key, inside) {
  const means = `terms.${key}.means`; // words: terms.*.means
  if (!has(means)) {
    if (strict) throw new Error(`no text for ${means}`);
    return inside;
  }
  const box = document.createElement("span");
  const name = document.createElement("button");
  const definition = document.createElement("span");
  terms += 1;
  definition.id = `gv-term-${terms}`;
  definition.className = "gv-term-means";
  definition.setAttribute("role", "tooltip");
  definition.textContent = text(means);
  name.type = "button";
  name.className = "gv-term";
  name.setAttribute("aria-describedby", definition.id);
  name.append(...inside);
  box.className = "gv-term-box";
  box.append(name, definition);
  opens(box, definition);
  return [box];
}

/**
 * The definition shows on hover, focus and tap, wholly on the screen; Escape takes it away.
 * @param {HTMLElement} box
 * @param {HTMLElement} definition
 */
function opens(box, definition) {
  const show = () => {
    box.classList.add("gv-open");
    place(box, definition);
  };
  const hide = () => box.classList.remove("gv-open");
  box.addEventListener("pointerenter", show);
  box.addEventListener("pointerleave", hide);
  box.addEventListener("focusin", show);
  box.addEventListener("focusout", hide);
  box.addEventListener("click", show); // a tap: the pointer has left, and not every browser gives a button the focus
  document.addEventListener("pointerdown", closeOthers); // the same function: added once
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
}

/**
 * A press beside an open definition closes it.
 * @param {Event} event
 */
function closeOthers(event) {
  for (const box of document.querySelectorAll(".gv-term-box.gv-open")) {
    if (!box.contains(/** @type {Node} */ (event.target))) box.classList.remove("gv-open");
  }
}

/**
 * Under the term, or above it where there is no room; never over an edge of the screen.
 * @param {HTMLElement} box
 * @param {HTMLElement} definition
 */
function place(box, definition) {
  const edge = 8; // px
  const screen = document.documentElement;
  definition.style.left = "0";
  box.classList.remove("gv-above");
  const at = definition.getBoundingClientRect();
  const over = Math.max(0, at.right - (screen.clientWidth - edge));
  definition.style.left = `${-Math.min(over, Math.max(0, at.left - edge))}px`;
  const room = box.getBoundingClientRect().top > at.height + edge;
  box.classList.toggle("gv-above", at.bottom > screen.clientHeight - edge && room);
}

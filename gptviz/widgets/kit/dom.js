// Small things of the document: elements, canvases, numbers from the server. Text goes in as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, any>} Attributes */

/**
 * An element: `class`, `on…` listeners, `style` as an object, any other attribute; null, undefined and false are
 * left out.
 * @param {string} tag
 * @param {Attributes | null} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {any}
 */
export function el(tag, attributes, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Attributes | null} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {any}
 */
export function svg(tag, attributes, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @param {any} node
 * @param {Attributes | null | undefined} attributes
 * @param {(Node | string | null | undefined | false)[]} children
 */
function furnish(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style" && typeof value === "object") dress(node, value);
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? "" : String(value));
    }
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

/**
 * Words in a picture, set on their middle line.
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {string} [kind] its class
 * @param {"start" | "middle" | "end"} [anchor]
 * @param {Attributes} [more]
 */
export function mark(x, y, words, kind = "gv-tick", anchor = "start", more = {}) {
  return svg("text", { x, y, class: kind, "text-anchor": anchor, ...more }, words);
}

/**
 * A rectangle in a picture, never thinner than a pixel.
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {Attributes} [more]
 */
export function rect(x, y, width, height, more = {}) {
  return svg("rect", { x, y, width: Math.max(1, width), height: Math.max(1, height), ...more });
}

/** @param {any} node @param {Record<string, string | number>} style */
export function dress(node, style) {
  for (const [name, value] of Object.entries(style)) node.style.setProperty(name, String(value));
}

/**
 * Replace what a node holds.
 * @param {Element} node
 * @param {...(Node | string | null | undefined | false)} children
 */
export function fill(node, ...children) {
  node.replaceChildren(.../** @type {(Node | string)[]} */ (children.filter((c) => c || c === "")));
  return node;
}

/**
 * A canvas's 2D context, sharp on any screen and scaled to CSS pixels; the canvas is cleared.
 * @param {HTMLCanvasElement} node
 * @param {number} width
 * @param {number} height
 */
export function canvas(node, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (node.width !== w) node.width = w;
  if (node.height !== h) node.height = h;
  dress(node, { width: `${width}px`, height: `${height}px` });
  const context = /** @type {CanvasRenderingContext2D} */ (node.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Turn the server's packed tensors ({"$f32": base64, "shape"}) anywhere in a value into typed arrays with a `shape`.
 * @param {any} value
 * @returns {any}
 */
export function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  for (const [mark, kind] of KINDS) {
    if (mark in value) return Object.assign(new kind(bytes(value[mark]).buffer), { shape: value.shape });
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
}

/**
 * The way back: typed arrays with a `shape` as packed tensors, for a file.
 * @param {any} value
 * @returns {any}
 */
export function packed(value) {
  if (Array.isArray(value)) return value.map(packed);
  if (value === null || typeof value !== "object") return value;
  const kind = KINDS.find(([, kind]) => value instanceof kind);
  if (!kind) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, packed(item)]));
  const raw = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  let letters = "";
  for (let i = 0; i < raw.length; i += 8192) letters += String.fromCharCode(...raw.subarray(i, i + 8192));
  return { [kind[0]]: btoa(letters), shape: value.shape };
}

/** @type {[string, any][]} */
const KINDS = [
  ["$f32", Float32Array],
  ["$i32", Int32Array],
  ["$u8", Uint8Array],
];

/** @param {string} text */
function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/**
 * One of several choices as buttons with aria-pressed.
 * @template {string} T
 * @param {string} label what the group is called to a screen reader
 * @param {[T, string][]} options value and text
 * @param {(value: T) => void} pick
 */
export function segment(label, options, pick) {
  const buttons = options.map(([value, text]) =>
    el("button", { type: "button", "data-value": value, onclick: () => pick(value) }, text),
  );
  const box = el("div", { class: "gv-seg", role: "group", "aria-label": label }, ...buttons);
  /** @param {T | null} value */
  const set = (value) => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === value)));
  return { box, set };
}

/**
 * Save something made in the page as a file.
 * @param {string} name
 * @param {Blob} data
 */
export function save(name, data) {
  const url = URL.createObjectURL(data);
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** True when the reader asked for less motion. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

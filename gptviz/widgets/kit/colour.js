// Colours come from the stylesheet's tokens, so that light and dark are one place; a label takes what can be read.

/** @type {Map<string, number[]>} */
const known = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();

/**
 * A token such as "--key", or a colour such as "#fff", as [r, g, b].
 * @param {string} name
 */
export function rgb(name) {
  let found = known.get(name);
  if (!found) {
    const value = name.startsWith("#") ? name : getComputedStyle(document.body).getPropertyValue(name);
    const hex = value.trim().replace("#", "");
    const full = hex.length === 3 ? [...hex].map((c) => c + c).join("") : hex;
    found = [0, 2, 4].map((i) => parseInt(full.slice(i, i + 2), 16) || 0);
    known.set(name, found);
  }
  return found;
}

/**
 * A colour between two tokens; t from 0 to 1.
 * @param {string} from
 * @param {string} to
 * @param {number} t
 */
export function mix(from, to, t) {
  return `rgb(${between(from, to, t).join(",")})`;
}

/** @param {string} from @param {string} to @param {number} t */
function between(from, to, t) {
  const a = rgb(from);
  const b = rgb(to);
  return a.map((v, i) => Math.round(v + (b[i] - v) * Math.min(1, Math.max(0, t))));
}

/**
 * 256 steps between two tokens, one Uint32 a pixel (little-endian RGBA), for ImageData.
 * @param {string} from
 * @param {string} to
 */
export function ramp(from, to) {
  const out = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = between(from, to, i / 255);
    out[i] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  }
  return out;
}

const ENOUGH = 4.5; // WCAG's contrast for text
// not words: names of colours
const INKS = ["--ink", "--card", "#000", "#fff"];

/**
 * The colour of words on the mix of two tokens: ink or paper, whichever contrasts more; between light and dark, where
 * neither will do, black or white, one of which always does.
 * @param {string} from
 * @param {string} to
 * @param {number} t
 */
export function label(from, to, t) {
  const ground = luminance(between(from, to, t));
  const [ink, paper, black, white] = INKS.map((name) => ({ name, by: contrast(luminance(rgb(name)), ground) }));
  const own = ink.by >= paper.by ? ink : paper;
  const found = own.by >= ENOUGH ? own : black.by >= white.by ? black : white;
  return css(found.name);
}

/** @param {string} name */
export const css = (name) => `rgb(${rgb(name).join(",")})`;

/** @param {number} a @param {number} b */
export const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

/** @param {number[]} colour */
export function luminance(colour) {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * Call when the theme has changed, and everything drawn on a canvas must be drawn again.
 * @param {() => void} listener
 */
export function onTheme(listener) {
  listeners.add(listener);
}

/** What the page is to be; Gradio sets its own when it starts, which may be later. */
let wanted = false;

/** @param {boolean} dark */
export function setTheme(dark) {
  wanted = dark;
  document.body.classList.toggle("dark", dark);
}

export function watchTheme() {
  let dark = document.body.classList.contains("dark");
  new MutationObserver(() => {
    if (document.body.classList.contains("dark") !== wanted) document.body.classList.toggle("dark", wanted);
    if (dark === wanted) return;
    dark = wanted;
    known.clear();
    listeners.forEach((listener) => listener());
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}

// Plotly figures from the server, in the page's type and colours. The library is fetched when the first one is drawn.
import { css, onTheme } from "./colour.js";
import { el } from "./dom.js";
import { text } from "./words.js";

/**
 * The light colours that gptviz/figures.py draws with, and the tokens they stand for.
 * @type {Record<string, string>}
 */
const TOKENS = {
  "#1d1c1a": "--ink",
  "#625e56": "--soft",
  "#e2ddd2": "--rule",
  "#f0ece3": "--grid",
  "#ffffff": "--card",
  "#0f5c73": "--key",
  "#b9420b": "--warn",
};
const SETTINGS = { displaylogo: false, displayModeBar: false, scrollZoom: false, responsive: false };
const NARROW = 480; // px
/** @type {Promise<any> | null} */
let library = null;
/** @type {Map<HTMLElement, any>} */
const drawn = new Map();
/** @type {Map<HTMLElement, Promise<any>>} */
const turns = new Map();
/** @type {Map<HTMLElement, { figure: any, look: string }>} */
const looks = new Map();

function load() {
  if (library) return library;
  library = new Promise((resolve, reject) => {
    const src = new URL("../../plotly.min.js", import.meta.url).href;
    const script = el("script", { src, onload: () => resolve(/** @type {any} */ (window).Plotly), onerror: reject });
    document.head.append(script);
  });
  library.catch(() => (library = null));
  return library;
}

/**
 * Draw a figure, or draw it again after a change of size or theme.
 * @param {HTMLElement} node has a size of its own
 * @param {any} figure data and layout; colours and texts as gptviz/figures.py has them
 */
export function plot(node, figure) {
  drawn.set(node, figure);
  const turn = (turns.get(node) || Promise.resolve()).then(() => draw(node, figure)); // Plotly draws one at a time
  turns.set(
    node,
    turn.catch(() => {}),
  );
  return turn;
}

/** @param {HTMLElement} node @param {any} figure */
async function draw(node, figure) {
  const Plotly = await load();
  if (drawn.get(node) !== figure || !node.clientWidth) return;
  const unit = Number(getComputedStyle(node).getPropertyValue("--u")) || 1;
  const look = `${node.clientWidth} ${node.clientHeight} ${unit} ${css("--card")}`;
  if (looks.get(node)?.figure === figure && looks.get(node)?.look === look) return;
  looks.set(node, { figure, look });
  const { data, layout } = dressed(figure);
  Object.assign(layout, { width: node.clientWidth, height: node.clientHeight, autosize: false });
  layout.font = { ...layout.font, size: layout.font.size * unit };
  if (node.clientWidth < NARROW) thin(layout);
  await Plotly.react(node, data, layout, SETTINGS);
}

onTheme(() => drawn.forEach((figure, node) => node.isConnected && plot(node, figure)));

/** Fewer names and less margin where there is little room. @param {any} layout */
function thin(layout) {
  layout.margin = { ...layout.margin, l: 74, r: 74 };
  const axis = layout.xaxis;
  axis.tickangle = 0;
  if (axis.ticktext)
    axis.ticktext = axis.ticktext.map((/** @type {string} */ t, /** @type {number} */ i) => (i % 2 ? "" : t));
}

/**
 * Tokens for colours, words for their keys: "@key" or "@key|n".
 * @param {any} value
 * @returns {any}
 */
function dressed(value) {
  if (Array.isArray(value)) return value.map(dressed);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, dressed(item)]));
  }
  if (typeof value !== "string") return value;
  const token = TOKENS[value.toLowerCase()];
  if (token) return css(token);
  if (!value.startsWith("@")) return value;
  // words: kv_cache.line_* kv_cache.mark_* kv_cache.axis_* kv_cache.ops_* numbers.unit_*
  const [key, n] = value.slice(1).split("|");
  return text(key, n === undefined ? {} : { n: Number.isFinite(+n) ? +n : n });
}

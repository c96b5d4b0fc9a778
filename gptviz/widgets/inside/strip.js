// The overview of a long text: one line over all its tokens, with the window that the columns below show.
import { css, mix } from "../kit/colour.js";
import { canvas, el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

const HEIGHT = 18;

/**
 * @param {any} app
 * @param {(place: number) => void} pick
 */
export function createStrip(app, pick) {
  const picture = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }));
  const node = el("div", { class: "gv-alltext", hidden: true }, picture);
  /** @type {{ column: any, sure: any }} */
  let now = { column: null, sure: null };
  let left = 0;

  const placeAt = (/** @type {PointerEvent} */ event) => {
    const box = picture.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / Math.max(1, box.width - left);
    const T = now.column.tokens.length;
    return Math.min(T - 1, Math.max(0, Math.floor(share * T)));
  };
  picture.addEventListener("click", (event) => pick(placeAt(/** @type {PointerEvent} */ (event))));
  picture.addEventListener("pointermove", (event) => {
    const place = placeAt(event);
    const values = { place, token: now.column.tokens[place], p: now.sure ? now.sure[place] : 0 };
    // words: inside.strip_place inside.strip_token
    app.parts.stage.point(phrase(now.sure ? "inside.strip_place" : "inside.strip_token", values));
  });
  picture.addEventListener("pointerleave", () => app.parts.stage.point(null));

  /** @param {any} column @param {any} sure */
  function show(column, sure) {
    now = { column, sure };
    picture.toggleAttribute("data-sure", Boolean(sure));
    node.hidden = column.tokens.length <= column.window.length;
    picture.setAttribute("aria-label", text("inside.strip", { n: column.tokens.length }));
  }

  /** @param {number} width @param {number} unit @param {number} margin where the columns begin */
  function resize(width, unit, margin) {
    if (node.hidden) return;
    left = margin;
    const height = HEIGHT * unit;
    draw(canvas(picture, width, height), now, { x: margin, width: width - margin, height });
  }
  /** What it takes of the picture's height, the gap under it included. @param {number} unit */
  const taken = (unit) => (node.hidden ? 0 : (HEIGHT + 8) * unit);
  return { node, show, resize, taken };
}

/**
 * @param {CanvasRenderingContext2D} on
 * @param {{ column: any, sure: any }} now
 * @param {{ x: number, width: number, height: number }} box
 */
function draw(on, { column, sure }, box) {
  const T = column.tokens.length;
  const step = box.width / T;
  on.fillStyle = mix("--card", "--soft", 0.12);
  on.fillRect(box.x, 2, box.width, box.height - 4);
  const bins = Math.max(1, Math.ceil(2 / step)); // tokens that share a bar of at least two pixels
  for (let from = 0; sure && from < T; from += bins) {
    const p = Math.max(...sure.slice(from, from + bins));
    on.fillStyle = mix("--card", "--key", 0.06 + 0.5 * p);
    on.fillRect(box.x + from * step, 2, bins * step, box.height - 4);
  }
  const first = column.window[0];
  on.lineWidth = 2;
  on.strokeStyle = css("--ink");
  on.strokeRect(box.x + first * step, 1, column.window.length * step, box.height - 2);
  on.fillStyle = css("--warn");
  on.fillRect(box.x + (column.place + 0.5) * step - 1.5, 2, 3, box.height - 4);
}

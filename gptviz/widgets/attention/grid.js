// All heads at once, each a small picture of its weights on a scale of its own. Click or arrow keys choose one.
import { css, ramp } from "../kit/colour.js";
import { canvas, el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { bands } from "./layout.js";

/**
 * @typedef {[number, number]} Head layer and head
 * @param {{ pick: (head: Head) => void, hover: (head: Head | null) => void }} on
 */
export function createGrid(on) {
  const node = el("canvas", { tabindex: "0", role: "application", class: "gv-grid" });
  const caption = el("p", { class: "gv-cap" });
  const room = el("div", { class: "gv-gridroom" }, node);
  const root = el("div", { class: "gv-gridbox" }, caption, room);
  /** @type {any} */
  let data = null;
  /** @type {any} */
  let state = null;
  /** @type {any} */
  let box = null;
  /** @type {Head | null} */
  let hovered = null;
  const sheet = createSheet();

  /** @param {any} grid @param {any} next chosen, kind, off, pair, rest */
  function draw(grid, next) {
    data = grid;
    state = next;
    const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
    if (!caption.firstChild) caption.append("\u00a0"); // its line is there before the room is measured
    const width = room.clientWidth;
    const height = room.clientHeight;
    if (width < 40 || height < 20) return;
    box = { ...bands(grid.layers, grid.heads, width, height, unit), unit, width, height };
    const across = box.across ? "attention.across" : "attention.down"; // words: attention.across attention.down
    fill(caption, el("b", null, text("attention.all_heads", { n: grid.layers * grid.heads })), ` ${text(across)}`);
    node.setAttribute("aria-label", text("attention.grid_label", { n: grid.layers * grid.heads }));
    paint();
  }

  function paint() {
    const c = canvas(node, box.width, box.height);
    const side = data.side;
    const picture = sheet(data, state.rest);
    c.imageSmoothingEnabled = side > box.w;
    c.imageSmoothingQuality = "high";
    numbers(c, data, box);
    const pad = box.side < 14 ? 0.5 : 1;
    each((layer, head, { x, y, w, h }) => {
      const index = layer * data.heads + head;
      const other = state.kind !== "" && data.kinds[index] !== data.names.indexOf(state.kind);
      c.globalAlpha = other ? 0.35 : 1;
      c.drawImage(picture, 0, index * side, side, side, x + pad, y + pad, w - 2 * pad, h - 2 * pad);
      c.globalAlpha = 1;
      if (state.kind !== "" && !other) outline(c, layer, head, css("--key"), 1.5);
    });
    for (const [layer, head] of state.off) cross(c, layer, head);
    if (state.pair) state.pair.forEach((/** @type {Head} */ pair) => outline(c, ...pair, css("--key"), 2.5));
    if (hovered) outline(c, ...hovered, css("--ink"), 2);
    outline(c, ...state.chosen, css("--warn"), 2.5);
  }

  /** @param {(layer: number, head: number, at: {x: number, y: number, w: number, h: number}) => void} visit */
  function each(visit) {
    for (let layer = 0; layer < data.layers; layer++) {
      for (let head = 0; head < data.heads; head++) visit(layer, head, box.place(layer, head));
    }
  }

  /** @param {CanvasRenderingContext2D} c @param {number} layer @param {number} head @param {string} colour @param {number} width */
  function outline(c, layer, head, colour, width) {
    const { x, y, w, h } = box.place(layer, head);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.strokeRect(x, y, w, h);
  }

  /** @param {CanvasRenderingContext2D} c @param {number} layer @param {number} head */
  function cross(c, layer, head) {
    const { x, y, w, h } = box.place(layer, head);
    c.fillStyle = css("--warn-soft");
    c.fillRect(x + 1, y + 1, w - 2, h - 2);
    c.strokeStyle = css("--warn");
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x + 2, y + 2);
    c.lineTo(x + w - 2, y + h - 2);
    c.moveTo(x + w - 2, y + 2);
    c.lineTo(x + 2, y + h - 2);
    c.stroke();
  }

  /** @param {PointerEvent} event @returns {Head | null} */
  function under(event) {
    if (!box || !data) return null;
    const r = node.getBoundingClientRect();
    const px = event.clientX - r.left;
    const py = event.clientY - r.top;
    /** @type {Head | null} */
    let found = null;
    each((layer, head, { x, y, w, h }) => {
      if (px >= x && px < x + w && py >= y && py < y + h) found = [layer, head];
    });
    return found;
  }

  /** @param {Head | null} now */
  function hover(now) {
    if (String(now) === String(hovered)) return;
    hovered = now;
    if (box) paint();
    on.hover(now);
  }

  node.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => e.pointerType === "mouse" && hover(under(e)));
  node.addEventListener("pointerleave", () => hover(null));
  node.addEventListener("click", (/** @type {PointerEvent} */ e) => {
    const found = under(e);
    if (found) on.pick(found);
  });
  node.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
    if (!data || (!move && e.key !== "Home")) return;
    e.preventDefault();
    const [a, b] = move ? (box.across ? move : [move[1], move[0]]) : [-1e6, -1e6];
    const [layer, head] = state.chosen;
    on.pick([clamp(layer + a, data.layers), clamp(head + b, data.heads)]);
  });
  return { root, draw };
}

const clamp = (/** @type {number} */ i, /** @type {number} */ n) => Math.max(0, Math.min(n - 1, i));

/** The numbers of layers and heads along the edges; thinned where there is no room. */
function numbers(/** @type {CanvasRenderingContext2D} */ c, /** @type {any} */ data, /** @type {any} */ box) {
  const size = Math.round(11 * box.unit);
  c.font = `${size}px ${getComputedStyle(document.body).getPropertyValue("--mono")}`;
  c.fillStyle = css("--soft");
  c.textBaseline = "middle";
  const every = (/** @type {number} */ room, /** @type {number} */ need) => (room >= need ? 1 : room * 2 >= need ? 2 : 5);
  const alongX = every(box.w, size * 1.5);
  const alongY = every(box.h, size * 1.05);
  for (let layer = 0; layer < data.layers; layer++) {
    const within = layer % box.per;
    const { x, y, w, h } = box.place(layer, 0);
    if (box.across && within % alongX === 0) put(c, layer, x + w / 2, y - box.top / 2, "center");
    if (!box.across && within % alongY === 0) put(c, layer, x - 5, y + h / 2, "right");
    if (within) continue;
    for (let head = 0; head < data.heads; head++) {
      const at = box.place(layer, head);
      if (box.across && head % alongY === 0) put(c, head, at.x - 5, at.y + h / 2, "right");
      if (!box.across && head % alongX === 0) put(c, head, at.x + w / 2, box.top / 2, "center");
    }
  }
}

/** @param {CanvasRenderingContext2D} c @param {number} n @param {number} x @param {number} y @param {CanvasTextAlign} align */
function put(c, n, x, y, align) {
  c.textAlign = align;
  c.fillText(String(n), x, y);
}

/** One tall sheet of S × S pictures; each on its own scale, the square root of its weight against its largest but the first column's. */
function createSheet() {
  /** @type {HTMLCanvasElement | null} */
  let made = null;
  let of = null;
  let how = "";
  return (/** @type {any} */ data, /** @type {boolean} */ rest) => {
    const now = `${rest} ${css("--key")}`;
    if (made && of === data.pictures && how === now) return made;
    const S = data.side;
    const n = data.layers * data.heads;
    const image = new ImageData(S, S * n);
    const pixels = new Uint32Array(image.data.buffer);
    const colours = ramp("--void", "--key");
    const none = colours[0];
    const each = (S * (S + 1)) / 2;
    for (let k = 0; k < n; k++) {
      const top = largest(data.pictures, k * each, S);
      for (let i = 0, at = k * each; i < S; i++) {
        for (let j = 0; j < S; j++) {
          const to = (k * S + i) * S + j;
          if (j > i || (rest && j === 0)) pixels[to] = none;
          else pixels[to] = colours[Math.min(255, Math.round((255 * data.pictures[at + j]) / top))];
        }
        at += i + 1;
      }
    }
    made = document.createElement("canvas");
    made.width = S;
    made.height = S * n;
    /** @type {CanvasRenderingContext2D} */ (made.getContext("2d")).putImageData(image, 0, 0);
    of = data.pictures;
    how = now;
    return made;
  };
}

/** @param {Uint8Array} bytes @param {number} start @param {number} S */
function largest(bytes, start, S) {
  let top = S > 1 ? 40 : 255;
  for (let i = 1, at = start + 1; i < S; i++) {
    for (let j = 1; j <= i; j++) top = Math.max(top, bytes[at + j]);
    at += i + 1;
  }
  return top;
}

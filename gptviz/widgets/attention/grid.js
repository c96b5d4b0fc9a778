// All heads at once, each a small picture of its weights on a scale of its own. Click or arrow keys choose one.
import { css, ramp } from "../kit/colour.js";
import { canvas, el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { bands } from "./layout.js";

/** @typedef {[number, number]} Head layer and head */

export class Grid {
  /** @param {Record<"hover" | "tell", (head: Head | null) => void> & { pick: (head: Head) => void }} on */
  constructor(on) {
    this.on = on;
    this.node = el("canvas", { tabindex: "0", role: "application", class: "gv-grid" });
    this.caption = el("p", { class: "gv-cap" });
    this.room = el("div", { class: "gv-gridroom" }, this.node);
    this.root = el("div", { class: "gv-gridbox" }, this.caption, this.room);
    /** @type {any} */
    this.data = null;
    /** @type {any} */
    this.state = null;
    /** @type {any} */
    this.box = null;
    /** @type {Head | null} */
    this.hovered = null;
    /** @type {Head} */
    this.aim = [0, 0]; // where the keys are, ahead of a picture that is still being asked for
    this.sheet = createSheet();
    this.listen();
  }

  /** @param {any} data all heads @param {any} state chosen, kind, off, pair, rest */
  draw(data, state) {
    this.data = data;
    this.state = state;
    this.aim = state.chosen;
    const n = data.layers * data.heads;
    if (!this.caption.firstChild) this.caption.append("\u00a0"); // its line is there before the room is measured
    const unit = Number(getComputedStyle(this.root).getPropertyValue("--u")) || 1;
    const { clientWidth: width, clientHeight: height } = this.room;
    if (width < 40 || height < 20) return;
    this.box = { ...bands(data.layers, data.heads, width, height, unit), unit, width, height };
    fill(this.caption, el("b", null, text("attention.all_heads", { n })), ` ${text("attention.click")}`);
    this.node.setAttribute("aria-label", text("attention.grid_label", { n }));
    this.paint();
  }

  paint() {
    const { data, state, box } = this;
    const c = canvas(this.node, box.width, box.height);
    const { side } = data;
    const picture = this.sheet(data, state.rest);
    c.imageSmoothingEnabled = side > box.w;
    c.imageSmoothingQuality = "high";
    numbers(c, data, box);
    const pad = box.side < 14 ? 0.5 : 1;
    const wanted = data.names.indexOf(state.kind);
    this.each((head, { x, y, w, h }) => {
      const index = head[0] * data.heads + head[1];
      const other = wanted >= 0 && data.kinds[index] !== wanted;
      c.globalAlpha = other ? 0.35 : 1;
      c.drawImage(picture, 0, index * side, side, side, x + pad, y + pad, w - 2 * pad, h - 2 * pad);
      c.globalAlpha = 1;
      if (wanted >= 0 && !other) this.outline(c, head, css("--key"), 1.5);
    });
    for (const head of state.off) this.cross(c, head);
    for (const head of state.pair || []) this.outline(c, head, css("--key"), 2.5);
    if (this.hovered) this.outline(c, this.hovered, css("--ink"), 2);
    this.outline(c, state.chosen, css("--warn"), 2.5);
  }

  /** @param {(head: Head, at: {x: number, y: number, w: number, h: number}) => void} visit */
  each(visit) {
    const { layers, heads } = this.data;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) visit([layer, head], this.box.place(layer, head));
    }
  }

  /** @param {CanvasRenderingContext2D} c @param {Head} head @param {string} colour @param {number} width */
  outline(c, head, colour, width) {
    const { x, y, w, h } = this.box.place(...head);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.strokeRect(x, y, w, h);
  }

  /** A head that is off. @param {CanvasRenderingContext2D} c @param {Head} head */
  cross(c, head) {
    const { x, y, w, h } = this.box.place(...head);
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
  under(event) {
    if (!this.box || !this.data) return null;
    const r = this.node.getBoundingClientRect();
    const [px, py] = [event.clientX - r.left, event.clientY - r.top];
    /** @type {Head | null} */
    let found = null;
    this.each((head, { x, y, w, h }) => {
      if (px >= x && px < x + w && py >= y && py < y + h) found = head;
    });
    return found;
  }

  /** @param {Head | null} now */
  hover(now) {
    if (String(now) === String(this.hovered)) return;
    this.hovered = now;
    if (this.box) this.paint();
    this.on.hover(now);
  }

  listen() {
    const { node } = this;
    const isMouse = (/** @type {PointerEvent} */ e) => e.pointerType === "mouse";
    node.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => isMouse(e) && this.hover(this.under(e)));
    node.addEventListener("pointerleave", () => this.hover(null));
    node.addEventListener("click", (/** @type {PointerEvent} */ e) => {
      const found = this.under(e);
      if (found) this.on.pick(found);
    });
    node.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this.key(e));
    node.addEventListener("blur", () => this.on.tell(null));
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
    if (!this.data || (!move && e.key !== "Home")) return;
    e.preventDefault();
    const [a, b] = move ? (this.box.across ? move : [move[1], move[0]]) : [-1e6, -1e6];
    const [layer, head] = this.aim;
    this.aim = [clamp(layer + a, this.data.layers), clamp(head + b, this.data.heads)];
    this.on.pick(this.aim);
    this.on.tell(this.aim);
  }
}

const clamp = (/** @type {number} */ i, /** @type {number} */ n) => Math.max(0, Math.min(n - 1, i));

/** The numbers of layers and heads along the edges; thinned where there is no room. */
function numbers(/** @type {CanvasRenderingContext2D} */ c, /** @type {any} */ data, /** @type {any} */ box) {
  const size = Math.round(11 * box.unit);
  c.font = `${size}px ${getComputedStyle(document.body).getPropertyValue("--mono")}`;
  c.fillStyle = css("--soft");
  c.textBaseline = "middle";
  const every = (/** @type {number} */ room, /** @type {number} */ need) =>
    room >= need ? 1 : room * 2 >= need ? 2 : 5;
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

/**
 * @param {CanvasRenderingContext2D} c @param {number} n @param {number} x @param {number} y
 * @param {CanvasTextAlign} align
 */
function put(c, n, x, y, align) {
  c.textAlign = align;
  c.fillText(String(n), x, y);
}

/**
 * One tall sheet of S × S pictures, each on a scale of its own: the square root of a weight against the largest one,
 * the
 * first column left aside.
 */
function createSheet() {
  /** @type {HTMLCanvasElement | null} */
  let made = null;
  /** @type {any} */
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

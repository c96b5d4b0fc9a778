// A picture as one tab stop: arrow keys move a frame over its cells, and each cell is said in words.
import { svg } from "../kit/dom.js";

const STEPS = new Map([
  ["ArrowLeft", [0, -1]],
  ["ArrowRight", [0, 1]],
  ["ArrowUp", [-1, 0]],
  ["ArrowDown", [1, 0]],
]);

/**
 * @typedef {object} Cells
 * @property {(place: number[]) => number[]} within the nearest cell there is
 * @property {(place: number[]) => { x: number, y: number, width: number, height: number } | null} box
 * @property {(place: number[] | null) => void} speak
 * @property {(place: number[]) => void} [pick] on Enter
 */

export class Cursor {
  /** @param {any} picture an svg with tabindex 0 @param {Cells} cells */
  constructor(picture, cells) {
    this.picture = picture;
    this.cells = cells;
    this.place = [0, 0];
    picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    picture.addEventListener("focus", () => this.show());
    picture.addEventListener("blur", () => this.show());
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.target !== this.picture) return;
    const step = STEPS.get(event.key);
    if (event.key === "Enter" && this.cells.pick) this.cells.pick(this.place);
    if (!step) return;
    event.preventDefault();
    this.place = this.place.map((value, k) => value + step[k]);
    this.show();
  }

  /** The frame again after the picture was drawn anew, and its sentence. */
  show() {
    const seen = this.picture.matches(":focus-visible");
    this.picture.querySelector(".gv-cursor")?.remove();
    if (!seen) return this.cells.speak(null);
    this.place = this.cells.within(this.place);
    const box = this.cells.box(this.place);
    if (box) this.picture.append(svg("rect", { class: "gv-cursor", ...box }));
    this.cells.speak(this.place);
  }
}

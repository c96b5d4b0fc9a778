// The check as a picture: two runs on top, under them how far each guess moved, with the mask and with a faulty one.
import { el, fill } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { Cursor } from "./cursor.js";
import { geometryOf } from "./geometry.js";
import { drawPanels } from "./panels.js";
import { drawCut, drawStrip, picture, watchCut } from "./strip.js";

export class Board {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.picture = picture(text("prefix.board"));
    this.root = el("div", { class: "gv-fill" }, this.picture);
    /** @type {any} */
    this.checks = null;
    /** @type {any} */
    this.view = null;
    /** @type {any} */
    this.g = null;
    this.moving = 0; // the cut while it is dragged
    this.cursor = new Cursor(this.picture, {
      within: ([row, c]) => [row > 0 ? 1 : 0, Math.max(0, Math.min(this.checks.keep - 1, c))],
      box: ([row, c]) => this.cell(row, c),
      speak: (place) => this.app.parts.stage.point(place && this.told(this.side(place[0]), place[1])),
    });
    watchCut(
      this.picture,
      () => this.g,
      (keep, done) => this.cut(keep, done),
    );
  }

  /** @param {any} checks @param {any} view */
  draw(checks, view) {
    this.checks = checks;
    this.view = view;
    this.moving = 0;
    this.paint();
  }

  /** @param {number} keep @param {boolean} done */
  cut(keep, done) {
    this.moving = done ? 0 : keep;
    if (done && keep !== this.checks.keep) this.app.set({ keep });
    else this.paint();
  }

  paint() {
    const { checks, picture, moving, view } = this;
    if (!checks) return;
    const held = picture.contains(document.activeElement) && document.activeElement !== picture;
    const keep = moving || checks.keep;
    const g = (this.g = geometryOf(this.app.parts.stage.size(), this.root, checks.tokens.length, keep));
    picture.setAttribute("width", String(g.W));
    picture.setAttribute("height", String(g.H));
    picture.classList.toggle("gv-moving", moving > 0);
    const point = (/** @type {any} */ side, /** @type {number | null} */ c) =>
      this.app.parts.stage.point(c === null ? null : this.told(side, c));
    const panels = drawPanels(g, checks, faultName(checks, view), moving > 0, point);
    fill(picture, ...drawStrip(g, checks.tokens, moving ? [] : checks.other), ...panels, ...drawCut(g, view.method));
    if (held) picture.querySelector(".gv-handle").focus();
    if (document.activeElement === picture) this.cursor.show();
  }

  /** The panel of a row of the cursor. @param {number} row */
  side(row) {
    return row ? this.checks.faulty : this.checks.own;
  }

  /** The box of one guess. @param {number} row @param {number} c */
  cell(row, c) {
    const found = this.picture.querySelector(`.gv-hit[data-panel="${row ? "faulty" : "own"}"][data-column="${c}"]`);
    if (!found) return null;
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(found.getAttribute(name)));
    return { x, y, width, height };
  }

  /** @param {any} side @param {number} c */
  told(side, c) {
    const key = side.deltas[c] === 0 ? "tell_zero" : side.changed[c] ? "tell_moved" : "tell_dust";
    const values = {
      token: this.checks.tokens[c],
      expected: side.expected[c],
      before: side.before[c],
      after: side.after[c],
      delta: side.deltas[c],
    };
    return phrase(`prefix.${key}`, values); // words: prefix.tell_zero prefix.tell_moved prefix.tell_dust
  }
}

/** What the faulty mask is called. @param {any} checks @param {any} view */
export function faultName(checks, view) {
  const { open } = checks.faulty;
  if (view.direction === "blocks") return text("prefix.name_blocks");
  if (view.direction === "wrong_way") return text("prefix.name_wrong");
  if (open.length === checks.layers) return text("prefix.name_off");
  return open.length ? text("prefix.name_layers", { list: open.slice(0, 4).join(", ") }) : text("prefix.name_none");
}

// The picture of step one: the chosen column with the word of every layer, all other columns pale beside it.
import { el, fill, svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { word } from "./page.js";
import { axis, brackets, geometry, own, pale } from "./map.js";
import { factsOf, pushed, without } from "./culprits.js";
import { counted, createKeep, drawRoute, kept } from "./routes.js";
import { course } from "./runs.js";
import { createStrip } from "./strip.js";

/** @param {HTMLElement} root @param {any} app */
export const createColumn = (root, app) => new Column(root, app);

class Column {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.app = app;
    this.keep = createKeep((keep) => app.set({ keep }));
    this.legend = legend(this.keep.node);
    /** @type {any} */
    this.route = null;
    this.picture = svg("svg", { class: "gv-svg", tabindex: "0", role: "application" });
    this.strip = createStrip(app, (place) => this.pick(place));
    root.append(this.legend, this.strip.node, el("div", { class: "gv-fill" }, this.picture));
    /** @type {any} */
    this.column = null;
    /** @type {any} */
    this.grid = null;
    /** @type {{ of: string, p: any }} */
    this.sure = { of: "", p: null };
    this.cursor = -1;
    this.picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.keys(event));
    this.picture.addEventListener("pointerleave", () => this.point(-1));
    this.picture.addEventListener("pointermove", (/** @type {any} */ event) => {
      const cell = event.target.closest("[data-row]");
      if (cell) this.point(Number(cell.dataset.row), Number(cell.dataset.place));
    });
    this.picture.addEventListener("click", (/** @type {any} */ event) => {
      const cell = event.target.closest("[data-place]");
      if (cell) this.pick(Number(cell.dataset.place));
    });
  }

  /** @param {any} view @param {any} found */
  async show(view, found) {
    const route = view.keep > 0 ? await this.follow(view, found) : null;
    if (!view.current()) return;
    if (this.column !== found) this.grid = null;
    this.column = found;
    this.route = route;
    this.keep.set(view.keep);
    this.strip.show(found, this.sure.of === view.text + view.model ? this.sure.p : null);
    this.behind(view, found);
    this.say();
  }

  /** The route of the chosen column; what cannot have one is told why, and keeps the picture. */
  async follow(/** @type {any} */ view, /** @type {any} */ found) {
    const args = { text: view.text, position: found.place, model: view.model };
    try {
      const all = await view.ask("routes", args);
      const route = kept(all, view.keep / 100, found.rows.length - 1);
      await this.hold(view, found, route);
      return { ...route, least: view.keep / 100 };
    } catch (error) {
      if (view.recorded) throw error; // nothing of it was recorded: the live answer follows
      if (view.current()) this.app.parts.notice(/** @type {Error} */ (error).message);
      return null;
    }
  }

  /** Whether the head that pushes the answer most is on its route. */
  async hold(/** @type {any} */ view, /** @type {any} */ found, /** @type {any} */ route) {
    const made = await pushed(view);
    const off = await without(view, made.reader);
    if (!view.current()) return;
    const { top } = made;
    const asked = top.kind === "head" && found.place === found.tokens.length - 1; // the parts are those of the last one
    const same = (/** @type {any} */ e) => e.layer === top.layer && e.head === top.head && e.query === found.place;
    const there = route.edges.some(same);
    const facts = { top_on_route: asked && there, top_off_route: asked && !there, routed: true };
    this.app.facts({ ...factsOf(made, off), ...facts });
  }

  /** The pale columns are a background: without them the picture still says what it says. */
  async behind(/** @type {any} */ view, /** @type {any} */ found) {
    const args = { text: view.text, model: view.model };
    const grid = await view.ask("grid", { ...args, at: view.at }).catch(() => null);
    if (!grid || this.column !== found) return;
    this.grid = grid;
    this.resize();
    if (found.tokens.length <= found.window.length) return;
    const sure = await view.ask("overview", args).catch(() => null);
    if (!sure || this.column !== found) return;
    this.sure = { of: view.text + view.model, p: sure.p };
    this.strip.show(found, sure.p);
    this.resize();
  }

  say() {
    const { column } = this;
    const rows = column.rows;
    const top = rows[rows.length - 1].top[0];
    const { key, settles, once } = course(rows);
    const token = column.tokens[column.place];
    const values = { token, answer: word(top.shown), p: top.p, settles, once, last: rows.length - 2 };
    if (this.route) return this.sayRoute(token);
    this.app.parts.stage.say(`inside.said_${key}`, values); // words: inside.said_*
    this.picture.setAttribute("aria-label", text(`inside.said_${key}`, values));
  }

  /** @param {string} token */
  sayRoute(token) {
    const values = { token, least: this.route.least, ...counted(this.route, this.column) };
    this.app.parts.stage.say("inside.route_say", values);
    this.picture.setAttribute("aria-label", text("inside.route_say", values));
  }

  resize() {
    const { column, grid, picture, route } = this;
    if (!column) return;
    const { width, height, unit } = this.app.parts.stage.size();
    const above = this.legend.offsetHeight + this.strip.taken(unit) + 10;
    const g = geometry(width, height - above, unit, column);
    this.strip.resize(width, unit, g.left);
    picture.setAttribute("width", String(g.width));
    picture.setAttribute("height", String(g.height));
    fill(
      picture,
      ...axis(g, column),
      grid && svg("g", { class: route ? "gv-dim" : null }, ...pale(g, grid, column)),
      ...own(g, column),
      ...(route ? drawRoute(g, column, route) : []),
      ...brackets(g, column),
    );
  }

  /** @param {number} row @param {number} [place] */
  point(row, place) {
    const { column, grid } = this;
    if (row < 0) return this.app.parts.stage.point(null);
    const inGrid = grid && place !== undefined && place !== column.place;
    const at = inGrid ? grid.window.indexOf(place) : -1;
    const shown = inGrid ? grid.words[row][at] : column.rows[row].top[0].shown;
    const p = inGrid ? grid.p[row * grid.window.length + at] : column.rows[row].top[0].p;
    const token = column.tokens[place ?? column.place];
    // words: inside.cell inside.cell_table
    const key = row ? "inside.cell" : "inside.cell_table";
    this.app.parts.stage.point(phrase(key, { layer: row - 1, token, word: word(shown), p }));
  }

  /** @param {number} place */
  pick(place) {
    this.app.set({ at: place === this.column.tokens.length - 1 ? -1 : place });
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const { column } = this;
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] || 0;
    const side = { ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0;
    if (!step && !side) return;
    event.preventDefault();
    const place = column.place + side;
    if (side && place >= 0 && place < column.tokens.length) this.pick(place);
    const last = column.rows.length - 1;
    this.cursor = Math.min(last, Math.max(0, (this.cursor < 0 ? last : this.cursor) + step));
    this.point(this.cursor);
  }

  table() {
    return tableOf(this.column);
  }
}

/** @param {HTMLElement} keep */
function legend(keep) {
  return el(
    "div",
    { class: "gv-bar gv-legend" },
    el("i", { class: "gv-swatch" }),
    text("inside.legend_same"),
    el("i", { class: "gv-swatch gv-grey" }),
    text("inside.legend_other"),
    el("span", { class: "gv-soft" }, text("inside.legend_number")),
    keep,
  );
}

/** @param {any} column */
function tableOf(column) {
  const head = ["inside.table_layer", "inside.table_word", "inside.table_p", "inside.table_rank"].map((key) =>
    text(key),
  ); // words: inside.table_layer inside.table_word inside.table_p inside.table_rank
  const rows = column.rows.map((/** @type {any} */ r) => [
    r.after === "embedding" ? text("inside.table_row") : r.after,
    r.top[0].shown,
    percent(r.top[0].p),
    r.target_rank,
  ]);
  return { head, rows };
}

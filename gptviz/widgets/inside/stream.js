// The stream: how long the vector of a column is before each layer, and how much the layer adds to it.
import { mix } from "../kit/colour.js";
import { el, fill, mark, rect, svg } from "../kit/dom.js";
import { number } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

/** @param {HTMLElement} root @param {any} app */
export function createStream(root, app) {
  const picture = svg("svg", { class: "gv-svg", tabindex: "0", role: "application" });
  root.append(el("div", { class: "gv-fill" }, picture));
  /** @type {any} */
  let column = null;
  /** @type {any} */
  let found = null;
  /** @type {{ layer: number, at: number } | null} */
  let cursor = null; // where the arrow keys are

  async function show(/** @type {any} */ view, /** @type {any} */ next) {
    const answer = await view.ask("stream", { text: view.text, at: view.at, model: view.model });
    if (!view.current()) return;
    column = next;
    found = answer;
    const at = found.window.indexOf(column.place);
    const norms = found.norms.map((/** @type {number[]} */ row) => row[at]);
    const last = norms.length - 1;
    app.facts({ grown: true, norm_first: norms[0], norm_last: norms[last] });
    const rest = found.norms[last].slice(1).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
    const peak = Math.max(...found.norms.map((/** @type {number[]} */ row) => row[0]));
    const typical = rest[Math.floor(rest.length / 2)] || norms[last];
    if (found.window[0] === 0 && peak > 2 * typical)
      app.parts.stage.say("inside.stream_first", { token: column.tokens[0], peak, typical });
    else tell(last - 1, at, false);
  }

  /** @param {number} layer @param {number} at @param {boolean} pointing */
  function tell(layer, at, pointing) {
    const values = {
      token: column.tokens[found.window[at]],
      layer,
      added: found.added[layer][at],
      before: found.norms[layer][at],
    };
    if (pointing) app.parts.stage.point(phrase("inside.stream_say", values));
    else app.parts.stage.say("inside.stream_say", values);
  }

  function resize() {
    if (!found) return;
    const { width, height, unit } = app.parts.stage.size();
    picture.setAttribute("width", String(width));
    picture.setAttribute("height", String(height));
    fill(picture, ...draw(found, column, width, height, unit));
    picture.setAttribute("aria-label", text("inside.stream_axis"));
  }
  picture.addEventListener("pointermove", (/** @type {any} */ event) => {
    const cell = event.target.closest("[data-layer]");
    if (cell) tell(Number(cell.dataset.layer), Number(cell.dataset.at), true);
  });
  const leave = () => app.parts.stage.point((cursor = null));
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const move = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!found || (!move && event.key !== "Enter")) return;
    event.preventDefault();
    const here = cursor || { layer: found.added.length - 1, at: found.window.indexOf(column.place) };
    if (!move) return app.set({ at: found.window[here.at] });
    const [layers, places] = [found.added.length, found.window.length];
    cursor = { layer: clamp(here.layer + move[0], layers), at: clamp(here.at + move[1], places) };
    tell(cursor.layer, cursor.at, true);
  });
  picture.addEventListener("click", (/** @type {any} */ event) => {
    const cell = event.target.closest("[data-at]");
    const bar = event.target.closest(".gv-normbar, .gv-addbar");
    if (bar && bar.dataset.layer) app.set({ show: "neurons", layer: Number(bar.dataset.layer) });
    else if (cell) app.set({ at: found.window[Number(cell.dataset.at)] });
  });

  const table = () => ({
    head: [text("inside.layer"), text("inside.stream_norm"), text("inside.stream_added")],
    rows: found.added.map((/** @type {number[]} */ row, /** @type {number} */ l) => {
      const at = found.window.indexOf(column.place);
      return [l, number(found.norms[l][at]), number(row[at])];
    }),
  });
  return { show, resize, table };
}

const clamp = (/** @type {number} */ i, /** @type {number} */ n) => Math.min(n - 1, Math.max(0, i));

/** Cells: the stream's length (log); bars at the right: the chosen column, stream and addition. */
function draw(
  /** @type {any} */ found,
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const at = found.window.indexOf(column.place);
  const [left, top, foot] = [40 * unit, 22 * unit, 26 * unit];
  const right = width < 560 ? 130 : 330 * unit;
  const rowHeight = (height - top - foot) / found.added.length;
  const cell = (width - left - right - 14 * unit) / found.window.length;
  const y = (/** @type {number} */ l) => height - foot - (l + 1) * rowHeight;
  const g = { at, left, top, foot, right, rowHeight, cell, y, unit, width, height, x0: width - right };
  return [...cells(g, found), ...bars(g, found), ...tokens(g, found, column), ...legend(g, found)];
}

/** @param {any} g @param {any} found */
function cells(g, found) {
  const every = found.norms.flat();
  const [low, high] = [Math.log(Math.max(1e-3, Math.min(...every))), Math.log(Math.max(...every))];
  const step = g.rowHeight > 13 * g.unit ? 1 : 5;
  return found.added.flatMap((/** @type {number[]} */ row, /** @type {number} */ l) => {
    const middle = g.y(l) + g.rowHeight / 2;
    const named = l % step === 0 || l === found.added.length - 1;
    const out = named ? [mark(g.left - 8 * g.unit, middle, String(l), "gv-tick", "end")] : [];
    row.forEach((_, i) => {
      const t = (Math.log(Math.max(1e-3, found.norms[l + 1][i])) - low) / (high - low || 1);
      const more = { fill: mix("--void", "--key", 0.08 + 0.8 * t), "data-layer": l, "data-at": i };
      out.push(rect(g.left + i * g.cell, g.y(l) + 0.5, g.cell - 1, g.rowHeight - 1, more));
    });
    return out;
  });
}

/** The chosen column's stream and what each layer adds, as lengths on one square-root scale. */
function bars(/** @type {any} */ g, /** @type {any} */ found) {
  const of = (/** @type {number[][]} */ rows) => rows.map((row) => row[g.at]);
  const [norms, added] = [of(found.norms), of(found.added)];
  const scale = (g.right - 62 * g.unit) / Math.sqrt(Math.max(...norms, ...added));
  return added.flatMap((more, l) => {
    const data = { "data-layer": l, "data-at": g.at };
    const [a, b] = [Math.sqrt(norms[l]) * scale, Math.sqrt(more) * scale];
    const out = [
      rect(g.x0, g.y(l) + g.rowHeight * 0.12, a, g.rowHeight * 0.38, { class: "gv-normbar", ...data }),
      rect(g.x0, g.y(l) + g.rowHeight * 0.52, b, g.rowHeight * 0.34, { class: "gv-addbar", ...data }),
    ];
    const x = g.x0 + Math.max(a, b) + 6 * g.unit;
    if (g.rowHeight > 11 * g.unit) out.push(mark(x, g.y(l) + g.rowHeight / 2, `+ ${number(more)}`));
    return out;
  });
}

/** @param {any} g @param {any} found @param {any} column */
function tokens(g, found, column) {
  const room = Math.floor(g.cell / (7.4 * g.unit));
  return found.window.flatMap((/** @type {number} */ place, /** @type {number} */ i) => {
    if (room < 2 && i !== g.at) return [];
    const kind = i === g.at ? "gv-tick gv-picked" : "gv-tick";
    const words = column.tokens[place].slice(0, Math.max(3, room));
    return [mark(g.left + (i + 0.5) * g.cell, g.height - 8 * g.unit, words, kind, "middle", { "data-at": i })];
  });
}

/** @param {any} g @param {any} found */
function legend(g, found) {
  const { unit, x0 } = g;
  const column = found.added.length * g.rowHeight;
  return [
    rect(g.left + g.at * g.cell - 0.5, g.top, g.cell, column, { class: "gv-outline" }),
    mark(g.left, 10 * unit, text("inside.stream_axis"), "gv-tick gv-sans"),
    rect(x0, 5 * unit, 10 * unit, 9 * unit, { class: "gv-normbar" }),
    mark(x0 + 15 * unit, 10 * unit, text("inside.stream_norm"), "gv-tick gv-sans"),
    rect(x0 + 150 * unit, 5 * unit, 10 * unit, 9 * unit, { class: "gv-addbar" }),
    mark(x0 + 165 * unit, 10 * unit, text("inside.stream_added"), "gv-tick gv-sans"),
  ];
}

// A token is looked up: the text's tokens, the table as a tall strip, and the chosen row's numbers and neighbours.
import { canvas, el, fill, svg } from "../kit/dom.js";
import { mix } from "../kit/colour.js";
import { decimal, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {HTMLElement} root @param {any} app */
export function createTable(root, app) {
  const picture = svg("svg", { class: "gv-svg", tabindex: "0", role: "application" });
  const strip = el("canvas", { role: "img" });
  const title = el("h2");
  const near = el("div", { class: "gv-near" });
  root.append(
    el(
      "div",
      { class: "gv-lookup" },
      el("div", { class: "gv-fill" }, picture),
      el("div", { class: "gv-rowbox" }, title, strip, near),
    ),
  );
  /** @type {any} */
  let column = null;
  /** @type {any} */
  let found = null;

  async function show(/** @type {any} */ view, /** @type {any} */ next) {
    const answer = await view.ask("lookup", { text: view.text, at: view.at, model: view.model });
    if (!view.current()) return;
    column = next;
    found = answer;
    const token = column.tokens[column.place];
    const n = column.ids.filter((/** @type {number} */ id) => id === found.id).length;
    const [key, values] = [
      n > 1 ? "inside.table_twins" : "inside.table_say",
      { token, id: found.id, width: column.width, n },
    ];
    app.parts.stage.say(key, values); // words: inside.table_twins inside.table_say
    picture.setAttribute("aria-label", text(key, values));
    strip.setAttribute("aria-label", text("inside.row_title", { width: column.width }));
    title.textContent = text("inside.row_title", { width: column.width });
    fill(
      near,
      el("h2", null, text("inside.near_title"), el("small", null, text("inside.near_note"))),
      ...found.near.map((/** @type {any} */ r) =>
        el("p", null, el("code", { class: "gv-token" }, r.shown), el("span", null, decimal(r.cosine, 2))),
      ),
    );
  }

  function resize() {
    if (!found) return;
    const { width, height, unit } = app.parts.stage.size();
    const side = root.clientWidth < 640 ? width : width * 0.56;
    const tall = root.clientWidth < 640 ? height * 0.5 : height;
    picture.setAttribute("width", String(side));
    picture.setAttribute("height", String(tall));
    fill(picture, ...lines(column, side, tall, unit, found.id));
    draw(strip, found.row, Math.max(120, strip.parentElement.clientWidth - 4), unit);
  }

  picture.addEventListener("click", (/** @type {any} */ event) => {
    const cell = event.target.closest("[data-place]");
    if (cell) app.set({ at: Number(cell.dataset.place) });
  });
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!by || !column) return;
    event.preventDefault();
    const place = column.place + by;
    if (place >= 0 && place < column.tokens.length) app.set({ at: place === column.tokens.length - 1 ? -1 : place });
  });

  const table = () => ({
    head: ["token", "id"],
    rows: column.tokens.map((/** @type {string} */ t, /** @type {number} */ i) => [t, whole(column.ids[i])]),
  });
  return { show, resize, table };
}

/** Tokens on the left, the table on the right, a curve from each token to its row. */
function lines(
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
  /** @type {number} */ chosen,
) {
  const n = column.window.length;
  const top = 14 * unit;
  const step = Math.min(38 * unit, (height - top - 22 * unit) / n);
  const bar = width - 120 * unit;
  const y = (/** @type {number} */ i) => top + (i + 0.5) * step;
  const rowAt = (/** @type {number} */ id) => top + ((height - top - 26 * unit) * id) / column.vocabulary;
  const out = [
    svg("rect", { x: bar, y: top, width: 34 * unit, height: height - top - 26 * unit, class: "gv-tablebar" }),
    svg(
      "text",
      { x: bar + 17 * unit, y: height - 8 * unit, class: "gv-tick gv-sans", "text-anchor": "middle" },
      text("inside.table_axis", { vocabulary: column.vocabulary }),
    ),
  ];
  column.window.forEach((/** @type {number} */ place, /** @type {number} */ i) => {
    const id = column.ids[place];
    const own = id === chosen;
    const [x0, y0, y1] = [118 * unit, y(i), rowAt(id)];
    const bend = (bar - x0) / 2;
    const kind = own ? " gv-picked" : "";
    out.push(
      svg("path", { d: `M${x0} ${y0}C${x0 + bend} ${y0} ${bar - bend} ${y1} ${bar} ${y1}`, class: `gv-thread${kind}` }),
    );
    out.push(svg("line", { x1: bar, x2: bar + 34 * unit, y1, y2: y1, class: `gv-rowmark${kind}` }));
    out.push(
      svg(
        "text",
        { x: 62 * unit, y: y0, class: `gv-tick gv-pickable${kind}`, "text-anchor": "end", "data-place": place },
        column.tokens[place].slice(0, 9),
      ),
    );
    out.push(
      svg(
        "text",
        { x: 112 * unit, y: y0, class: `gv-tick${kind}`, "text-anchor": "end", "data-place": place },
        whole(id),
      ),
    );
    if (own) out.push(svg("text", { x: bar + 40 * unit, y: y1, class: "gv-tick gv-picked" }, whole(id)));
  });
  return out;
}

/** The row's numbers as a block of small cells, orange below 0 and teal above. */
function draw(
  /** @type {any} */ node,
  /** @type {any} */ row,
  /** @type {number} */ width,
  /** @type {number} */ unit,
) {
  const cell = Math.max(6, Math.floor(9 * unit));
  const across = Math.max(8, Math.floor(width / cell));
  const context = canvas(node, across * cell, Math.ceil(row.length / across) * cell);
  const most = row.reduce((/** @type {number} */ m, /** @type {number} */ v) => Math.max(m, Math.abs(v)), 1e-9);
  row.forEach((/** @type {number} */ v, /** @type {number} */ i) => {
    context.fillStyle = mix("--void", v < 0 ? "--warn" : "--key", Math.sqrt(Math.abs(v) / most));
    context.fillRect((i % across) * cell, Math.floor(i / across) * cell, cell - 1, cell - 1);
  });
}

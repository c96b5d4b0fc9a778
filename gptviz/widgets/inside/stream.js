// The stream: how long the vector of a column is before each layer, and how much the layer adds to it.
import { mix } from "../kit/colour.js";
import { fill, svg, el } from "../kit/dom.js";
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

  async function show(/** @type {any} */ view, /** @type {any} */ next) {
    const answer = await view.ask("stream", { text: view.text, at: view.at, model: view.model });
    if (!view.current()) return;
    column = next;
    found = answer;
    const at = found.window.indexOf(column.place);
    const norms = found.norms.map((/** @type {number[]} */ row) => row[at]);
    const last = norms.length - 1;
    app.facts({ norm_first: norms[0], norm_last: norms[last] });
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
  picture.addEventListener("pointerleave", () => app.parts.stage.point(null));
  picture.addEventListener("click", (/** @type {any} */ event) => {
    const cell = event.target.closest("[data-at]");
    if (cell) app.set({ at: found.window[Number(cell.dataset.at)] });
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

/** Cells: the stream's length (log); bars at the right: the chosen column, stream and addition. */
function draw(
  /** @type {any} */ found,
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const L = found.added.length;
  const P = found.window.length;
  const at = found.window.indexOf(column.place);
  const narrow = width < 560;
  const left = 40 * unit;
  const right = narrow ? 130 : 330 * unit;
  const [top, foot] = [22 * unit, 26 * unit];
  const rowHeight = (height - top - foot) / L;
  const cell = (width - left - right - 14 * unit) / P;
  const y = (/** @type {number} */ l) => height - foot - (l + 1) * rowHeight;
  const every = found.norms.flat();
  const [low, high] = [Math.log(Math.max(1e-3, Math.min(...every))), Math.log(Math.max(...every))];
  const out = [];
  const x0 = width - right;
  const most = Math.max(
    ...found.norms.map((/** @type {number[]} */ r) => r[at]),
    ...found.added.map((/** @type {number[]} */ r) => r[at]),
  );
  const scale = (right - 62 * unit) / Math.sqrt(most);
  for (let l = 0; l < L; l++) {
    if (!(l % (rowHeight > 13 * unit ? 1 : 5)) || l === L - 1)
      out.push(
        svg("text", { x: left - 8 * unit, y: y(l) + rowHeight / 2, class: "gv-tick", "text-anchor": "end" }, String(l)),
      );
    for (let i = 0; i < P; i++) {
      const t = (Math.log(Math.max(1e-3, found.norms[l + 1][i])) - low) / (high - low || 1);
      out.push(
        svg("rect", {
          x: left + i * cell,
          y: y(l) + 0.5,
          width: Math.max(1, cell - 1),
          height: Math.max(1, rowHeight - 1),
          fill: mix("--void", "--key", 0.08 + 0.8 * t),
          "data-layer": l,
          "data-at": i,
        }),
      );
    }
    const [norm, added] = [found.norms[l][at], found.added[l][at]];
    out.push(
      svg("rect", {
        x: x0,
        y: y(l) + rowHeight * 0.12,
        width: Math.sqrt(norm) * scale,
        height: rowHeight * 0.38,
        class: "gv-normbar",
        "data-layer": l,
        "data-at": at,
      }),
    );
    out.push(
      svg("rect", {
        x: x0,
        y: y(l) + rowHeight * 0.52,
        width: Math.sqrt(added) * scale,
        height: rowHeight * 0.34,
        class: "gv-addbar",
        "data-layer": l,
        "data-at": at,
      }),
    );
    if (rowHeight > 11 * unit)
      out.push(
        svg(
          "text",
          { x: x0 + Math.sqrt(Math.max(norm, added)) * scale + 6 * unit, y: y(l) + rowHeight / 2, class: "gv-tick" },
          `+ ${number(added)}`,
        ),
      );
  }
  found.window.forEach((/** @type {number} */ place, /** @type {number} */ i) => {
    const room = Math.floor(cell / (7.4 * unit));
    if (room >= 2 || i === at)
      out.push(
        svg(
          "text",
          {
            x: left + (i + 0.5) * cell,
            y: height - 8 * unit,
            class: i === at ? "gv-tick gv-own" : "gv-tick",
            "text-anchor": "middle",
            "data-at": i,
          },
          column.tokens[place].slice(0, Math.max(3, room)),
        ),
      );
  });
  out.push(svg("rect", { x: left + at * cell - 0.5, y: top, width: cell, height: L * rowHeight, class: "gv-outline" }));
  out.push(svg("text", { x: left, y: 12 * unit, class: "gv-tick gv-sans" }, text("inside.stream_axis")));
  out.push(
    svg("rect", { x: x0, y: 5 * unit, width: 10 * unit, height: 9 * unit, class: "gv-normbar" }),
    svg("text", { x: x0 + 15 * unit, y: 12 * unit, class: "gv-tick gv-sans" }, text("inside.stream_norm")),
  );
  out.push(
    svg("rect", { x: x0 + 150 * unit, y: 5 * unit, width: 10 * unit, height: 9 * unit, class: "gv-addbar" }),
    svg("text", { x: x0 + 165 * unit, y: 12 * unit, class: "gv-tick gv-sans" }, text("inside.stream_added")),
  );
  return out;
}

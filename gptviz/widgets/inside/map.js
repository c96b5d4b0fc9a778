// The columns as cells: where each stands, the pale ones, and the chosen one with a word in every cell.
import { label, mix } from "../kit/colour.js";
import { mark, svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { word } from "./page.js";
import { clip, grouped, told, why } from "./runs.js";

/** Where everything stands: rows from the bottom up, the chosen column wide, brackets on the right. */
export function geometry(
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
  /** @type {any} */ column,
) {
  const narrow = width < 560;
  const rows = column.rows.length;
  const left = 44 * unit;
  const at = column.window.indexOf(column.place);
  const last = at === column.window.length - 1; // beside the last column there is room for words
  const right = narrow || !last ? 0 : Math.min(320 * unit, width * 0.33);
  const rooms = (width - left - right - 12 * unit) / Math.max(1, column.window.length) / (7.4 * unit);
  const slanted = rooms < 6; // labels that would be cut stand at a slant
  const foot = (slanted ? 62 : 26) * unit;
  const head = 18 * unit;
  const band = 4 * unit; // between groups of five layers
  const gaps = band * (Math.floor((rows - 2) / 5) + 1);
  const rowHeight = Math.min(120 * unit, (height - foot - head - gaps) / rows);
  const bottom = height - foot;
  const y = (/** @type {number} */ r) => bottom - (r + 1) * rowHeight - band * (r ? 1 + Math.floor((r - 1) / 5) : 0);
  const across = column.window.length;
  const room = width - left - right - 12 * unit;
  const own = Math.max(narrow ? 120 : 150 * unit, room / Math.max(across, 4));
  const pale = across > 1 ? (room - own) / (across - 1) : 0;
  const x = (/** @type {number} */ i) => left + (i <= at ? i * pale : (i - 1) * pale + own);
  return { width, height, unit, left, right, rows, rowHeight, y, x, own, pale, at, bottom, room, narrow, slanted };
}

/** Layer numbers on the left, tokens under the columns. */
export function axis(/** @type {any} */ g, /** @type {any} */ column) {
  const out = [];
  const every = g.rowHeight >= 13 * g.unit ? 1 : 5;
  for (let r = 0; r < g.rows; r++) {
    if (r && (r - 1) % every && r !== g.rows - 1) continue;
    const words = r ? String(r - 1) : text("inside.table_row");
    out.push(
      svg(
        "text",
        { x: g.left - 8 * g.unit, y: g.y(r) + g.rowHeight / 2, class: "gv-tick", "text-anchor": "end" },
        words,
      ),
    );
  }
  out.push(svg("text", { x: g.left, y: 11 * g.unit, class: "gv-tick gv-sans" }, heading(g, column)));
  column.window.forEach((/** @type {number} */ place, /** @type {number} */ i) =>
    out.push(...name(g, column, place, i)),
  );
  return out;
}

/** What is read how; and how much of a long text is shown. @param {any} g @param {any} column */
function heading(g, column) {
  const [shown, all] = [column.window.length, column.tokens.length];
  const key = shown < all ? "inside.read_up_some" : "inside.read_up"; // words: inside.read_up inside.read_up_some
  return text(key, { n: g.rows - 1, shown, all });
}

/** A token under its column: level where it fits, at a slant where it would be cut, left out where it would touch. */
function name(/** @type {any} */ g, /** @type {any} */ column, /** @type {number} */ place, /** @type {number} */ i) {
  const own = i === g.at;
  const wide = own ? g.own : g.pale;
  const x = g.x(i) + wide / 2;
  const kind = own ? "gv-tick gv-picked" : "gv-tick";
  if (own || !g.slanted) {
    const words = clip(column.tokens[place], Math.floor(wide / (7.4 * g.unit)));
    return [mark(x, g.bottom + 16 * g.unit, words, kind, "middle", { "data-place": place })];
  }
  if (g.pale < 11 * g.unit) return [];
  const y = g.bottom + 9 * g.unit;
  const more = { "data-place": place, transform: `rotate(-58 ${x} ${y})` };
  return [mark(x, y, clip(column.tokens[place], 8), kind, "end", more)];
}

/** The other columns: how sure each place is, teal where its final word is there already. */
export function pale(/** @type {any} */ g, /** @type {any} */ grid, /** @type {any} */ column) {
  const out = [];
  const P = grid.window.length;
  for (let i = 0; i < P; i++) {
    if (grid.window[i] === column.place) continue;
    const target = grid.ids[(g.rows - 1) * P + i];
    for (let r = 0; r < g.rows; r++) {
      const k = r * P + i;
      const there = grid.ids[k] === target;
      const t = 0.06 + 0.4 * grid.p[k];
      const fillWith = there ? mix("--card", "--key", t) : mix("--card", "--soft", 0.55 * t);
      out.push(
        svg("rect", {
          x: g.x(i) + 0.5,
          y: g.y(r) + 0.5,
          width: Math.max(1, g.pale - 1),
          height: Math.max(1, g.rowHeight - 1),
          fill: fillWith,
          "data-row": r,
          "data-place": grid.window[i],
        }),
      );
      if (g.pale > 46 * g.unit && g.rowHeight > 14 * g.unit) {
        const words = clip(word(grid.words[r][i]), Math.floor((g.pale - 8) / (7 * g.unit)));
        out.push(
          svg(
            "text",
            { x: g.x(i) + 4 * g.unit, y: g.y(r) + g.rowHeight / 2, class: "gv-tick", "pointer-events": "none" },
            words,
          ),
        );
      }
    }
  }
  return out;
}

/** The chosen column: a word and its probability in every cell. */
export function own(/** @type {any} */ g, /** @type {any} */ column) {
  const target = column.rows[g.rows - 1].top[0].id;
  const out = [];
  column.rows.forEach((/** @type {any} */ row, /** @type {number} */ r) => {
    const top = row.top[0];
    const there = top.id === target;
    const [from, to, t] = there ? ["--card", "--key", 0.25 + 0.75 * top.p] : ["--card", "--soft", 0.1 + 0.45 * top.p];
    const cell = {
      x: g.x(g.at) + 0.5,
      y: g.y(r) + 0.5,
      width: g.own - 1,
      height: Math.max(1, g.rowHeight - 1),
      fill: mix(from, to, t),
      "data-row": r,
      "data-place": column.place,
    };
    const ink = label(from, to, t);
    const y = g.y(r) + g.rowHeight / 2;
    const size = Math.min(13.5 * g.unit, g.rowHeight * 0.86);
    out.push(svg("rect", cell));
    if (g.rowHeight < 7) return;
    const words = {
      y,
      style: { fill: ink, "font-size": `${size}px` },
      class: there ? "gv-word gv-there" : "gv-word",
      "pointer-events": "none",
    };
    const share = percent(top.p);
    const room = (g.own - 14 * g.unit) / (size * 0.62) - share.length - 1;
    out.push(
      svg("text", { ...words, x: g.x(g.at) + 6 * g.unit }, clip(word(top.shown), Math.max(3, Math.floor(room)))),
    );
    out.push(svg("text", { ...words, x: g.x(g.at) + g.own - 6 * g.unit, "text-anchor": "end" }, share));
  });
  out.push(
    svg("rect", {
      x: g.x(g.at),
      y: g.y(g.rows - 1),
      width: g.own,
      height: g.bottom - g.y(g.rows - 1),
      class: "gv-outline",
    }),
  );
  return out;
}

/** Runs of layers that say the same, told in words beside the column; the last run in large type. */
export function brackets(/** @type {any} */ g, /** @type {any} */ column) {
  if (!g.right) return [];
  const runs = grouped(column.rows);
  const x = g.x(g.at) + g.own + 10 * g.unit;
  const longest = [...runs].sort((a, b) => b.last - b.first - (a.last - a.first)).slice(0, 6);
  const out = [];
  let below = g.height; // where the label under this one stands
  for (const run of runs) {
    const final = run.last === g.rows - 1;
    if (!final && !longest.includes(run) && run.first !== 0) continue;
    const [top, base] = [g.y(run.last) + 2, g.y(run.first) + g.rowHeight - 2];
    if (base - top < 9 * g.unit && !final) continue;
    out.push(svg("path", { d: `M${x} ${top}h5V${base}h-5`, class: "gv-bracket" }));
    const said = told(run, g.rows, column);
    const kind = final ? "gv-run gv-final" : "gv-run";
    const room = (g.width - x - 14 * g.unit) / g.unit;
    const [at, middle] = [x + 12 * g.unit, (top + base) / 2];
    out.push(mark(at, middle, clip(said, Math.floor(room / (final ? 9.2 : 7.2))), kind));
    const more = why(run, column, final);
    const fits = final ? below - middle > 38 * g.unit : base - top > 44 * g.unit;
    below = middle;
    if (more && fits) out.push(mark(at, middle + 19 * g.unit, clip(more, Math.floor(room / 6.2)), "gv-tick gv-sans"));
  }
  return out;
}

// Order: two places of one token start as the same row and part on the way up; how this model is told a place.
import { el, fill, mark, svg } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {HTMLElement} root @param {any} app */
export function createOrder(root, app) {
  const picture = svg("svg", { class: "gv-svg", role: "img" });
  const title = el("h2");
  const note = el("p", { class: "gv-soft" });
  const dials = svg("svg", { class: "gv-svg", "aria-hidden": "true" }); // the note beside them says it
  root.append(
    el(
      "div",
      { class: "gv-order" },
      el("div", { class: "gv-fill" }, picture),
      el("div", { class: "gv-orderside" }, title, note, dials),
    ),
  );
  let /** @type {any} */ column = null;
  let /** @type {any} */ found = null;

  async function show(/** @type {any} */ view, /** @type {any} */ next) {
    const answer = await view.ask("order", { text: view.text, model: view.model });
    if (!view.current()) return;
    column = next;
    found = answer;
    const pair = found.pairs[0];
    const end = pair ? pair.cosine[pair.cosine.length - 1] : null;
    const token = pair ? column.tokens[pair.first] : "";
    const [key, values] = [pair ? "inside.order_say" : "inside.order_none", { token, cosine: Math.max(0, end ?? 0) }];
    app.parts.stage.say(key, values); // words: inside.order_say inside.order_none
    picture.setAttribute("aria-label", text(key, values));
    app.facts({
      swapping: false,
      paired: Boolean(pair),
      alone: !pair,
      pair: token,
      cosine_end: Math.max(0, end ?? 0),
      rotary: found.kind === "rotary",
      learned: found.kind === "learned",
      rows: found.rows,
    });
    explain();
  }

  function explain() {
    const { kind, wavelengths } = found;
    const key = kind === "none" ? "" : `inside.${kind}_title`; // words: inside.rotary_title inside.learned_title
    title.textContent = key ? text(key) : "";
    const values = {
      fast: Math.min(...wavelengths, Infinity),
      slow: Math.max(...wavelengths, 0),
      rows: found.rows,
      error: found.past_the_end,
    };
    // words: inside.rotary_note inside.learned_note inside.none_note
    note.textContent = text(`inside.${kind}_note`, values);
  }

  function resize() {
    if (!found) return;
    const { width, height, unit } = app.parts.stage.size();
    const small = width < 640;
    const [w, h] = small ? [width, height * 0.55] : [width * 0.6, height];
    picture.setAttribute("width", String(w));
    picture.setAttribute("height", String(h));
    fill(picture, ...chart(found.pairs, column, w, h, unit));
    const side = /** @type {HTMLElement} */ (dials.parentElement).clientWidth;
    dials.setAttribute("width", String(side));
    const rotary = found.kind === "rotary";
    dials.setAttribute("height", String(rotary ? 250 * unit : 200 * unit));
    fill(dials, ...(rotary ? clocks(found.wavelengths, column, side, unit) : lengths(found.norms, column, side, unit)));
  }

  const table = () => tableOf(found.pairs, column);
  return { show, resize, table };
}

/** @param {any[]} pairs @param {any} column */
function tableOf(pairs, column) {
  const names = pairs.map((p) => `${column.tokens[p.first]} ${p.first}, ${p.second}`);
  const layers = pairs.length ? [...pairs[0].cosine.keys()] : [];
  const rows = layers.map((r) => [r ? r - 1 : text("inside.table_row"), ...pairs.map((p) => decimal(p.cosine[r], 3))]);
  return { head: [text("inside.order_layer"), ...names], rows };
}

/** Cosines of all pairs from the table (bottom) to the top, the first pair strong; their names where there is room. */
function chart(
  /** @type {any[]} */ pairs,
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  if (!pairs.length) return [];
  const rows = pairs[0].cosine.length;
  const [left, right, top, foot] = [54 * unit, 30 * unit, 16 * unit, 44 * unit];
  const least = Math.min(...pairs.flatMap((p) => [...p.cosine]));
  const low = Math.max(-1, Math.floor(least * 5 - 0.5) / 5);
  const x = (/** @type {number} */ c) => left + ((width - left - right) * (c - low)) / (1 - low);
  const y = (/** @type {number} */ r) => height - foot - ((height - foot - top) * r) / (rows - 1);
  const path = (/** @type {any} */ pair) => [...pair.cosine].map((c, r) => `${r ? "L" : "M"}${x(c)} ${y(r)}`).join("");
  const faint = pairs.slice(1).map((pair) => svg("path", { d: path(pair), class: "gv-curve gv-faint" }));
  const names = pairs.slice(0, 5).map((pair, i) => {
    const values = { token: column.tokens[pair.first], first: pair.first, second: pair.second };
    const at = height - foot - (Math.min(5, pairs.length) - i) * 20 * unit;
    return mark(left + 14 * unit, at, text("inside.order_pair", values), i ? "gv-tick" : "gv-tick gv-picked");
  });
  return [...scales(), ...faint, svg("path", { d: path(pairs[0]), class: "gv-curve" }), ...names];

  function scales() {
    const marks = [0, 1, 2, 3, 4].map((k) => low + ((1 - low) * k) / 4);
    const across = marks.flatMap((c) => [
      svg("line", { x1: x(c), x2: x(c), y1: top, y2: height - foot, class: "gv-gridline" }),
      mark(x(c), height - foot + 14 * unit, decimal(c, 2), "gv-tick", "middle"),
    ]);
    const step = rows > 12 ? 5 : 1;
    const up = [];
    for (let r = 0; r < rows; r += step) {
      up.push(mark(left - 10 * unit, y(r), r ? String(r - 1) : text("inside.table_row"), "gv-tick", "end"));
    }
    const title = mark(
      (left + width - right) / 2,
      height - 8 * unit,
      text("inside.order_axis"),
      "gv-tick gv-sans",
      "middle",
    );
    return [...across, ...up, title];
  }
}

/** Three pairs of numbers as hands of clocks, one for each of two places: fast, middle, slow. */
function clocks(
  /** @type {number[]} */ waves,
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ unit,
) {
  const sorted = [...waves].sort((a, b) => a - b);
  const chosen = [sorted[0], sorted[Math.floor(sorted.length / 3)], sorted[Math.floor((2 * sorted.length) / 3)]];
  const places = column.window.slice(-6);
  const r = Math.min(15 * unit, width / (places.length * 2.6));
  /** @type {Node[]} */
  const out = [];
  chosen.forEach((wave, row) => {
    places.forEach((/** @type {number} */ place, /** @type {number} */ i) => {
      const angle = (2 * Math.PI * place) / wave;
      const [cx, cy] = [
        r + 6 + i * ((width - 2 * r - 12) / Math.max(1, places.length - 1)),
        24 * unit + row * 72 * unit + r,
      ];
      out.push(svg("circle", { cx, cy, r, class: "gv-dial" }));
      out.push(
        svg("line", { x1: cx, y1: cy, x2: cx + r * Math.sin(angle), y2: cy - r * Math.cos(angle), class: "gv-hand" }),
      );
      if (row === 0)
        out.push(
          svg(
            "text",
            { x: cx, y: 12 * unit, class: "gv-tick", "text-anchor": "middle" },
            column.tokens[place].slice(0, 7),
          ),
        );
    });
  });
  return out;
}

/** The learned vectors' lengths, place by place. */
function lengths(
  /** @type {number[]} */ norms,
  /** @type {any} */ column,
  /** @type {number} */ width,
  /** @type {number} */ unit,
) {
  if (!norms.length) return [];
  const most = Math.max(...norms);
  const height = 150 * unit;
  const path = norms
    .map((n, i) => `${i ? "L" : "M"}${(width * i) / (norms.length - 1 || 1)} ${height - (height * n) / most}`)
    .join("");
  const here = (width * (column.tokens.length - 1)) / (norms.length - 1 || 1);
  return [
    svg("path", { d: path, class: "gv-curve" }),
    svg("line", { x1: here, x2: here, y1: 0, y2: height, class: "gv-rowmark gv-picked" }),
  ];
}

// The row carried on: weight × value of every key, through W_O, summed and added to the stream. Lengths are true to
// scale.
import { fill, svg } from "../kit/dom.js";
import { number, percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

/** @param {{ point: (key: number) => void, leave: () => void }} on */
export function createValues(on) {
  const root = svg("svg", { class: "gv-values", tabindex: "0", role: "application", hidden: true });
  let columns = 0;
  let cursor = -1;
  /** @type {number[]} */
  let cols = [];
  root.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
    const key = /** @type {Element} */ (e.target).closest("[data-key]");
    if (key) on.point(Number(/** @type {SVGElement} */ (key).dataset.key));
    else on.leave();
  });
  root.addEventListener("pointerleave", () => on.leave());
  root.addEventListener("blur", () => on.leave());
  root.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by) return;
    e.preventDefault();
    cursor = Math.max(0, Math.min(columns - 1, cursor + by));
    on.point(cols[cursor]);
  });

  /** @param {any} found what /values answers @param {any} m tokens, at, target @param {any} g geometry */
  function draw(found, m, g) {
    cols = g.cols;
    columns = cols.length;
    root.setAttribute("width", g.width);
    root.setAttribute("height", g.height);
    root.setAttribute("aria-label", text("attention.values_label", { token: m.tokens[m.at] }));
    const below = Math.max(96 * g.unit, g.height * 0.27);
    const strips = (g.height - g.tl - below) / 3;
    const rows = [
      {
        name: "weights",
        sign: "",
        at: found.weights,
        show: (/** @type {number} */ x) => (x >= 0.005 ? String(Math.round(100 * x)) : ""),
      },
      { name: "lengths", sign: "×", at: found.value_norms, show: fine },
      { name: "carried", sign: "→", at: found.contributions, show: fine },
    ];
    // words: attention.values_weights attention.values_lengths attention.values_carried
    const parts = rows.flatMap((row, r) => strip(row, g.tl + r * strips, strips, m, g));
    fill(root, ...names(m, g), ...parts, ...added(found, m, g, g.tl + 3 * strips, below));
  }
  return { root, draw };
}

const fine = (/** @type {number} */ x) => (x >= 0.05 ? (x < 9.95 ? x.toFixed(1) : String(Math.round(x))) : "");

/** @param {any} m @param {any} g */
function names(m, g) {
  return g.cols.map((/** @type {number} */ j, /** @type {number} */ k) => {
    const x = g.lab + (k + 0.5) * g.cell + 2;
    const name = m.tokens[j].length > 9 ? `${m.tokens[j].slice(0, 8)}…` : m.tokens[j];
    return svg(
      "text",
      {
        class: j === m.target ? "gv-vname gv-vread" : "gv-vname",
        "font-size": g.size,
        transform: `translate(${x} ${g.tl - 6}) rotate(-54)`,
      },
      name,
    );
  });
}

/** One strip of bars. @param {any} row @param {number} y @param {number} height @param {any} m @param {any} g */
function strip(row, y, height, m, g) {
  const visible = g.cols.filter((/** @type {number} */ j) => j <= m.at || row.at[j] > 0);
  const top = Math.max(1e-9, ...visible.map((/** @type {number} */ j) => row.at[j]));
  const room = height - 44 * g.unit;
  const base = y + height - 4 * g.unit;
  const bars = g.cols.flatMap((/** @type {number} */ j, /** @type {number} */ k) => {
    const size = (row.at[j] / top) * room;
    const x = g.lab + k * g.cell;
    const w = Math.max(2, Math.min(g.cell - 5, 26 * g.unit));
    const mine = j === m.target ? "gv-vbar gv-vread" : "gv-vbar";
    const bar = svg("rect", {
      class: mine,
      x: x + (g.cell - w) / 2,
      y: base - Math.max(0.75, size),
      width: w,
      height: Math.max(0.75, size),
    });
    const hit = svg("rect", {
      class: "gv-vhit",
      "data-key": j,
      x,
      y: y + 18 * g.unit,
      width: g.cell,
      height: height - 20 * g.unit,
    });
    const words = g.cell >= 27 * g.unit || peak(row.at, g.cols, k) ? row.show(row.at[j]) : "";
    const digits = svg(
      "text",
      { class: "gv-vnum", x: x + g.cell / 2, y: base - size - 4, "text-anchor": "middle" },
      words,
    );
    return [bar, digits, hit];
  });
  const line = svg("path", { class: "gv-vbase", d: `M${g.lab} ${base + 0.5}h${g.cols.length * g.cell}` });
  const sign = svg(
    "text",
    { class: "gv-vsign", x: g.lab - 40 * g.unit, y: base - room / 2 + 8, "text-anchor": "middle" },
    row.sign,
  );
  const name = svg("text", { class: "gv-vhead", x: g.lab, y: y + 15 * g.unit }, text(`attention.values_${row.name}`));
  return [line, name, sign, ...bars];
}

/** Is this bar higher than those beside it? Where columns are narrow, only such a one has its number. */
function peak(/** @type {ArrayLike<number>} */ at, /** @type {number[]} */ cols, /** @type {number} */ k) {
  const here = at[cols[k]];
  return (k === 0 || here > at[cols[k - 1]]) && (k === cols.length - 1 || here >= at[cols[k + 1]]);
}

/** The stream, what the head adds to it, and where that leads: two arrows at their true lengths and angle. */
function added(
  /** @type {any} */ found,
  /** @type {any} */ m,
  /** @type {any} */ g,
  /** @type {number} */ y,
  /** @type {number} */ height,
) {
  const { stream_norm: stream, output_norm: output, cosine } = found;
  const sine = Math.sqrt(Math.max(0, 1 - cosine * cosine));
  const width = g.cols.length * g.cell + g.lab - 20 * g.unit;
  const across = Math.max(stream, stream + output * cosine, 1e-9);
  const scale = Math.min((width - 30 * g.unit) / across, (height - 62 * g.unit) / Math.max(output * sine, 1e-9));
  const x0 = 10 * g.unit;
  const base = y + height - 26 * g.unit;
  const tip = [x0 + stream * scale, base];
  const end = [tip[0] + output * cosine * scale, base - output * sine * scale];
  const heading = text("attention.values_added", { token: m.tokens[m.at] });
  const of = percent(output / Math.max(stream, 1e-9));
  return [
    svg("path", { class: "gv-vrule", d: `M0 ${y + 6}H${g.width}` }),
    g.width > 420 * g.unit ? svg("text", { class: "gv-vhead", x: 0, y: y + 26 * g.unit }, heading) : null,
    arrow("gv-vstream", [x0, base], tip, 6 * g.unit),
    arrow("gv-vout", tip, end, 6 * g.unit),
    svg("path", { class: "gv-vsum", d: `M${x0} ${base}L${end[0]} ${end[1]}` }),
    svg(
      "text",
      { class: "gv-vtext", x: x0, y: base + 20 * g.unit },
      text("attention.values_stream", { n: number(stream) }),
    ),
    svg(
      "text",
      { class: "gv-vtext gv-vouttext", x: g.lab + g.cols.length * g.cell, y: y + 26 * g.unit, "text-anchor": "end" },
      text("attention.values_output", { n: number(output), of }),
    ),
  ];
}

/** @param {string} name @param {number[]} from @param {number[]} to @param {number} size */
function arrow(name, from, to, size) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const [ux, uy] = length ? [(to[0] - from[0]) / length, (to[1] - from[1]) / length] : [1, 0];
  const s = Math.min(size, length * 0.8);
  const back = [to[0] - ux * s * 1.5, to[1] - uy * s * 1.5];
  const [wx, wy] = [-uy * s * 0.7, ux * s * 0.7];
  const head = `M${to[0]} ${to[1]}L${back[0] + wx} ${back[1] + wy}L${back[0] - wx} ${back[1] - wy}z`;
  return svg(
    "g",
    { class: name },
    svg("path", { d: `M${from[0]} ${from[1]}L${back[0]} ${back[1]}` }),
    svg("path", { class: "gv-tip", d: head }),
  );
}

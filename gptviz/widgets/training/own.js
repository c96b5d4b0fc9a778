// Own words, fairly: the same ending after true words, after the model's own, and after as many other true ones.
import { el, fill, mark, svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { natsText } from "./scenes.js";

const ROWS = ["true", "own", "other"];
const SHOWN = 14; // tokens of the text that are drawn

/** @param {{ point: (told: any) => void }} acts */
export function createOwn({ point }) {
  const line = el("p", { class: "gv-ownline" });
  const legend = el("small", { class: "gv-soft" });
  const picture = svg("svg", { class: "gv-ownsvg", role: "img", tabindex: 0 });
  const root = el("div", { class: "gv-own" }, line, legend, picture);
  /** @type {any[]} */
  let dots = [];
  let cursor = -1;

  /** @param {any} found */
  function draw(found) {
    const room = SHOWN - found.true.words.length - found.tail.length;
    const kept = found.kept.slice(-Math.max(1, room));
    const chips = (/** @type {string} */ kind, /** @type {string[]} */ tokens) =>
      tokens.map((token) => el("span", { class: `gv-trchip gv-chip-${kind}` }, token));
    const parts = [...chips("kept", kept), ...chips("replaced", found.true.words), ...chips("tail", found.tail)];
    fill(line, ...(kept.length < found.kept.length ? ["… "] : []), ...parts);
    legend.textContent = text("training.own_legend", { n: found.true.words.length });
    dots = plot(picture, found);
    dots.forEach((dot) => dot.node.addEventListener("pointerenter", () => tell(dot)));
  }

  /** @param {any} dot */
  function tell(dot) {
    cursor = dots.indexOf(dot);
    point({ words: dot.each.words.join("").replaceAll("·", " ").trim(), nats: natsText(dot.each.loss) });
  }

  picture.addEventListener("pointerleave", () => point(null));
  picture.addEventListener("blur", () => point(null));
  picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[/** @type {"ArrowLeft" | "ArrowRight"} */ (event.key)];
    if (!by || !dots.length) return;
    event.preventDefault();
    tell(dots[Math.min(dots.length - 1, Math.max(0, cursor + by))]);
  });
  return { root, draw };
}

/** Draws the three rows; the dots that may be pointed at. @param {any} picture @param {any} found */
function plot(picture, found) {
  const unit = Number(getComputedStyle(picture).getPropertyValue("--u")) || 1;
  const { clientWidth: width, clientHeight: height } = picture;
  if (width < 40 || height < 40) return [];
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("aria-label", text("training.own_picture"));
  const slim = width < 560;
  const sets = [[found.true], found.own, found.other];
  const all = sets.flat().map((each) => each.loss);
  const [low, high] = [Math.max(0, Math.floor(Math.min(...all) - 0.4)), Math.ceil(Math.max(...all) + 0.2)];
  const [left, right, top, bottom] = [(slim ? 10 : 210) * unit, width - 40 * unit, 6, height - 40 * unit];
  const x = (/** @type {number} */ loss) => left + ((right - left) * (loss - low)) / (high - low);
  const scene = { low, high, left, right, top, bottom, x, unit, slim };
  /** @type {any[]} */
  const dots = [];
  const rows = ROWS.flatMap((name, r) => {
    const y = top + ((r + 0.56) * (bottom - top)) / ROWS.length;
    return row({ ...scene, name, y, found, dots }, sets[r]);
  });
  fill(picture, ...axis(scene), ...rows);
  return dots;
}

/** @param {any} scene */
function axis({ low, high, right, top, bottom, x, unit }) {
  const parts = [];
  for (let v = low; v <= high; v += high - low > 12 ? 2 : 1) {
    parts.push(svg("line", { x1: x(v), x2: x(v), y1: top, y2: bottom, class: "gv-owngrid" }));
    parts.push(mark(x(v), bottom + 16 * unit, String(v), "gv-trsmall", "middle"));
  }
  return [...parts, mark(right, bottom + 34 * unit, text("training.own_axis"), "gv-trsmall", "end")];
}

/** @param {any} place @param {any[]} some */
function row({ name, y, x, unit, slim, found, left, right, dots }, some) {
  const kind = `gv-own-${name}`;
  const values = { n: found.true.words.length, draws: some.length };
  const mean = name === "true" ? found.true.loss : found[`${name}_mean`];
  // words: training.own_true training.own_own training.own_other
  // words: training.own_true_note training.own_own_note training.own_other_note
  const title = mark(slim ? left : 0, slim ? y + 24 * unit : y - 2, text(`training.own_${name}`, values), "gv-ownname");
  const note = mark(0, y + 17 * unit, text(`training.own_${name}_note`, values), "gv-trsmall");
  const circles = some.map((/** @type {any} */ each) => {
    const r = (name === "true" ? 9 : 7) * unit;
    const node = svg("circle", { cx: x(each.loss), cy: y, r, class: `gv-owndot ${kind}` });
    dots.push({ node, each, name });
    return node;
  });
  const at = x(mean);
  return [
    svg("line", { x1: left, x2: right, y1: y, y2: y, class: "gv-trbase" }),
    title,
    slim ? null : note,
    ...circles,
    svg("line", { x1: at, x2: at, y1: y - 22 * unit, y2: y + 22 * unit, class: `gv-ownmean ${kind}` }),
    mark(at, y - 28 * unit, natsText(mean), `gv-trvalue ${kind}`, "middle"),
  ];
}

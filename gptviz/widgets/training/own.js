// Own words, fairly: the same ending after true words, after the model's own, and after as many other true ones.
import { el, fill, mark, svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { natsText } from "./scenes.js";

const ROWS = ["true", "own", "other"];
const SHOWN = 14; // tokens of the text that are drawn

/** @param {{ point: (told: any) => void }} acts */
export function createOwn({ point }) {
  const line = el("p", { class: "gv-ownline" });
  const picture = svg("svg", { class: "gv-ownsvg", role: "img", tabindex: 0 });
  const legend = el("small", { class: "gv-soft" });
  const root = el("div", { class: "gv-own" }, line, legend, picture);
  /** @type {any[]} */
  let dots = [];
  let cursor = -1;

  /** @param {any} found */
  function draw(found) {
    const kept = found.kept.slice(-Math.max(1, SHOWN - found.true.words.length - found.tail.length));
    const chip = (/** @type {string} */ kind) => (/** @type {string} */ token) =>
      el("span", { class: `gv-trchip gv-chip-${kind}` }, token);
    legend.textContent = text("training.own_legend", { n: found.true.words.length });
    fill(
      line,
      ...(kept.length < found.kept.length ? ["… "] : []),
      ...kept.map(chip("kept")),
      ...found.true.words.map(chip("replaced")),
      ...found.tail.map(chip("tail")),
    );
    plot(found);
  }

  /** @param {any} found */
  function plot(found) {
    const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
    const { clientWidth: width, clientHeight: height } = picture;
    if (width < 40 || height < 40) return;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-label", text("training.own_picture"));
    const slim = width < 560;
    const sets = { true: [found.true], own: found.own, other: found.other };
    const all = ROWS.flatMap((name) => sets[/** @type {keyof typeof sets} */ (name)].map((each) => each.loss));
    const [low, high] = [Math.max(0, Math.floor(Math.min(...all) - 0.4)), Math.ceil(Math.max(...all) + 0.2)];
    const box = { left: (slim ? 10 : 210) * unit, right: width - 40 * unit, top: 6, bottom: height - 40 * unit };
    const x = (/** @type {number} */ loss) => box.left + ((box.right - box.left) * (loss - low)) / (high - low);
    const step = high - low > 12 ? 2 : 1;
    const parts = [];
    for (let v = low; v <= high; v += step) {
      parts.push(svg("line", { x1: x(v), x2: x(v), y1: box.top, y2: box.bottom, class: "gv-owngrid" }));
      parts.push(mark(x(v), box.bottom + 16 * unit, String(v), "gv-trsmall", "middle"));
    }
    parts.push(mark(box.right, box.bottom + 34 * unit, text("training.own_axis"), "gv-trsmall", "end"));
    dots = [];
    ROWS.forEach((name, r) => {
      const y = box.top + ((r + 0.56) * (box.bottom - box.top)) / ROWS.length;
      parts.push(...row({ name, y, x, unit, slim, found, box }, sets[/** @type {keyof typeof sets} */ (name)]));
    });
    fill(picture, ...parts);
    dots.forEach((dot) => dot.node.addEventListener("pointerenter", () => tell(dot)));
  }

  /** @param {any} place @param {any[]} some */
  function row({ name, y, x, unit, slim, found, box }, some) {
    const kind = `gv-own-${name}`;
    const values = { n: found.true.words.length, draws: some.length };
    const mean = name === "true" ? found.true.loss : found[`${name}_mean`];
    const title = mark(
      slim ? box.left : 0,
      slim ? y - 44 * unit : y - 2,
      text(`training.own_${name}`, values),
      "gv-ownname",
    ); // words: training.own_true training.own_own training.own_other
    const note = mark(0, y + 17 * unit, text(`training.own_${name}_note`, values), "gv-trsmall"); // words: training.own_true_note training.own_own_note training.own_other_note
    const circles = some.map((/** @type {any} */ each) => {
      const node = svg("circle", {
        cx: x(each.loss),
        cy: y,
        r: (name === "true" ? 9 : 7) * unit,
        class: `gv-owndot ${kind}`,
      });
      dots.push({ node, each, name });
      return node;
    });
    return [
      svg("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "gv-trbase" }),
      title, slim ? null : note, ...circles,
      svg("line", { x1: x(mean), x2: x(mean), y1: y - 22 * unit, y2: y + 22 * unit, class: `gv-ownmean ${kind}` }),
      mark(x(mean), y - 28 * unit, natsText(mean), `gv-trvalue ${kind}`, "middle"),
    ]; // prettier-ignore
  }

  /** @param {any} dot */
  function tell(dot) {
    cursor = dots.indexOf(dot);
    point({
      key: "point_own",
      values: { words: dot.each.words.join("").replaceAll("·", " ").trim(), nats: natsText(dot.each.loss) },
    });
  }

  picture.addEventListener("pointerleave", () => point(null));
  picture.addEventListener("blur", () => point(null));
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || !dots.length) return;
    event.preventDefault();
    tell(dots[Math.min(dots.length - 1, Math.max(0, cursor + by))]);
  });
  return { root, draw };
}

// How the bundled model learned, recorded: two losses against the steps, and what it wrote at each of them.
import { el, fill, mark, segment, svg } from "../kit/dom.js";
import { decimal, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const STOPS = [0, 50, 200, 800, 2000];
const HIGHEST = 14; // nats
const KINDS = ["loss", "again"];

/** @param {{ changed: () => void }} acts */
export function createHistory({ changed }) {
  const picture = svg("svg", { class: "gv-copysvg", role: "img", "aria-label": text("training.history_picture") });
  const slider = el("input", { type: "range", min: 0, step: 1, "aria-label": text("training.history_step") });
  const stops = segment(
    text("training.history_step"),
    STOPS.map((n) => /** @type {[string, string]} */ ([String(n), whole(n)])),
    (n) => move(nearest(Number(n))),
  );
  const made = el("span", { class: "gv-recorded" });
  const box = el("div", { class: "gv-hischart" }, picture);
  const said = el("div", { class: "gv-hissaid" });
  const root = el(
    "div",
    { class: "gv-history" },
    box,
    el("div", { class: "gv-hisbar" }, stops.box, slider, made),
    said,
  );
  /** @type {any} */
  let run = null;
  let at = -1; // which look; -1: none chosen yet
  slider.addEventListener("input", () => move(Number(slider.value)));

  /** @param {number} step */
  const nearest = (step) =>
    run.looks.reduce(
      (/** @type {number} */ best, /** @type {any} */ look, /** @type {number} */ i) =>
        Math.abs(look.step - step) < Math.abs(run.looks[best].step - step) ? i : best,
      0,
    );

  /** @param {number} to */
  function move(to) {
    at = to;
    draw(run);
    changed();
  }

  /** @param {any} found */
  function draw(found) {
    run = found;
    if (!run) return;
    if (at < 0) at = run.looks.length - 1;
    const look = run.looks[at];
    slider.max = String(run.looks.length - 1);
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", text("training.history_at", { n: look.step }));
    stops.set(String(look.step));
    made.textContent = text("frame.recorded");
    made.title = run.command;
    fill(
      said,
      ...run.prompts.map((/** @type {string} */ prompt, /** @type {number} */ i) => line(prompt, look.texts[i])),
    );
    if (box.clientWidth > 40 && box.clientHeight > 40) plot(box, picture, run, at);
  }

  /** What the prose may say. */
  function facts() {
    if (!run) return { watched: true };
    const look = run.looks[at < 0 ? run.looks.length - 1 : at];
    const two = (/** @type {number} */ x) => decimal(x, x < 9.95 ? 2 : 1);
    return { watched: true, ...bend(run.looks), step: look.step, now: two(look.loss), again: two(look.again) };
  }
  return { root, draw, facts };
}

/**
 * Where induction appears: from the last look before its strongest head turns up again to the first where it is there.
 * @param {any[]} looks
 */
export function bend(looks) {
  const heads = looks.map((look) => look.induction);
  const lowest = heads.indexOf(Math.min(...heads));
  const from = heads.findIndex((x, i) => i > lowest && x > 0.2);
  const to = heads.findIndex((x, i) => i > lowest && x > 0.8);
  return { bend_from: looks[from].step, bend_to: looks[to].step };
}

/** @param {string} prompt @param {string} written */
const line = (prompt, written) => el("p", null, el("span", null, prompt), written.replaceAll("\n", "⏎"));

/**
 * Steps stand at their square roots: much happens early.
 * @param {HTMLElement} box @param {Element} picture @param {any} run @param {number} at
 */
function plot(box, picture, run, at) {
  const unit = Number(getComputedStyle(box).getPropertyValue("--u")) || 1;
  const { clientWidth: width, clientHeight: height } = box;
  const slim = width < 560;
  const [left, right] = [30 * unit, width - (slim ? 84 : 176) * unit];
  const [top, bottom] = [22 * unit, height - 26 * unit];
  const last = run.looks[run.looks.length - 1].step;
  const x = (/** @type {number} */ step) => left + (right - left) * Math.sqrt(step / last);
  const y = (/** @type {number} */ loss) => bottom - ((bottom - top) * Math.min(loss, HIGHEST)) / HIGHEST;
  const scene = { left, right, top, bottom, x, y, unit, slim, run, at };
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  fill(picture, ...axes(scene), ...KINDS.flatMap((kind) => curve(kind, scene)), ...now(scene));
}

/** @param {any} scene */
function axes({ left, right, top, bottom, x, y, unit, run, slim }) {
  const parts = [];
  for (const loss of [0, 2, 4, 6, 8, 10, 12]) {
    parts.push(svg("line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "gv-owngrid" }));
    parts.push(mark(left - 7 * unit, y(loss) + 4 * unit, String(loss), "gv-trsmall", "end"));
  }
  for (const step of slim ? [0, 200, 800, 2000] : [0, 50, 200, 500, 800, 1200, 2000])
    parts.push(mark(x(step), bottom + 17 * unit, whole(step), "gv-trsmall", "middle"));
  if (!slim) parts.push(mark(right + 22 * unit, bottom + 17 * unit, text("training.copy_steps"), "gv-trsmall"));
  parts.push(mark(left + 2, top - 8 * unit, text("training.copy_axis"), "gv-trsmall"));
  const flat = y(run.uniform);
  parts.push(svg("line", { x1: left, x2: right, y1: flat, y2: flat, class: "gv-copyfloor" }));
  // words: training.history_flat training.history_flat_short
  const words = text(slim ? "training.history_flat_short" : "training.history_flat", { n: run.vocabulary });
  parts.push(mark(right - 4, flat - 7 * unit, words, "gv-trname gv-trhalo", "end"));
  return parts;
}

/** @param {string} kind @param {any} scene */
function curve(kind, { right, x, y, unit, run, slim }) {
  const points = run.looks.map((/** @type {any} */ l) => `${x(l.step).toFixed(1)} ${y(l[kind]).toFixed(1)}`);
  const end = run.looks[run.looks.length - 1][kind];
  const lift = kind === "again" ? -24 * unit : (slim ? 4 : 6) * unit; // both end near each other
  const tone = kind === "again" ? "gv-is-unshifted" : "gv-is-shifted";
  const name = text(`training.history_${kind}${slim ? "_short" : ""}`);
  // words: training.history_loss training.history_again training.history_loss_short training.history_again_short
  return [
    svg("path", { d: `M${points.join("L")}`, class: `gv-copyline ${tone}` }),
    mark(right + 10 * unit, y(end) + lift, decimal(end, 2), `gv-trvalue ${tone}`),
    mark(right + 10 * unit, y(end) + lift + 15 * unit, name, `gv-trname ${tone}`),
  ];
}

/** The chosen step. @param {any} scene */
function now({ top, bottom, x, y, run, at, unit }) {
  const look = run.looks[at];
  const place = x(look.step);
  const dots = KINDS.map((kind) =>
    svg("circle", { cx: place, cy: y(look[kind]), r: 4 * unit, class: `gv-hisdot gv-is-${kind}` }),
  );
  return [svg("line", { x1: place, x2: place, y1: top, y2: bottom, class: "gv-hisnow" }), ...dots];
}

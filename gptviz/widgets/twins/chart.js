// Both losses against the steps, the floor and the forbidden zone under it; the slider below moves through training.
import { el, fill, mark, segment, svg } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { lossText } from "./facts.js";

export const START = 60; // steps of the close view
const KINDS = ["causal", "twin"];

/** @param {{ move: (at: number, last: boolean) => void, zoom: (span: string) => void }} acts */
export function createChart({ move, zoom }) {
  const picture = svg("svg", { class: "gv-twsvg", role: "img" });
  const range = { type: "range", min: 0, step: 1, "aria-label": text("twins.slider") };
  const slider = el("input", { ...range, class: "gv-twslide" });
  const note = el("p", { class: "gv-twmark" });
  // words: twins.span_*
  const spans = /** @type {[string, string][]} */ (["all", "start"].map((v) => [v, text(`twins.span_${v}`)]));
  const near = segment(text("twins.span"), spans, zoom);
  near.box.classList.add("gv-twspan");
  const root = el("div", { class: "gv-twchart" }, picture, note, near.box, slider);
  slider.addEventListener("input", () => move(Number(slider.value), false));
  slider.addEventListener("change", () => move(Number(slider.value), true));

  /** @param {any} run @param {any} at */
  function draw(run, { at, now, names, span, mark: said }) {
    const { clientWidth: width, clientHeight: height } = root;
    if (!width || height < 40) return;
    const last = span === "start" ? Math.min(START, run.steps) : run.steps;
    const scene = { run, at, now, names, last, ...scales(root, Math.max(4.2, run.floor + 0.6), last) };
    const { box, slim } = scene;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-label", text("twins.chart", { floor: lossText(run.floor) }));
    fill(picture, hatch(), ...axes(scene), ...zone(scene), ...curves(scene), ...floor(scene), ...ends(scene));
    near.set(span);
    note.textContent = said.words;
    note.title = said.title;
    note.style.right = `${width - box.right}px`;
    note.hidden = slim;
    slider.style.left = `${box.left - 8}px`;
    slider.style.width = `${box.right - box.left + 16}px`;
    slider.max = String(last);
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", text("twins.at_step", { n: at }));
  }
  return { root, draw };
}

/** Where steps and losses stand. @param {HTMLElement} root @param {number} top loss @param {number} last step */
function scales(root, top, last) {
  const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
  const { clientWidth: width, clientHeight: height } = root;
  const slim = width < 560;
  const [left, right] = [(slim ? 24 : 34) * unit, width - (slim ? 76 : 146) * unit];
  const box = { left, right, top: 24 * unit, bottom: height - 44 * unit };
  const x = (/** @type {number} */ step) => left + ((right - left) * Math.min(step, last)) / last;
  const y = (/** @type {number} */ loss) => box.bottom - ((box.bottom - box.top) * Math.min(loss, top)) / top;
  return { box, x, y, unit, slim };
}

function hatch() {
  const ground = svg("rect", { width: 7, height: 7, class: "gv-twzone" });
  const stripe = svg("rect", { width: 2, height: 7, class: "gv-twstripe" });
  const box = { width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", null, svg("pattern", { id: "gv-twhatch", ...box }, ground, stripe));
}

// words: twins.axis_steps twins.axis_steps_short twins.axis_loss twins.axis_loss_short
// words: twins.floor twins.floor_random twins.floor_short twins.zone twins.zone_short

/** @param {any} s */
function axes({ last, box, x, y, unit, slim }) {
  const out = [];
  for (const loss of [0, 1, 2, 3, 4]) {
    out.push(
      svg("line", { x1: box.left, x2: box.right, y1: y(loss), y2: y(loss), class: loss ? "gv-twgrid" : "gv-twaxis" }),
    );
    out.push(mark(box.left - 7 * unit, y(loss) + 4 * unit, String(loss), "gv-twtick", "end"));
  }
  const every = last > 100 ? (slim ? 200 : 50) : slim ? 20 : 10;
  for (let step = 0; step <= last; step += every) {
    out.push(svg("line", { x1: x(step), x2: x(step), y1: box.bottom, y2: box.bottom + 4, class: "gv-twaxis" }));
    out.push(mark(x(step), box.bottom + 16 * unit, String(step), "gv-twtick", "middle"));
  }
  out.push(
    mark(
      box.right + 20 * unit,
      box.bottom + 16 * unit,
      text(slim ? "twins.axis_steps_short" : "twins.axis_steps"),
      "gv-twtick",
      "start",
    ),
  );
  out.push(
    mark(
      box.left + 4 * unit,
      box.top - 8 * unit,
      text(slim ? "twins.axis_loss_short" : "twins.axis_loss"),
      "gv-twtick",
      "start",
    ),
  );
  return out;
}

/** What no honest model can reach. @param {any} s */
function zone({ run, box, y }) {
  return [
    svg("rect", {
      x: box.left,
      y: y(run.floor),
      width: box.right - box.left,
      height: y(0) - y(run.floor),
      fill: "url(#gv-twhatch)",
    }),
  ];
}

/** @param {any} s */
function floor({ run, box, y, unit, slim, last }) {
  const line = svg("line", { x1: box.left, x2: box.right, y1: y(run.floor), y2: y(run.floor), class: "gv-twfloor" });
  const near = last < run.steps; // there the longer words would cover the curve
  const key = slim ? "twins.floor_short" : near || run.data === "random" ? "twins.floor_random" : "twins.floor";
  const words = text(key, { floor: lossText(run.floor), ...run.counts });
  const room = y(0) - y(run.floor);
  const high = y(run.floor) < box.top + 20 * unit; // above it stand the controls
  const under = text(slim ? "twins.zone_short" : "twins.zone");
  return [
    line,
    mark(box.right - 4 * unit, y(run.floor) + (high ? 16 : -8) * unit, words, "gv-twname gv-twhalo", "end"),
    mark(box.right - 4 * unit, y(0) - room / 2 + 3 * unit, under, "gv-twbad gv-twhalo", "end"),
  ];
}

/** @param {any} s */
function curves({ run, at, last, x, y, box }) {
  const out = [];
  for (const kind of KINDS) {
    const { losses } = run[kind];
    const path = (/** @type {number} */ to) => {
      const points = losses
        .slice(0, Math.min(to, last))
        .map((/** @type {number} */ loss, /** @type {number} */ i) => `${x(i + 1).toFixed(1)} ${y(loss).toFixed(1)}`);
      return points.length ? `M${points.join("L")}` : "";
    };
    out.push(svg("path", { d: path(losses.length), class: `gv-twline gv-twahead gv-is-${kind}` }));
    out.push(svg("path", { d: path(at), class: `gv-twline gv-is-${kind}` }));
  }
  if (at > 0 && at < last)
    out.push(svg("line", { x1: x(at), x2: x(at), y1: box.top, y2: box.bottom, class: "gv-twnow" }));
  for (const kind of KINDS) {
    const loss = at ? run[kind].losses[at - 1] : undefined;
    if (loss !== undefined && at <= last)
      out.push(svg("circle", { cx: x(at), cy: y(loss), r: 4, class: `gv-twdot gv-is-${kind}` }));
  }
  return out;
}

/** The two losses at the right edge, never over each other. @param {any} s */
function ends({ now, names, box, y, unit, slim }) {
  if (now.causal.loss === null || now.causal.loss === undefined) return [];
  const gap = (slim ? 34 : 40) * unit;
  const both = [
    { kind: "causal", loss: now.causal.loss, name: names.honest },
    { kind: "twin", loss: now.twin.loss, name: names.other },
  ];
  const places = both.map((each) => y(each.loss));
  const [upper, lower] = places[0] <= places[1] ? [0, 1] : [1, 0];
  const middle = (places[0] + places[1]) / 2;
  if (places[lower] - places[upper] < gap) {
    places[upper] = middle - gap / 2;
    places[lower] = middle + gap / 2;
  }
  const low = box.bottom - 18 * unit;
  if (places[lower] > low) {
    places[lower] = low;
    places[upper] = Math.min(places[upper], low - gap);
  }
  return both.flatMap(({ kind, loss, name }, i) => [
    mark(box.right + 12 * unit, places[i] + 2 * unit, lossText(loss), `gv-twvalue gv-is-${kind}`, "start"),
    mark(
      box.right + 12 * unit,
      places[i] + 16 * unit,
      slim ? name.split(" ")[0] : name,
      `gv-twname gv-is-${kind}`,
      "start",
    ),
  ]);
}

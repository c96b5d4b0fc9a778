// One feed-forward layer at one token: its neurons on the curve they pass, and those that write most with their words.
import { mix } from "../kit/colour.js";
import { el, fill, mark, svg } from "../kit/dom.js";
import { decimal, percent } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const SHOWN = 8;
const WORDS = 3; // tokens a neuron is told by
const ROOM = 46; // around the curve, for its axes

/** @param {HTMLElement} root @param {any} app */
export const createNeurons = (root, app) => new Neurons(root, app);

class Neurons {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.app = app;
    const name = text("inside.neuron_layer");
    this.slider = el("input", { type: "range", min: "0", step: "1", "aria-label": name, class: "gv-layerslider" });
    this.output = el("output", { class: "gv-n" });
    this.slider.addEventListener("change", () => app.set({ layer: Number(this.slider.value) }));
    this.slider.addEventListener("input", () => void (this.output.textContent = this.slider.value));
    this.note = el("span", { class: "gv-soft" });
    this.picture = svg("svg", { class: "gv-svg", role: "img" });
    this.list = el("div", { class: "gv-neurons" });
    const bar = el("div", { class: "gv-bar" }, el("span", null, name), this.slider, this.output, this.note);
    root.append(bar, el("div", { class: "gv-parts" }, el("div", { class: "gv-fill" }, this.picture), this.list));
    /** @type {any} */
    this.found = null;
    this.pointed = -1;
    this.list.addEventListener("pointerover", (/** @type {any} */ event) => this.over(event.target));
    this.list.addEventListener("focusin", (/** @type {any} */ event) => this.over(event.target));
    this.picture.addEventListener("pointermove", (/** @type {any} */ event) => this.over(event.target));
    const leave = () => this.point(-1);
    this.list.addEventListener("pointerleave", leave);
    this.picture.addEventListener("pointerleave", leave);
  }

  /** @param {any} view @param {any} column */
  async show(view, column) {
    const layers = column.rows.length - 1;
    const layer = view.layer < 0 ? layers - 1 : view.layer;
    const args = { text: view.text, layer, position: column.place, count: SHOWN, model: view.model };
    const found = await view.ask("neurons", args);
    if (!view.current()) return;
    this.found = found;
    this.slider.max = String(layers - 1);
    this.slider.value = String(layer);
    this.output.textContent = String(layer);
    // words: inside.neuron_gated inside.neuron_plain
    this.note.textContent = text(found.gated ? "inside.neuron_gated" : "inside.neuron_plain");
    const first = found.neurons[0];
    this.app.facts({ neurons: found.activations.length, fired: first.index, fired_layer: layer });
    this.app.parts.stage.say("inside.neuron_say", this.values(first));
  }

  /** @param {any} neuron */
  values(neuron) {
    const shown = (/** @type {any[]} */ tokens) => tokens.slice(0, WORDS).map((t) => t.shown);
    const [up] = shown(neuron.pushes_up);
    const [down] = shown(neuron.pushes_down);
    return { index: neuron.index, share: neuron.share, up, down, layer: this.found.layer };
  }

  /** @param {any} target */
  over(target) {
    const node = target.closest("[data-neuron]");
    if (node) this.point(Number(node.dataset.neuron));
  }

  /** @param {number} which */
  point(which) {
    if (which === this.pointed) return;
    this.pointed = which;
    const { stage } = this.app.parts;
    stage.point(which < 0 ? null : phrase("inside.neuron_say", this.values(this.found.neurons[which])));
    for (const node of [...this.list.children, ...this.picture.querySelectorAll("circle")]) {
      node.classList.toggle("gv-on", Number(/** @type {any} */ (node).dataset.neuron) === which);
    }
  }

  resize() {
    if (!this.found) return;
    const { width, height, unit } = this.app.parts.stage.size();
    const narrow = width < 640;
    const side = narrow ? width : width * 0.46;
    const tall = (height - 42 * unit) * (narrow ? 0.42 : 1);
    this.picture.setAttribute("width", String(side));
    this.picture.setAttribute("height", String(tall));
    fill(this.picture, ...draw(this.found, side, tall, unit));
    this.picture.setAttribute("aria-label", text("inside.neuron_picture", { n: this.found.activations.length }));
    const heads = ["inside.neuron_share", "inside.neuron_up", "inside.neuron_down"].map((key) =>
      el("span", null, text(key)),
    ); // words: inside.neuron_share inside.neuron_up inside.neuron_down
    const rows = this.found.neurons.slice(0, narrow ? 5 : SHOWN).map(row);
    fill(this.list, el("p", { class: "gv-neuronhead" }, el("span"), ...heads), ...rows);
  }

  table() {
    const keys = ["neuron", "neuron_before", "neuron_share", "neuron_up", "neuron_down"];
    const words = (/** @type {any[]} */ tokens) => tokens.map((t) => t.shown).join("  ");
    // words: inside.neuron inside.neuron_before inside.neuron_share inside.neuron_up inside.neuron_down
    return {
      head: keys.map((key) => text(`inside.${key}`)),
      rows: this.found.neurons.map((/** @type {any} */ n) => [
        n.index,
        decimal(n.before, 2),
        percent(n.share),
        words(n.pushes_up),
        words(n.pushes_down),
      ]),
    };
  }
}

/** @param {any} neuron @param {number} which */
function row(neuron, which) {
  const words = (/** @type {any[]} */ tokens) =>
    el(
      "span",
      { class: "gv-pushed" },
      ...tokens.slice(0, WORDS).map((t) => el("code", { class: "gv-token" }, t.shown)),
    );
  return el(
    "p",
    { "data-neuron": which, tabindex: "0" },
    el("b", null, String(neuron.index)),
    el("span", { class: "gv-n" }, percent(neuron.share)),
    words(neuron.pushes_up),
    words(neuron.pushes_down),
  );
}

/** The curve with every neuron of the layer on it; those of the list are ringed and numbered. */
function draw(
  /** @type {any} */ found,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const n = found.curve.shape[1];
  const xs = found.curve.slice(0, n);
  const ys = found.curve.slice(n);
  const [left, foot] = [ROOM * unit, ROOM * unit];
  const [low, high] = [Math.min(0, ...ys), Math.max(...ys)];
  const x = (/** @type {number} */ v) => left + ((v - xs[0]) / (xs[n - 1] - xs[0])) * (width - left - 12 * unit);
  const y = (/** @type {number} */ v) => height - foot - ((v - low) / (high - low)) * (height - foot - 14 * unit);
  const at = (/** @type {number} */ before) => {
    const k = ((before - xs[0]) / (xs[n - 1] - xs[0])) * (n - 1);
    const i = Math.min(n - 2, Math.max(0, Math.floor(k)));
    return y(ys[i] + (ys[i + 1] - ys[i]) * (k - i));
  };
  const line = [...xs].map((v, i) => `${i ? "L" : "M"}${x(v).toFixed(1)} ${y(ys[i]).toFixed(1)}`).join("");
  const dots = [...found.before]
    .map((v) => `M${x(v).toFixed(1)} ${(at(v) - 5 * unit).toFixed(1)}v${10 * unit}`)
    .join("");
  const named = found.neurons.map((/** @type {any} */ neuron, /** @type {number} */ which) =>
    svg("circle", {
      cx: x(neuron.before),
      cy: at(neuron.before),
      r: 6 * unit,
      fill: mix("--card", neuron.share < 0 ? "--warn" : "--key", 0.9),
      class: "gv-neuron",
      "data-neuron": which,
    }),
  );
  return [
    svg("path", { d: `M${left} ${y(0)}H${width}M${x(0)} ${height - foot}V8`, class: "gv-gridline", fill: "none" }),
    svg("path", { d: line, class: "gv-curve" }),
    svg("path", { d: dots, class: "gv-neuronticks" }),
    ...named,
    mark(x(0), height - foot + 14 * unit, "0", "gv-tick", "middle"),
    mark(left - 6 * unit, y(0), "0", "gv-tick", "end"),
    mark(width - 12 * unit, height - foot + 14 * unit, decimal(xs[n - 1], 1), "gv-tick", "end"),
    mark(left - 6 * unit, y(high) + 6 * unit, decimal(high, 1), "gv-tick", "end"),
    mark((left + width) / 2, height - foot + 32 * unit, text("inside.neuron_before"), "gv-tick gv-sans", "middle"),
  ];
}

// Parameters from a shape: every change is counted by the server's formula, which tests hold against real models.
import { el, fill, segment } from "../kit/dom.js";
import { percent, percentList, whole } from "../kit/numbers.js";
import { mix } from "../kit/colour.js";
import { text } from "../kit/words.js";

const PARTS = /** @type {[string, number][]} */ ([
  ["tokens", 1],
  ["positions", 0.35],
  ["attention", 0.78],
  ["ffn", 0.55],
  ["norms", 0.2],
  ["head", 0.9],
]);
const SIZES = ["d", "L", "h", "kv_heads", "V", "C", "ffn_width"];
const NAMES = { d: "width", L: "layers", h: "heads", V: "vocabulary", C: "context" }; // in the words
const PAUSE = 120; // ms after a key before the count is asked for

/** @param {string} size @param {() => void} changed */
const sizeInput = (size, changed) =>
  el("input", { class: "gv-in", id: `gv-rf-size-${size}`, type: "number", min: 1, step: 1, oninput: changed });

/** How much of the model one part is. @param {[string, number]} part @param {any} found @param {string} share */
function partBar([name, shade], found, share) {
  const width = `${Math.max(0.4, (100 * found[name]) / found.total)}%`;
  const rail = el("i", { style: { width, background: mix("--grid", "--key", shade) } });
  return el(
    "div",
    { class: "gv-rf-part" },
    el("span", null, text(`reference.part_${name}`)), // words: reference.part_*
    el("span", { class: "gv-rf-rail" }, rail),
    el("b", null, whole(found[name])),
    el("span", { class: "gv-rf-share" }, share),
  );
}

export class Count {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.like = el("select", { class: "gv-in", id: "gv-rf-like", onchange: () => this.start(this.like.value) });
    this.inputs = Object.fromEntries(SIZES.map((size) => [size, sizeInput(size, () => this.later())]));
    this.ffn = segment(
      text("reference.ffn"),
      [
        ["gelu", text("reference.ffn_gelu_short")],
        ["swiglu", text("reference.ffn_swiglu_short")],
      ],
      (v) => this.move({ ffn: v }),
    );
    this.tied = segment(
      text("reference.row_tied"),
      [
        ["yes", text("reference.tied_short")],
        ["no", text("reference.own_short")],
      ],
      (v) => this.move({ tied: v }),
    );
    this.trouble = el("p", { class: "gv-rf-trouble", role: "alert" });
    this.bars = el("div", { class: "gv-rf-parts" });
    this.sums = el("dl", { class: "gv-rf-sums" });
    this.source = el("p", { class: "gv-rf-small" });
    this.root = el(
      "div",
      { class: "gv-rf-section gv-rf-counter" },
      this.form(),
      el("div", null, this.trouble, this.bars, this.sums, this.source),
    );
    this.timer = 0;
  }

  /** All that can be set, each under its name. */
  form() {
    const name = (/** @type {string} */ size) => text(`reference.size_${NAMES[/** @type {"d"} */ (size)] || size}`);
    // words: reference.size_*
    const field = (/** @type {string} */ size) =>
      el("label", { for: `gv-rf-size-${size}` }, name(size), this.inputs[size]);
    return el(
      "div",
      { class: "gv-rf-form" },
      el("label", { for: "gv-rf-like", class: "gv-rf-wide2" }, text("reference.like"), this.like),
      ...SIZES.map(field),
      el("div", { class: "gv-rf-wide2" }, text("reference.ffn"), this.ffn.box),
      el("div", { class: "gv-rf-wide2" }, text("reference.row_tied"), this.tied.box),
    );
  }

  async show(/** @type {any} */ view) {
    const presets = await view.ask("ref_presets", {});
    if (!view.current()) return;
    this.view = view;
    if (!this.presets) fill(this.like, ...Object.keys(presets).map((name) => el("option", { value: name }, name)));
    this.presets = presets;
    const shape = this.shape();
    this.like.value = view.like;
    for (const size of SIZES)
      if (document.activeElement !== this.inputs[size]) this.inputs[size].value = String(shape[size]);
    this.ffn.set(shape.ffn);
    this.tied.set(shape.tied ? "yes" : "no");
    await this.count(shape);
  }

  /** The preset's sizes, and over them what the reader has changed. @returns {any} */
  shape() {
    const { view } = this;
    const preset = this.presets[view.like];
    const sizes = Object.fromEntries(SIZES.map((size) => [size, view[size] < 0 ? preset[size] : view[size]]));
    if (view.ffn && view.ffn !== preset.ffn && view.ffn_width < 0) sizes.ffn_width = 0; // the kind's own width
    return { ...sizes, ffn: view.ffn || preset.ffn, tied: view.tied ? view.tied === "yes" : preset.tied };
  }

  /** @param {any} shape */
  async count(shape) {
    const { view } = this;
    try {
      const found = await view.ask("ref_count", { like: view.like, ...shape });
      if (!view.current()) return;
      this.trouble.textContent = "";
      this.draw(shape, found);
    } catch (error) {
      if (!view.current()) return;
      this.trouble.textContent = /** @type {Error} */ (error).message;
      this.app.parts.stage.say("reference.say_no_shape", {});
    }
  }

  /** @param {string} like */
  start(like) {
    const free = Object.fromEntries(SIZES.map((size) => [size, -1]));
    this.app.set({ like, ...free, ffn: "", tied: "" });
  }

  /** @param {any} fields */
  move(fields) {
    this.app.set(fields);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const preset = this.presets[this.view.like];
      const value = (/** @type {string} */ size) => Math.round(Number(this.inputs[size].value)) || 0;
      this.move(Object.fromEntries(SIZES.map((size) => [size, value(size) === preset[size] ? -1 : value(size)])));
    }, PAUSE);
  }

  /** @param {any} shape @param {any} found */
  draw(shape, found) {
    this.found = found;
    const parts = PARTS.filter(([name]) => found[name]);
    const shares = percentList(parts.map(([name]) => found[name] / found.total));
    fill(this.bars, ...parts.map((part, i) => partBar(part, found, shares[i])));
    const sums = [
      ["total", whole(found.total)],
      ["untied", whole(found.untied_total)],
      [shape.tied ? "saves" : "would", `${whole(found.table)} · ${percent(found.tying_share)}`],
    ];
    // words: reference.sum_total reference.sum_untied reference.sum_saves reference.sum_would
    fill(
      this.sums,
      ...sums.flatMap(([key, value]) => [el("dt", null, text(`reference.sum_${key}`)), el("dd", null, value)]),
    );
    this.source.textContent = found.source
      ? text("reference.sizes_from", { source: found.source })
      : text("reference.own_shape");
    const facts = {
      like: this.view.like,
      total: found.total,
      saves: found.table,
      share: found.tying_share,
      tied: shape.tied,
      own: !found.source,
    };
    this.app.facts(facts);
    // words: reference.say_own reference.say_count
    this.app.parts.stage.say(facts.own ? "reference.say_own" : "reference.say_count", facts);
  }

  table() {
    if (!this.found) return null;
    return {
      head: [text("reference.table_part"), text("reference.sum_total")],
      rows: PARTS.map(([name]) => [text(`reference.part_${name}`), whole(this.found[name])]),
    };
  }

  resize() {
    if (this.found) this.draw(this.shape(), this.found);
  }
}

// How large it gets: cache against length for public models, with its weights, its window and the end of its context.
import { el, fill, segment, svg } from "../kit/dom.js";
import { bytes, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";
import { memory, perToken } from "./memory.js";

const LONGEST = 20; // 2^20 tokens
const [LOW, HIGH] = [4, 14]; // powers of ten of the axis of bytes: 10 kB to 100 TB
const UNITS = ["B", "kB", "MB", "GB", "TB"];
const BESIDE = ["gpt2", "Llama-3-8B", "gpt3-175b", "SmolLM2-135M", "Mistral-7B", "Llama-3.1-8B", "Llama-3-70B"];

export class Size {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.select = el("select", {
      class: "gv-in",
      "aria-label": text("kv_cache.model"),
      onchange: () => app.set({ public: this.select.value }),
    });
    this.length = slider("tokens", LONGEST, (n) => this.move({ tokens: n }));
    this.texts = slider("texts", 9, (n) => this.move({ texts: n }));
    const names = [
      ["32", "32"],
      ["16", "16"],
      ["8", "8"],
      ["4", "4"],
    ];
    this.bits = segment(text("kv_cache.bits"), /** @type {any} */ (names), (v) => app.set({ bits: v }));
    const bits = el("div", { class: "gv-kv-bits" }, el("span", null, text("kv_cache.bits")), this.bits.box);
    this.chart = el("div", { class: "gv-kv-chart" });
    this.bars = el("div", { class: "gv-kv-sizebars" });
    this.root = el(
      "div",
      { class: "gv-kv-pane gv-kv-size" },
      el(
        "div",
        { class: "gv-kv-sizectl" },
        el("label", { class: "gv-kv-pick" }, text("kv_cache.model"), this.select),
        this.length.root,
        this.texts.root,
        bits,
      ),
      this.chart,
      this.bars,
    );
    /** @type {import("./memory.js").Model[]} */
    this.models = [];
  }

  /** @param {any} fields */
  move(fields) {
    Object.assign(this.view, fields);
    this.app.set(fields, { draw: false });
    this.resize();
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("kv_models", {});
    if (!view.current()) return;
    this.view = view;
    if (!this.models.length)
      fill(this.select, ...found.map((/** @type {any} */ m) => el("option", { value: m.name }, m.name)));
    this.models = found;
    this.resize();
  }

  model() {
    return this.models.find((m) => m.name === this.view.public) || this.models[0];
  }

  resize() {
    if (!this.models.length || this.root.hidden) return;
    const { tokens, texts, bits } = this.view;
    const model = this.model();
    this.select.value = model.name;
    this.length.set(tokens);
    this.texts.set(texts);
    this.bits.set(bits);
    const found = memory(model, tokens, texts, +bits);
    this.compare(model, found);
    this.draw(model, found);
    this.speak(model, found);
  }

  /** @param {import("./memory.js").Model} model @param {any} found */
  draw(model, found) {
    const { unit } = this.app.parts.stage.size();
    const W = this.chart.clientWidth;
    const H = this.chart.clientHeight;
    if (!W || !H) return;
    const wide = W > 560;
    const pad = { l: 52 * unit, r: (wide ? 112 : 12) * unit, t: 12, b: 40 * unit };
    const x = (/** @type {number} */ n) => pad.l + (Math.log2(n) / LONGEST) * (W - pad.l - pad.r);
    const y = (/** @type {number} */ b) =>
      pad.t + (1 - (Math.min(HIGH, Math.log10(Math.max(b, 1))) - LOW) / (HIGH - LOW)) * (H - pad.t - pad.b);
    const others = this.models.filter((m) => BESIDE.includes(m.name) && m.name !== model.name);
    const { tokens, texts } = this.view;
    const dot = { x: x(tokens), y: y(found.cache) };
    fill(
      this.chart,
      svg(
        "svg",
        { width: W, height: H, role: "img", "aria-label": text("kv_cache.size_picture", { model: model.name }) },
        ...this.axes(x, y, W, H, pad, unit),
        ...others.map((m) => this.line(m, x, y, "gv-kv-faint")),
        this.line(model, x, y, "gv-kv-strong"),
        svg("line", { x1: pad.l, x2: W - pad.r, y1: y(found.weights), y2: y(found.weights), class: "gv-kv-weights" }),
        svg(
          "text",
          { x: pad.l + 8, y: y(found.weights) - 7, class: "gv-kv-svgink" },
          text("kv_cache.weights_line", { bytes: found.weights }),
        ),
        svg("line", { x1: dot.x, x2: dot.x, y1: pad.t, y2: H - pad.b, class: "gv-kv-now" }),
        svg("circle", { cx: dot.x, cy: dot.y, r: 6 * unit, class: "gv-kv-dot" }),
        svg(
          "text",
          {
            x: dot.x + (dot.x > W / 2 ? -12 : 12),
            y: dot.y - 12 * unit,
            class: "gv-kv-svgbig",
            "text-anchor": dot.x > W / 2 ? "end" : "start",
          },
          bytes(found.cache),
        ),
        ...(wide ? this.ends([model, ...others], x, y, texts, unit) : []),
      ),
    );
  }

  /** Names at the right ends, pushed apart. */
  ends(
    /** @type {any[]} */ models,
    /** @type {any} */ x,
    /** @type {any} */ y,
    /** @type {number} */ texts,
    /** @type {number} */ unit,
  ) {
    const most = 2 ** LONGEST;
    const rows = models
      .map((m, i) => ({ m, first: i === 0, at: y(memory(m, most, texts, +this.view.bits).cache) }))
      .sort((a, b) => a.at - b.at);
    for (let i = 1; i < rows.length; i++) rows[i].at = Math.max(rows[i].at, rows[i - 1].at + 15 * unit);
    return rows.map((r) =>
      svg("text", { x: x(most) + 6, y: r.at + 4, class: r.first ? "gv-kv-svgkey" : "gv-kv-svgsoft" }, r.m.name),
    );
  }

  /**
   * Solid inside the model's own context, dotted beyond.
   * @param {any} m @param {any} x @param {any} y @param {string} kind
   */
  line(m, x, y, kind) {
    const { texts, bits } = this.view;
    const at = (/** @type {number} */ n) => `${x(n)} ${y(memory(m, n, texts, +bits).cache)}`;
    const most = 2 ** LONGEST;
    const end = Math.min(m.context, most);
    const bend = m.window && m.window < end ? `L${at(m.window)}` : "";
    const beyond = end < most ? svg("path", { d: `M${at(end)}L${at(most)}`, class: `${kind} gv-kv-beyond` }) : null;
    return svg("g", null, svg("path", { d: `M${at(1)}${bend}L${at(end)}`, class: kind }), beyond);
  }

  /** @param {any} x @param {any} y @param {number} W @param {number} H @param {any} pad @param {number} unit */
  axes(x, y, W, H, pad, unit) {
    const out = [];
    for (let p = LOW; p <= HIGH; p++) {
      const at = y(10 ** p);
      out.push(svg("line", { x1: pad.l, x2: W - pad.r, y1: at, y2: at, class: "gv-kv-gridline" }));
      if (p % 3 === 0)
        out.push(
          svg(
            "text",
            { x: pad.l - 8, y: at + 4, class: "gv-kv-svgsoft", "text-anchor": "end" },
            text(`numbers.unit_${UNITS[p / 3]}`, { n: 1 }),
          ),
          // words: numbers.unit_*
        );
    }
    for (const n of [1, 16, 256, 4096, 65536, 1048576]) {
      out.push(svg("line", { x1: x(n), x2: x(n), y1: pad.t, y2: H - pad.b, class: "gv-kv-gridline" }));
      out.push(
        svg("text", { x: x(n), y: H - pad.b + 18 * unit, class: "gv-kv-svgsoft", "text-anchor": "middle" }, whole(n)),
      );
    }
    out.push(
      svg(
        "text",
        { x: W - pad.r, y: H - 4, class: "gv-kv-svgsoft", "text-anchor": "end" },
        text("kv_cache.axis_texttokens"),
      ),
    );
    return out;
  }

  /** @param {any} model @param {any} found */
  compare(model, found) {
    const shares = model.kv_heads < model.heads;
    const rows = [["weights", found.weights], ["cache", found.cache], ...(shares ? [["multi", found.multi]] : [])];
    const most = Math.max(...rows.map((r) => /** @type {number} */ (r[1])));
    fill(
      this.bars,
      ...rows.map(([name, n]) =>
        el(
          "div",
          { class: `gv-kv-sizebar gv-kv-is-${name}` },
          el("span", null, text(`kv_cache.bar_${name}`, { n: model.heads })),
          el("span", { class: "gv-kv-rail" }, el("i", { style: { width: `${(100 * Number(n)) / most}%` } })),
          el("b", null, bytes(Number(n))),
        ),
      ),
    );
    // words: kv_cache.bar_weights kv_cache.bar_cache kv_cache.bar_multi
  }

  /** @param {any} model @param {any} found */
  speak(model, found) {
    const { tokens, texts, bits } = this.view;
    const facts = {
      public: model.name,
      size_tokens: tokens,
      texts,
      all: tokens * texts,
      cache: found.cache,
      weights: found.weights,
      each: found.each,
      crossing: found.crossing,
      size_context: model.context,
      window: model.window,
      windowed: model.window > 0 && tokens > model.window,
      beyond: tokens > model.context,
      more: found.cache > found.weights,
      share: found.cache / found.weights,
      bits: Number(bits),
      source: model.source,
      gpt3_times: perToken(this.models.find((m) => m.name === "gpt3-175b") || model, 16) / perToken(model, 16),
    };
    this.app.facts(facts);
    const key = facts.beyond ? "beyond" : facts.windowed ? "window" : facts.more ? "more" : "less";
    // words: kv_cache.say_size_*
    this.app.parts.stage.say(`kv_cache.say_size_${key}`, facts);
    this.app.parts.steps.prose();
  }

  table() {
    if (!this.models.length) return null;
    const { tokens, texts, bits } = this.view;
    // words: kv_cache.table_*
    const head = ["model", "each", "cache", "weights", "context"].map((k) => text(`kv_cache.table_${k}`));
    const rows = this.models.map((m) => {
      const found = memory(m, tokens, texts, +bits);
      return [m.name, bytes(found.each), bytes(found.cache), bytes(found.weights), whole(m.context)];
    });
    return { head, rows };
  }
}

/** A slider in powers of two. @param {string} name @param {number} top @param {(n: number) => void} take */
function slider(name, top, take) {
  const input = el("input", {
    type: "range",
    id: `gv-kv-${name}`,
    min: 0,
    max: top,
    step: 1,
    oninput: () => take(2 ** +input.value),
  });
  const out = el("output", { for: input.id });
  // words: kv_cache.tokens kv_cache.texts
  const root = el("div", { class: "gv-sl" }, el("label", { for: input.id }, text(`kv_cache.${name}`), out), input);
  /** @param {number} n */
  const set = (n) => {
    input.value = String(Math.round(Math.log2(n)));
    out.textContent = whole(n);
    input.setAttribute("aria-valuetext", whole(n));
  };
  return { root, set };
}

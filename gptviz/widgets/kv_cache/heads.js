// Heads share keys: query heads in groups over the keys and values they read, beside the bytes that a token then costs.
import { el, fill, svg } from "../kit/dom.js";
import { bytes, whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { perToken } from "./memory.js";

/** @param {number} h */
const divisors = (h) => Array.from({ length: h }, (_, i) => h - i).filter((k) => h % k === 0);

export class Heads {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.picture = el("div", { class: "gv-kv-headpic" });
    this.bars = el("div", { class: "gv-kv-headbars", role: "group", "aria-label": text("kv_cache.kv_bars") });
    this.formula = el("p", { class: "gv-kv-formula" });
    this.root = el("div", { class: "gv-kv-pane gv-kv-heads" }, this.picture, this.bars, this.formula);
    /** @type {any} */
    this.model = null;
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("kv_count", { text: view.text, first: view.first, new: view.new, model: view.model });
    if (!view.current()) return;
    this.view = view;
    this.model = found.model;
    this.resize();
  }

  /** How many key-value heads are drawn: the chosen number if it divides the heads, else the model's own. */
  chosen() {
    const { heads, kv_heads: own } = this.model;
    const kv = this.view.kv;
    return this.model.plain && kv && heads % kv === 0 && kv <= heads ? kv : own;
  }

  resize() {
    if (!this.model || this.root.hidden) return;
    const kv = this.chosen();
    this.bar(kv);
    const { layers, head_width: d, element, plain } = this.model;
    const values = { layers, kv, d, element, bytes: this.bytes(kv) };
    fill(this.formula, ...(plain ? phrase("kv_cache.formula", values) : []));
    this.draw(kv);
    this.speak(kv);
  }

  /** Numbers of key-value heads to choose from: none but its own where the layers differ. */
  offered() {
    return this.model.plain ? divisors(this.model.heads) : [this.model.kv_heads];
  }

  /** @param {number} kv */
  bytes(kv) {
    const { plain, per_token: each, kv_heads: own, element } = this.model;
    return plain ? perToken(this.model, 8 * element, kv) : (each * kv) / own;
  }

  /** @param {number} kv */
  draw(kv) {
    const { heads } = this.model;
    const { unit } = this.app.parts.stage.size();
    const W = this.picture.clientWidth;
    const H = this.picture.clientHeight;
    if (!W || !H) return;
    const left = (W > 600 ? 128 : 62) * unit;
    const room = W - left - 4;
    const step = room / heads;
    const q = Math.min(step * 0.62, 44 * unit);
    const top = 8 * unit;
    const low = H - q - 26 * unit;
    const group = heads / kv;
    const x = (/** @type {number} */ i) => left + (i + 0.5) * step;
    const centre = (/** @type {number} */ g) => left + (g + 0.5) * group * step;
    // words: kv_cache.queries_of kv_cache.keys_of
    const name = (/** @type {string} */ key, /** @type {number} */ y, /** @type {number} */ n) =>
      svg("text", { x: 0, y: y + q / 2, class: "gv-kv-svgname", "dominant-baseline": "middle" }, text(key, { n }));
    const size = Math.min(q, 13 * unit);
    const lines = Array.from({ length: heads }, (_, i) => {
      const [a, b] = [x(i), centre(Math.floor(i / group))];
      const y = (top + q + low) / 2;
      return svg("path", { d: `M${a} ${top + q}C${a} ${y} ${b} ${y} ${b} ${low}`, class: "gv-kv-share" });
    });
    const queries = Array.from({ length: heads }, (_, i) =>
      box(x(i), top, q, "gv-kv-q", step > 18 * unit ? String(i) : "", size),
    );
    const keys = Array.from({ length: kv }, (_, g) => {
      const w = Math.min(q * 1.15, (room / kv) * 0.42);
      const c = centre(g);
      return svg(
        "g",
        null,
        box(c - w * 0.56, low, w, "gv-kv-k", w > 12 ? "K" : "", size, q),
        box(c + w * 0.56, low, w, "gv-kv-v", w > 12 ? "V" : "", size, q),
      );
    });
    const label = text("kv_cache.heads_picture", { heads, kv });
    fill(
      this.picture,
      svg(
        "svg",
        { width: W, height: H, role: "img", "aria-label": label },
        name("kv_cache.queries_of", top, heads),
        name("kv_cache.keys_of", low, kv),
        ...lines,
        ...queries,
        ...keys,
      ),
    );
  }

  /** One bar for each number of key-value heads that divides the heads; a press chooses it. @param {number} kv */
  bar(kv) {
    const { heads, kv_heads: own } = this.model;
    const most = this.bytes(heads);
    const offered = this.offered();
    const bars = offered.map((k) =>
      el(
        "button",
        {
          type: "button",
          class: "gv-kv-kvbar",
          "aria-pressed": String(k === kv),
          onclick: () => this.app.set({ kv: k === own ? 0 : k }),
        },
        el(
          "span",
          null,
          text("kv_cache.kv_heads", { n: k }),
          k === own ? el("small", null, text("kv_cache.own")) : null,
        ),
        el(
          "span",
          { class: "gv-kv-rail" },
          el("i", { style: { width: `${Math.max(0.6, (100 * this.bytes(k)) / most)}%` } }),
        ),
        el("b", null, bytes(this.bytes(k))),
      ),
    );
    fill(this.bars, el("h3", null, text("kv_cache.kv_bars")), ...bars);
  }

  /** @param {number} kv */
  speak(kv) {
    const { heads, kv_heads: own, name } = this.model;
    const facts = {
      heads,
      own,
      kv,
      name,
      group: heads / kv,
      own_group: heads / own,
      shares: own < heads,
      each: this.bytes(kv),
      own_bytes: this.bytes(own),
      most: this.bytes(heads),
    };
    this.app.facts(facts);
    const shared = kv === heads ? (own < heads ? "all" : "plain") : kv === own ? "own" : "other";
    // words: kv_cache.say_heads_*
    this.app.parts.stage.say(`kv_cache.say_heads_${this.model.plain ? shared : "odd"}`, facts);
    this.app.parts.steps.prose();
  }

  table() {
    if (!this.model) return null;
    const head = [text("kv_cache.table_kv"), text("kv_cache.table_bytes")];
    return { head, rows: this.offered().map((k) => [whole(k), bytes(this.bytes(k))]) };
  }
}

/**
 * @param {number} c @param {number} y @param {number} w @param {string} kind @param {string} name
 * @param {number} size @param {number} [h]
 */
function box(c, y, w, kind, name, size, h = w) {
  const rect = svg("rect", { x: c - w / 2, y, width: w, height: h, rx: 4, class: kind });
  const words = svg(
    "text",
    {
      x: c,
      y: y + h / 2 + 1,
      class: `gv-kv-svgin ${kind}t`,
      "text-anchor": "middle",
      "dominant-baseline": "middle",
      "font-size": size,
    },
    name,
  );
  return svg("g", null, rect, name ? words : null);
}

// Which parts made the answer: every head and feed-forward layer as a cell, and the largest pushes as an account.
import { mix } from "../kit/colour.js";
import { el, fill, mark, rect, segment, svg } from "../kit/dom.js";
import { times } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { factsOf, pushed, without } from "./culprits.js";

const SHOWN = 11; // rows of the account
const FULL = Math.log(8); // a push at which a cell has its full colour

/** @param {HTMLElement} root @param {any} app */
export const createParts = (root, app) => new Parts(root, app);

class Parts {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.app = app;
    this.bar = el("div", { class: "gv-bar" });
    this.picture = svg("svg", { class: "gv-svg", role: "img" });
    this.account = el("div", { class: "gv-account" });
    const body = el("div", { class: "gv-parts" }, el("div", { class: "gv-fill" }, this.picture), this.account);
    root.append(this.bar, body);
    /** @type {any} */
    this.found = null;
    this.picture.addEventListener("pointermove", (/** @type {any} */ event) => this.over(event));
    this.picture.addEventListener("pointerleave", () => app.parts.stage.point(null));
    this.account.addEventListener("pointerover", (/** @type {any} */ event) => this.over(event));
    this.account.addEventListener("pointerleave", () => app.parts.stage.point(null));
  }

  /** @param {any} view */
  async show(view) {
    const made = await pushed(view);
    const off = await without(view, made.reader);
    if (!view.current()) return;
    const { found, rivals, rival, top } = made;
    this.found = found;
    this.choose(rivals, rival);
    this.app.facts(factsOf(made, off));
    const { key, values } = this.sentence(top);
    this.app.parts.stage.say(key, values);
    this.picture.setAttribute("aria-label", text(key, values));
  }

  /** @param {any[]} rivals @param {any} rival */
  choose(rivals, rival) {
    const options = /** @type {[string, string][]} */ (rivals.map((r) => [r.text, r.shown]));
    const label = text("inside.parts_against");
    const { box, set } = segment(label, options, (against) => this.app.set({ against }));
    set(rival.text);
    const legend = [
      el("i", { class: "gv-swatch" }),
      el("span", null, ...phrase("inside.parts_legend_up", { answer: this.found.target.shown })),
      el("i", { class: "gv-swatch gv-orange" }),
      text("inside.parts_legend_down"),
    ];
    fill(this.bar, el("span", null, label), box, ...legend);
  }

  /** The strongest first. */
  sorted() {
    return [...this.found.parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  }

  /** @param {any} part */
  sentence(part) {
    const { found } = this;
    const reads = part.kind === "head" ? found.reads[part.layer][part.head] : "";
    const values = { ...part, factor: Math.exp(part.value), answer: found.target.shown, rival: found.against.shown };
    const down = part.value < 0 ? "_down" : "";
    const kinds = /** @type {Record<string, string>} */ ({ head: `head${down}`, feed_forward: `feed${down}` });
    // words: inside.parts_say_*
    return { key: `inside.parts_say_${kinds[part.kind] || part.kind}`, values: { ...values, reads } };
  }

  /** @param {any} event */
  over(event) {
    const cell = event.target.closest("[data-part]");
    if (!cell) return;
    const { key, values } = this.sentence(this.found.parts[Number(cell.dataset.part)]);
    this.app.parts.stage.point(phrase(key, values));
  }

  resize() {
    if (!this.found) return;
    const { width, height, unit } = this.app.parts.stage.size();
    const narrow = width < 640;
    const side = narrow ? width : width - 330 * unit;
    const tall = height - this.bar.offsetHeight - 10;
    this.picture.setAttribute("width", String(side));
    this.picture.setAttribute("height", String(narrow ? tall * 0.55 : tall));
    fill(this.picture, ...cells(this.found, side, narrow ? tall * 0.55 : tall, unit));
    fill(this.account, ...this.rows(narrow ? 5 : SHOWN));
  }

  /** The account: the strongest parts as bars from the middle, then all others and the sum. @param {number} count */
  rows(count) {
    const { found } = this;
    const sorted = this.sorted();
    const first = sorted.slice(0, count);
    const rest = sorted.slice(count).reduce((sum, part) => sum + part.value, 0);
    const most = Math.max(...first.map((part) => Math.abs(part.value)), Math.abs(rest), Math.abs(found.sum), 1e-9);
    const values = { answer: found.target.shown, rival: found.against.shown };
    const title = el("h2", null, ...phrase("inside.parts_title", values));
    // words: inside.part_*
    const named = first.map((part) =>
      row(text(`inside.part_${part.kind}`, part), part.value, most, "", found.parts.indexOf(part)),
    );
    const others = text("inside.parts_rest", { n: sorted.length - first.length });
    return [
      title,
      ...named,
      row(others, rest, most, "gv-rest-row"),
      row(text("inside.parts_total"), found.sum, most, "gv-total-row"),
    ];
  }

  table() {
    const rows = this.sorted().map((part) => [text(`inside.part_${part.kind}`, part), times(Math.exp(part.value))]);
    return { head: ["", text("inside.parts_against")], rows };
  }
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} most
 * @param {string} kind
 * @param {number} [part]
 */
function row(name, value, most, kind, part) {
  const width = (50 * Math.abs(value)) / most;
  const bar = el("i", {
    class: value < 0 ? "gv-orange" : null,
    style: { width: `${width}%`, left: `${value < 0 ? 50 - width : 50}%` },
  });
  const factor = el("span", { class: "gv-n" }, times(Math.exp(value)));
  return el(
    "p",
    { class: kind, "data-part": part },
    el("span", null, name),
    el("span", { class: "gv-push" }, bar),
    factor,
  );
}

/** Layers upwards, heads across, the feed-forward layer apart on the right. */
function cells(
  /** @type {any} */ found,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const [layers, heads] = found.weight.shape;
  const [left, top] = [36 * unit, 22 * unit];
  const gap = 10 * unit;
  const w = Math.min(60 * unit, (width - left - gap - 6) / (heads + 1));
  const h = Math.min(60 * unit, (height - top - 4) / layers);
  const y = (/** @type {number} */ l) => top + (layers - 1 - l) * h;
  const every = h >= 13 * unit ? 1 : 5;
  const out = [];
  for (let head = 0; head < heads; head += w > 18 * unit ? 1 : 5) {
    out.push(mark(left + (head + 0.5) * w, 10 * unit, String(head), "gv-tick", "middle"));
  }
  out.push(mark(left + heads * w + gap + w / 2, 10 * unit, text("inside.parts_ff"), "gv-tick", "middle"));
  for (let l = 0; l < layers; l++) {
    if (l % every === 0 || l === layers - 1) out.push(mark(left - 8 * unit, y(l) + h / 2, String(l), "gv-tick", "end"));
  }
  found.parts.forEach((/** @type {any} */ part, /** @type {number} */ index) => {
    if (part.kind !== "head" && part.kind !== "feed_forward") return;
    const x = part.kind === "head" ? left + part.head * w : left + heads * w + gap;
    const t = Math.min(1, Math.abs(part.value) / FULL);
    const colour = mix("--void", part.value < 0 ? "--warn" : "--key", t);
    out.push(rect(x, y(part.layer), w - 1, h - 1, { fill: colour, "data-part": index }));
  });
  return out;
}

// Places copied from another text: how much of its answer comes back, layer by place, filled from the last layer down.
import { Sentence } from "../kit/ask.js";
import { css, label, mix } from "../kit/colour.js";
import { el, fill, mark, rect, segment, svg } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { clip } from "./runs.js";

const PARTS = ["stream", "attention", "feed_forward"];
const KEPT = 12; // maps a reader may come back to
const DUST = 0.02; // of the answer: less is said without a number

/** @param {HTMLElement} root @param {any} app */
export const createPatching = (root, app) => new Patching(root, app);

class Patching {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.app = app;
    const pick = (/** @type {string} */ part) => app.set({ part });
    // words: inside.patch_stream inside.patch_attention inside.patch_feed_forward
    const options = /** @type {[string, string][]} */ (PARTS.map((part) => [part, text(`inside.patch_${part}`)]));
    this.part = segment(text("inside.patch_part"), options, pick);
    this.source = el("input", { type: "text", class: "gv-source", "aria-label": text("inside.patch_source") });
    this.source.addEventListener("change", () => app.set({ source: this.source.value }));
    const named = el("label", { class: "gv-from" }, el("span", null, text("inside.patch_source")), this.source);
    this.picture = svg("svg", { class: "gv-svg", tabindex: "0", role: "application" });
    this.state = el("p", { class: "gv-soft gv-patchstate", role: "status" });
    this.bar = el("div", { class: "gv-bar gv-patchbar" }, this.part.box, named);
    root.append(this.bar, el("div", { class: "gv-fill" }, this.picture), this.state);
    /** @type {Map<string, any>} */
    this.maps = new Map();
    /** @type {any} */
    this.now = null;
    this.cursor = [0, 0];
    this.picture.addEventListener("pointermove", (/** @type {any} */ event) => {
      const cell = event.target.closest("[data-layer]");
      if (cell) this.point(Number(cell.dataset.layer), Number(cell.dataset.at));
    });
    this.picture.addEventListener("pointerleave", () => app.parts.stage.point(null));
    this.picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.keys(event));
  }

  /** @param {any} view */
  async show(view) {
    const args = { text: view.text, model: view.model };
    const source = view.source || (await view.ask("exchange", args)).source;
    if (!view.current()) return;
    this.part.set(view.part);
    if (document.activeElement !== this.source) this.source.value = source;
    const asked = { ...args, source, part: view.part };
    const key = JSON.stringify(asked);
    const first = !this.maps.has(key);
    this.now = this.maps.get(key) || { asked, layers: 0, value: null };
    this.facts();
    if (!first || view.recorded) return;
    this.maps.set(key, this.now);
    if (this.maps.size > KEPT) this.maps.delete(/** @type {string} */ (this.maps.keys().next().value));
    await this.fetch(view, key, this.now);
  }

  /** The first layer is waited for: until then there is nothing to draw. */
  fetch(/** @type {any} */ view, /** @type {string} */ key, /** @type {any} */ mine) {
    return new Promise((resolve, reject) => {
      const take = (/** @type {any} */ value) => {
        mine.value = value;
        resolve(null);
        if (this.now !== mine) return;
        this.facts();
        this.resize();
        this.app.parts.steps.prose();
      };
      this.app.stream("patching", mine.asked, take, view.signal).then(
        () => resolve(null),
        (/** @type {unknown} */ error) => {
          this.maps.delete(key); // what was left half-way is asked for again
          if (!(error instanceof Sentence)) return reject(error);
          if (this.now === mine) this.refuse(error.message);
          resolve(null);
        },
      );
    });
  }

  /** What cannot be copied from is told in the picture's sentence: the other text stays there to be changed. */
  refuse(/** @type {string} */ sentence) {
    this.now.value = null;
    this.state.textContent = "";
    this.facts();
    this.app.parts.stage.say("inside.patch_refused", { sentence });
    this.resize();
  }

  /** The picture's sentence and what the step says, from what is there so far. */
  facts() {
    const { value } = this.now;
    const { stage } = this.app.parts;
    if (!value) return this.app.facts({ copied: false, moved: false, unmoved: false });
    const [layers, T] = value.matrix.shape;
    const best = strongest(value, T);
    const whole = value.done === layers;
    const key = `inside.patch_say_${value.part}`; // words: inside.patch_say_*
    if (best.share > DUST) stage.say(key, this.values(best.layer, best.at));
    else stage.say("inside.patch_say_none");
    const turn = turning(value, layers, T);
    this.app.facts({
      copied: true,
      moved: whole && turn !== null,
      unmoved: whole && turn === null,
      target: value.target.shown,
      against: value.against.shown,
      carrier: turn ? value.tokens[turn.at].shown : "",
      until: turn ? turn.layer - 1 : 0,
      since: turn ? turn.layer : 0,
      end: value.tokens[T - 1].shown,
    });
    this.state.textContent = whole ? "" : text("inside.patch_doing", { done: value.done, layers });
    this.picture.setAttribute("aria-label", text("inside.patch_picture", { target: value.target.shown }));
  }

  /** @param {number} layer @param {number} at */
  values(layer, at) {
    const { value } = this.now;
    const share = value.matrix[layer * value.matrix.shape[1] + at];
    return { token: value.tokens[at].shown, target: value.target.shown, layer, share };
  }

  /** @param {number} layer @param {number} at */
  point(layer, at) {
    const { value } = this.now;
    const values = this.values(layer, at);
    const { share } = values;
    if (!Number.isFinite(share)) return;
    const zero = share === 0 ? "zero" : share < 0 ? "less" : value.part;
    // words: inside.patch_say_*
    this.app.parts.stage.point(phrase(`inside.patch_say_${zero}`, { ...values, share: Math.abs(share) }));
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const step = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!step || !this.now || !this.now.value) return;
    event.preventDefault();
    const [layers, T] = this.now.value.matrix.shape;
    const [layer, at] = [this.cursor[0] + step[0], this.cursor[1] + step[1]];
    this.cursor = [Math.min(layers - 1, Math.max(0, layer)), Math.min(T - 1, Math.max(0, at))];
    this.point(this.cursor[0], this.cursor[1]);
  }

  resize() {
    if (!this.now || !this.now.value) return fill(this.picture);
    const { width, height, unit } = this.app.parts.stage.size();
    const tall = height - this.bar.offsetHeight - 10 * unit - 22;
    this.picture.setAttribute("width", String(width));
    this.picture.setAttribute("height", String(tall));
    return fill(this.picture, ...draw(this.now.value, width, tall, unit));
  }

  table() {
    const value = this.now && this.now.value;
    if (!value) return null;
    const [layers, T] = value.matrix.shape;
    const row = (/** @type {number} */ l) => [...value.matrix.slice(l * T, l * T + T)].map((x) => percent(x));
    const rows = Array.from({ length: layers }, (_, i) => [layers - 1 - i, ...row(layers - 1 - i)]);
    return { head: [text("inside.layer"), ...value.tokens.map((/** @type {any} */ t) => t.shown)], rows };
  }
}

/** The place that brings most back; in the stream, one before the last, whose own way up is no news. */
function strongest(/** @type {any} */ value, /** @type {number} */ T) {
  const best = { layer: 0, at: T - 1, share: -Infinity };
  value.matrix.forEach((/** @type {number} */ share, /** @type {number} */ k) => {
    const at = k % T;
    if (value.part === "stream" && at === T - 1 && T > 1) return;
    if (share > best.share) Object.assign(best, { layer: Math.floor(k / T), at, share });
  });
  return best;
}

/** Where the answer leaves its word for the last place: the first layer from which the last place brings more. */
function turning(/** @type {any} */ value, /** @type {number} */ layers, /** @type {number} */ T) {
  if (value.part !== "stream" || value.done < layers || T < 2) return null;
  const share = (/** @type {number} */ l, /** @type {number} */ t) => value.matrix[l * T + t];
  let at = 0;
  for (let t = 1; t < T - 1; t++) if (share(0, t) > share(0, at)) at = t;
  let layer = layers;
  while (layer > 0 && share(layer - 1, T - 1) > share(layer - 1, at)) layer--;
  return layer > 0 && layer < layers && share(layer - 1, at) > 0.2 ? { at, layer } : null;
}

/** Cells, layers upwards, and under them both texts: where they differ, the other text's token in orange. */
function draw(
  /** @type {any} */ value,
  /** @type {number} */ width,
  /** @type {number} */ height,
  /** @type {number} */ unit,
) {
  const [layers, T] = value.matrix.shape;
  const [left, top, foot] = [40 * unit, 6 * unit, 46 * unit];
  const w = Math.min(110 * unit, (width - left) / T);
  const h = Math.min(70 * unit, (height - top - foot) / layers);
  const y = (/** @type {number} */ l) => top + (layers - 1 - l) * h;
  const every = h >= 13 * unit ? 1 : 5;
  const out = [];
  for (let l = 0; l < layers; l++) {
    if (l % every === 0 || l === layers - 1) out.push(mark(left - 8 * unit, y(l) + h / 2, String(l), "gv-tick", "end"));
    for (let t = 0; t < T; t++) out.push(...cell(value.matrix[l * T + t], left + t * w, y(l), w, h, unit, l, t));
  }
  return [...out, ...names(value, left, w, top + layers * h, unit)];
}

/** One place: void for exactly 0, teal for what comes back, orange for what moves away; hollow while unknown. */
function cell(
  /** @type {number} */ share,
  /** @type {number} */ x,
  /** @type {number} */ y,
  /** @type {number} */ w,
  /** @type {number} */ h,
  /** @type {number} */ unit,
  /** @type {number} */ layer,
  /** @type {number} */ at,
) {
  const known = Number.isFinite(share);
  const t = known ? Math.min(1, Math.abs(share)) : 0;
  const [ground, tint] = ["--void", share < 0 ? "--warn" : "--key"];
  const colour = known ? mix(ground, tint, t) : css("--card");
  const data = { "data-layer": layer, "data-at": at };
  const out = [rect(x, y, w - 1, h - 1, { fill: colour, ...data })];
  if (t >= DUST && w > 42 * unit && h > 12 * unit) {
    const style = { fill: label(ground, tint, t), "font-size": `${Math.min(13 * unit, h * 0.8)}px` };
    const said = (share < 0 ? "−" : "") + percent(Math.abs(share)); // not words: a sign
    out.push(mark(x + w / 2 - 0.5, y + h / 2, said, "gv-word", "middle", { style, "pointer-events": "none" }));
  }
  return out;
}

/** @param {any} value @param {number} left @param {number} w @param {number} y @param {number} unit */
function names(value, left, w, y, unit) {
  const room = Math.floor(w / (7.4 * unit));
  return value.tokens.flatMap((/** @type {any} */ token, /** @type {number} */ t) => {
    const other = value.source_tokens[t];
    const differs = other.id !== token.id;
    if (room < 5 && !differs && t !== value.tokens.length - 1) return [];
    const x = left + (t + 0.5) * w;
    const fits = Math.max(room, 6);
    const own = [mark(x, y + 14 * unit, clip(token.shown, fits), "gv-tick", "middle")];
    return differs ? [...own, mark(x, y + 32 * unit, clip(other.shown, fits), "gv-tick gv-other", "middle")] : own;
  });
}

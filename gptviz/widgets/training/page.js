// Training: the text asked for token by token, one real step of learning, and the mistakes that spoil it.
import { el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { createControls } from "./controls.js";
import { createCopier } from "./copier.js";
import { createEncoder } from "./encoder.js";
import { factsOf, pointedAt, sentenceOf } from "./facts.js";
import { createHistory } from "./history.js";
import { createOwn } from "./own.js";
import * as scenes from "./scenes.js";
import { createStrip } from "./strip.js";

/** What each state asks besides the strip: the question's name and its own arguments. */
const ASKS = {
  learn: (/** @type {any} */ v) => ["learned", { rate: v.rate }],
  level: () => null,
  mistakes: () => ["mistakes", {}],
  padding: () => ["padded", {}],
  own: (/** @type {any} */ v) => ["own_text", { count: v.own }],
  encoder: () => ["asked_less", {}],
  copier: () => null,
  history: () => ["history", null],
};

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export const mount = (root, app) => new Training(root, app);

class Training {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.strip = createStrip({ point: (column) => this.point(column), choose: (at) => app.set({ at }) });
    this.copier = createCopier(app, { changed: () => this.speak() });
    this.beside = {
      own: createOwn({ point: (told) => this.say(told) }),
      encoder: createEncoder(),
      copier: this.copier,
      history: createHistory({ changed: () => this.speak() }),
    };
    this.controls = createControls(app, { again: () => this.copier.run(), pads: (count) => this.pads(count) });
    const { own, encoder, copier, history } = this.beside;
    root.append(
      this.controls.root,
      el("div", { class: "gv-trbox" }, this.strip.root, own.root, encoder.root, copier.root, history.root),
    );
    /** @type {any} */
    this.view = null;
    /** @type {any} */
    this.asked = null; // the text's own strip
    /** @type {any} */
    this.more = null; // what this state asked besides
    /** @type {any} */
    this.scene = null;
    this.waits = true;
  }

  /** @param {any} next */
  async show(next) {
    const args = { text: next.text, model: next.model };
    const found = await next.ask("shifted", args);
    if (!next.current()) return;
    const wanted = ASKS[/** @type {keyof typeof ASKS} */ (next.show)](next);
    const before = this.view;
    const same = before && ["text", "model", "show"].every((name) => before[name] === next[name]);
    this.view = next;
    this.asked = found;
    this.controls.set(next);
    if (!same) this.adopt(null, Boolean(wanted) && next.show !== "learn");
    if (!wanted) return next.show === "copier" ? this.copier.begin() : undefined;
    const [name, own] = /** @type {[string, any]} */ (wanted);
    const answer = await next.ask(name, own === null ? {} : { ...own, ...args });
    if (next.current()) this.adopt(answer, false);
  }

  /**
   * Draw with what is there. The strip alone is drawn while the first state's step of learning is being made; the
   * others wait for what they ask.
   * @param {any} answer @param {boolean} waits
   */
  adopt(answer, waits) {
    this.more = answer;
    this.waits = waits;
    this.root.dataset.show = waits ? "wait" : this.view.show;
    this.resize();
  }

  /** Draw what is there at the box's size. */
  resize() {
    const { view, asked, more } = this;
    if (!view || !asked || this.waits) return;
    const { width, height, unit } = this.app.parts.stage.size();
    this.root.classList.toggle("gv-tiny", height < 330);
    this.root.classList.toggle("gv-slim", width < 620 * unit);
    this.scene = sceneOf(view, asked, more);
    const { scene } = this;
    if (scene) this.strip.draw(scene, Math.min(view.at, scene.read.length - 1), view.show === "learn");
    else if (more || view.show === "copier")
      this.beside[/** @type {keyof Training["beside"]} */ (view.show)].draw(more);
    this.speak();
  }

  speak() {
    const { view, asked, more, scene } = this;
    if (!view || !asked || this.waits) return;
    const watched = view.show === "history" ? this.beside.history.facts() : { watched: false };
    const facts = { ...factsOf({ view, asked, more, scene, copier: this.copier.last() }), ...watched };
    this.app.facts(facts);
    this.app.parts.stage.say(`training.${sentenceOf(view, facts)}`, facts);
    // words: training.say_learning training.say_learned training.say_worse training.say_level training.say_unshifted
    // words: training.say_none training.say_wrong_way training.say_padding training.say_no_pads training.say_own
    // words: training.say_encoder training.say_copier training.say_copying training.say_other
    // words: training.say_history
    this.app.parts.steps.prose();
  }

  /** @param {number | null} column */
  point(column) {
    if (column === null || !this.scene) return this.app.parts.stage.point(null);
    const { key, values } = pointedAt(this.view, this.asked, this.scene, column);
    // words: training.point_one training.point_learned training.point_wrong training.point_pad
    this.app.parts.stage.point(phrase(`training.${key}`, values));
  }

  /** @param {any} told */
  say(told) {
    this.app.parts.stage.point(told && phrase("training.point_own", told));
  }

  /** The padding slider paints by itself. @param {number} count */
  pads(count) {
    this.view.pads = count;
    this.app.set({ pads: count }, { draw: false });
    this.resize();
  }

  table() {
    return this.asked ? tableOf(this.asked, this.more, this.view) : null;
  }
}

/** @param {any} view @param {any} asked @param {any} more */
function sceneOf(view, asked, more) {
  if (view.show === "learn") return scenes.learning(asked, more);
  if (view.show === "level") return scenes.level(asked);
  if (view.show === "mistakes") return scenes.mistaken(asked, more, view.mistake);
  if (view.show === "padding") return scenes.padding(asked, more, view.pads);
  return null;
}

/** @param {any} asked @param {any} more @param {any} view */
function tableOf(asked, more, view) {
  const names = ["read", "asked", "best", "nats"];
  const learned = view.show === "learn" && more && more.tokens.length === asked.tokens.length ? more.after : null;
  if (learned) names.push("after");
  const head = names.map((name) => text(`training.table_${name}`)); // words: training.table_*
  const rows = asked.nats.map((/** @type {number} */ nats, /** @type {number} */ i) => {
    const row = [asked.tokens[i], asked.tokens[i + 1], asked.best[i], scenes.natsText(nats)];
    return learned ? [...row, scenes.natsText(learned[i])] : row;
  });
  return { head, rows };
}

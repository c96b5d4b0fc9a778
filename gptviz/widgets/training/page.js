// Training: the text asked for token by token, one real step of learning, and the mistakes that spoil it.
import { el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import { createControls } from "./controls.js";
import { createCopier } from "./copier.js";
import { createEncoder } from "./encoder.js";
import { factsOf, pointedAt, sentenceOf } from "./facts.js";
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
};

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const strip = createStrip({ point, choose });
  const copier = createCopier(app, { changed: speak });
  const beside = { own: createOwn({ point: say }), encoder: createEncoder(), copier };
  const controls = createControls(app, { again: () => copier.run(), pads });
  const box = el("div", { class: "gv-trbox" }, strip.root, beside.own.root, beside.encoder.root, beside.copier.root);
  root.append(controls.root, box);
  /** @type {any} */
  let view = null;
  /** @type {any} */
  let asked = null; // the text's own strip
  /** @type {any} */
  let more = null; // what this state asked besides
  /** @type {any} */
  let scene = null;

  async function show(/** @type {any} */ next) {
    const args = { text: next.text, model: next.model };
    const found = await next.ask("shifted", args);
    if (!next.current()) return;
    const wanted = ASKS[/** @type {keyof typeof ASKS} */ (next.show)](next);
    const same = asked === found && view && view.show === next.show;
    view = next;
    asked = found;
    if (!same) adopt(next.show === "learn" ? null : undefined);
    if (wanted) {
      const [name, own] = /** @type {[string, any]} */ (wanted);
      const answer = await next.ask(name, { ...own, ...args });
      if (!next.current()) return;
      adopt(answer);
    }
    if (next.show === "copier") copier.begin();
  }

  /** Draw with what is there: null shows the strip alone until a step of learning is made. @param {any} answer */
  function adopt(answer) {
    more = answer;
    controls.set(view);
    root.dataset.show =
      answer === undefined && ASKS[/** @type {keyof typeof ASKS} */ (view.show)](view) ? "wait" : view.show;
    if (root.dataset.show !== "wait") paint();
  }

  function paint() {
    if (!view || !asked || root.dataset.show === "wait") return;
    const { width, height, unit } = app.parts.stage.size();
    root.classList.toggle("gv-tiny", height < 330);
    root.classList.toggle("gv-slim", width < 620 * unit);
    scene = sceneOf();
    if (scene) strip.draw(scene, Math.min(view.at, scene.read.length - 1), view.show === "learn");
    else if (more || view.show === "copier") beside[/** @type {keyof typeof beside} */ (view.show)].draw(more);
    speak();
  }

  function sceneOf() {
    if (view.show === "learn") return scenes.learning(asked, more);
    if (view.show === "level") return scenes.level(asked);
    if (view.show === "mistakes") return scenes.mistaken(asked, more, view.mistake);
    if (view.show === "padding") return scenes.padding(asked, more, view.pads);
    return null;
  }

  function speak() {
    if (!view || !asked) return;
    const facts = factsOf({ view, asked, more, scene, copier: copier.last() });
    app.facts(facts);
    app.parts.stage.say(`training.${sentenceOf(view, facts)}`, facts);
    // words: training.say_learning training.say_learned training.say_worse training.say_level training.say_unshifted
    // words: training.say_none training.say_wrong_way training.say_padding training.say_no_pads training.say_own
    // words: training.say_encoder training.say_copier training.say_copying training.say_other
    app.parts.steps.prose();
  }

  /** @param {number | null} column */
  function point(column) {
    if (column === null || !scene) return app.parts.stage.point(null);
    const { key, values } = pointedAt(view, asked, scene, column);
    app.parts.stage.point(phrase(`training.${key}`, values)); // words: training.point_one training.point_learned training.point_wrong training.point_pad
  }

  /** @param {any} told */
  function say(told) {
    app.parts.stage.point(told && phrase(`training.${told.key}`, told.values)); // words: training.point_own
  }

  /** @param {number} at */
  function choose(at) {
    app.set({ at });
  }

  /** The padding slider paints by itself. @param {number} count */
  function pads(count) {
    view.pads = count;
    app.set({ pads: count }, { draw: false });
    paint();
  }

  return { show, resize: paint, table: () => (asked ? tableOf(asked, more, view) : null) };
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

// Next token: bars over the whole vocabulary, the settings that shape them, draws from them, and writing on.
import { el } from "../kit/dom.js";
import { phrase } from "../kit/words.js";
import { createBars } from "./bars.js";
import { createContext } from "./context.js";
import { createControls } from "./controls.js";
import { createDraws } from "./draws.js";
import { createInstead } from "./instead.js";
import { createLine } from "./line.js";
import * as S from "./sampling.js";
import { factsOf, modelsOwn, plain, sentence, settingsKey, shaped, tableOf } from "./shares.js";
import { createWriting } from "./writing.js";

const REST = 90; // ms without a move, after which the prose follows a slider

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  const picture = new NextToken(root, app);
  return {
    show: (/** @type {any} */ view) => picture.show(view),
    resize: () => picture.paint(),
    table: () => tableOf(picture.outlook),
  };
}

class NextToken {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {any} */
    this.view = null;
    /** @type {any} */
    this.outlook = null;
    /** @type {any} */
    this.ready = null; // all logits, prepared; null until they are wanted
    this.readyKey = "";
    this.penalty = 1; // the repetition penalty that `ready` was prepared with
    /** @type {{ logits: Float32Array, read: number[] } | null} */
    this.scores = null;
    this.frame = 0;
    this.timer = 0;
    /** @type {Map<number, string>} */
    this.known = new Map();
    this.instead = createInstead(app);
    this.context = createContext(this.instead);
    this.line = createLine();
    this.bars = createBars((row) => this.point(row));
    this.draws = createDraws(app, {
      names: (/** @type {number[]} */ ids) => this.names(ids),
      paint: () => this.paint(),
    });
    this.writing = createWriting(app, this.instead);
    this.controls = createControls({
      draws: this.draws,
      writing: this.writing,
      instead: this.instead,
      wanted: () => this.exact(),
    });
    this.controls.onmove = (/** @type {any} */ fields) => this.moved(fields);
    const main = el("div", { class: "gv-ntmain" }, this.bars.root, this.writing.root);
    root.append(this.context.root, this.line.root, el("div", { class: "gv-nt" }, main, this.controls.root));
  }

  /** @param {any} next */
  async show(next) {
    const found = await next.ask("outlook", { text: next.text, model: next.model });
    if (!next.current()) return;
    const other = this.outlook !== found;
    this.view = next;
    this.outlook = found;
    if (other) this.adopt();
    if (this.readyKey !== this.key()) this.ready = null;
    if (!next.recorded && (!plain(next) || next.show !== "bars")) await this.exact();
    if (!next.current()) return;
    this.controls.set(next);
    this.draws.reset(this.key() + settingsKey(next));
    this.writing.reset(this.key());
    this.root.dataset.show = next.show;
    this.paint();
  }

  key() {
    return JSON.stringify([this.view.text, this.view.model]);
  }

  /** A new prediction: names, and the text that led to it. */
  adopt() {
    const { ids, shown, tokens, vocabulary, below } = this.outlook;
    this.known.clear();
    ids.forEach((/** @type {number} */ id, /** @type {number} */ i) => this.known.set(id, shown[i]));
    this.context.draw(tokens);
    this.instead.reset({ text: this.view.text, model: this.view.model }, vocabulary);
    this.controls.vocabulary(vocabulary, below);
  }

  /** All logits, for what a slider needs; asked for once a prompt, when the settings are first touched. */
  async exact() {
    if (!this.view || this.view.recorded) return;
    const key = this.key();
    if (this.ready && this.readyKey === key) return;
    const found = await this.view.ask("logits", { text: this.view.text, model: this.view.model });
    if (key !== this.key()) return;
    this.scores = { logits: found.logits, read: Array.from(found.read) };
    this.scores.read.forEach((id, i) => this.known.set(id, this.outlook.tokens[i]));
    this.prepare();
    this.readyKey = key;
  }

  /** Scores in their order; a repetition penalty makes another one. */
  prepare() {
    if (!this.scores) return;
    this.penalty = this.view.repetition_penalty;
    this.ready = S.prepare(this.scores.logits, this.scores.read, this.penalty);
  }

  /** The tokens of the first rows by name; those that nobody has named yet are asked for. */
  ranked() {
    if (!this.ready || this.penalty === 1) return this.outlook.shown;
    const ids = Array.from(this.ready.order.slice(0, this.outlook.shown.length));
    if (ids.some((id) => !this.known.has(id))) this.names(ids).then(() => this.later());
    return ids.map((id) => this.known.get(id) ?? "…");
  }

  /** @param {number[]} ids */
  async names(ids) {
    const missing = ids.filter((id) => !this.known.has(id));
    if (missing.length) {
      const { shown } = await this.app.parts.ask("names", { ids: missing, model: this.view.model });
      missing.forEach((id, i) => this.known.set(id, shown[i]));
    }
    return ids.map((id) => this.known.get(id) || "");
  }

  /** A slider moved: moves are gathered, one paint a frame, always with the latest settings. @param {any} fields */
  moved(fields) {
    Object.assign(this.view, fields);
    this.app.set(fields, { draw: false });
    this.draws.reset(this.key() + settingsKey(this.view));
    if (this.ready) this.later();
    else this.exact().then(() => this.later());
  }

  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    if (!this.outlook) return;
    if (this.ready && this.penalty !== this.view.repetition_penalty) this.prepare();
    const { view, outlook, ready, draws } = this;
    const names = this.ranked();
    const shares = ready ? shaped(ready, view) : modelsOwn(outlook);
    const rows = this.bars.draw(shares, names, draws.counts());
    this.line.draw(shares, names, rows, draws.darts());
    this.controls.facts(shares);
    draws.use(ready, shares);
    this.speak({ ...factsOf(outlook, shares, view, ready, rows), first: names[0] });
    this.root.dataset.painted = `${view.temperature} ${view.top_k} ${view.top_p}`;
  }

  /** @param {any} facts */
  speak(facts) {
    this.app.facts(facts);
    if (this.view.show === "writing") this.writing.speak();
    else if (this.view.show === "draws") this.draws.speak();
    else {
      // words: next_token.expects next_token.greedy next_token.tempered next_token.cooled next_token.cut
      // words: next_token.penalised
      this.app.parts.stage.say(`next_token.${sentence(this.view)}`, facts);
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.app.parts.steps.prose(), REST);
  }

  /** @param {any} row what is pointed at */
  point(row) {
    // words: next_token.row next_token.row_others
    const key = row && row.others ? "next_token.row_others" : "next_token.row";
    this.app.parts.stage.point(row ? phrase(key, row) : null);
  }
}

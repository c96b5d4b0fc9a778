// Twins: two models that differ in one mistake. Their losses over the steps of training, and what both write meanwhile.
import { el } from "../kit/dom.js";
import { text } from "../kit/words.js";
import { createChart, START } from "./chart.js";
import { createControls } from "./controls.js";
import { createGrammar } from "./grammar.js";
import { factsOf, lossText, sentenceOf } from "./facts.js";
import { begin, ended, extend, stateAt } from "./run.js";
import { createWriters } from "./writers.js";

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export const mount = (root, app) => new Twins(root, app);

class Twins {
  /** @param {HTMLElement} root @param {any} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.controls = createControls(app, { train: () => this.train(), stop: () => this.stop() });
    this.chart = createChart({ move: (at, last) => this.move(at, last), zoom: (span) => this.zoom(span) });
    this.writers = createWriters();
    this.grammar = createGrammar();
    const lower = el("div", { class: "gv-twlower" }, this.writers.root, this.grammar.root);
    root.append(this.controls.root, this.chart.root, lower);
    /** @type {any} */
    this.view = null;
    /** @type {any} */
    this.record = null; // the recorded run of this mistake on this text, and what is known of the language
    /** @type {any} */
    this.run = null; // what is drawn: the recording, or a run of this machine
    /** @type {Map<string, any>} */
    this.mine = new Map(); // runs made here, by mistake and text
    /** @type {AbortController | null} */
    this.running = null;
  }

  /** @param {any} next */
  async show(next) {
    const { variant, data } = next;
    const found = await next.ask("twins_recorded", { variant, data });
    if (!next.current()) return;
    if (this.running && (this.view.variant !== variant || this.view.data !== data)) this.stop();
    this.view = next;
    this.record = found;
    if (!this.running) this.run = this.mine.get(`${variant} ${data}`) || found;
    this.controls.set(next);
    this.root.dataset.under = next.under;
    this.grammar.draw(found);
    this.resize();
  }

  /** Draw what is there at the box's size. */
  resize() {
    const { run, view } = this;
    if (!run) return;
    const trained = run.causal.losses.length;
    const at = this.running ? trained : Math.min(view.at, trained);
    const now = stateAt(run, at);
    const names = { honest: text("twins.honest"), other: text(`twins.other_${view.variant}`) }; // words: twins.other_*
    const { width, height } = this.app.parts.stage.size();
    this.root.classList.toggle("gv-tiny", height < 330);
    this.root.classList.toggle("gv-slim", width < 620);
    this.chart.draw(run, { at, now, names, span: view.span, mark: this.mark() });
    this.writers.draw(now, names, view.data);
    this.controls.state({ running: Boolean(this.running), step: trained, steps: run.steps });
    this.speak(now);
  }

  /** @param {any} now */
  speak(now) {
    const facts = factsOf(this.run, this.record, now, this.view);
    this.app.facts(facts);
    this.app.parts.stage.say(`twins.${sentenceOf(this.view, now, this.run, this.running)}`, facts);
    // words: twins.say_answer twins.say_both_above twins.say_midway twins.say_start twins.say_random twins.say_grammar
    // words: twins.say_none twins.say_training twins.say_stopped twins.say_random_midway twins.say_random_grammar
    this.app.parts.steps.prose();
  }

  mark() {
    const { run, record } = this;
    if (this.running) return { words: text("twins.mark_running", { seed: run.seed }), title: "" };
    if (run !== record) {
      const key = ended(run) ? "twins.mark_live" : "twins.mark_stopped"; // words: twins.mark_live twins.mark_stopped
      return { words: text(key, { seed: run.seed, step: run.causal.losses.length, seconds: run.seconds }), title: "" };
    }
    return { words: text("twins.mark_recorded", record), title: text("twins.mark_made", record) };
  }

  /** Another place of the scrubber. @param {number} at @param {boolean} last the pointer has let go */
  move(at, last) {
    if (this.running) return;
    this.view.at = at;
    this.app.set({ at }, { draw: last });
    if (!last) this.resize();
  }

  /** The close view shows its own last step, the wide one the run's. @param {string} span */
  zoom(span) {
    this.app.set({ span, at: span === "start" ? START : this.app.page().fields.at.default });
  }

  async train() {
    const own = (this.running = new AbortController());
    const { variant, data, seed } = this.view;
    const live = begin(this.record, seed);
    this.run = live;
    this.resize();
    const take = (/** @type {any} */ value) => this.take(live, value, own);
    try {
      await this.app.stream("twins_live", { seed, variant, data }, take, own.signal);
    } catch (error) {
      if (!own.signal.aborted) this.app.parts.notice(/** @type {Error} */ (error).message);
    }
    if (this.running === own) this.running = null;
    this.finish(live, variant, data);
  }

  /** @param {any} live @param {any} value @param {AbortController} own */
  take(live, value, own) {
    if (!this.root.isConnected) own.abort();
    if (own.signal.aborted) return;
    extend(live, value);
    if (this.running !== own) return;
    if (this.view.span === "start" && live.causal.losses.length > START) {
      this.view.span = "all"; // the run has left the close view
      this.app.set({ span: "all" }, { draw: false });
    }
    this.resize();
  }

  /**
   * What is left of a run: whole, stopped on the way, or nothing.
   * @param {any} live @param {string} variant @param {string} data
   */
  finish(live, variant, data) {
    const { view, record } = this;
    if (live.causal.losses.length) this.mine.set(`${variant} ${data}`, live);
    if (view.variant !== variant || view.data !== data) return;
    this.run = this.mine.get(`${variant} ${data}`) || record;
    if (this.app.state.page !== "twins") return;
    Object.assign(view, { at: record.steps, span: "all" });
    this.app.set({ at: record.steps, span: "all" }, { draw: false });
    this.resize();
  }

  stop() {
    if (this.running) this.running.abort();
  }

  table() {
    return this.run ? tableOf(this.run) : null;
  }
}

/** @param {any} run */
function tableOf(run) {
  const names = ["step", "loss_honest", "loss_other", "right_honest", "right_other"];
  const head = names.map((name) => text(`twins.table_${name}`)); // words: twins.table_*
  const rows = run.causal.wrote.map((/** @type {any} */ wrote, /** @type {number} */ i) => {
    const now = stateAt(run, wrote.step);
    const share = (/** @type {any} */ w) => (w && w.valid !== null ? text("twins.share", { p: w.valid }) : "–");
    return [wrote.step, lossText(now.causal.loss), lossText(now.twin.loss), share(wrote), share(run.twin.wrote[i])];
  });
  return { head, rows };
}

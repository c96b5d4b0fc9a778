// Twins: two models that differ in one mistake. Their losses over the steps of training, and what both write meanwhile.
import { el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
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
export function mount(root, app) {
  const controls = createControls(app, { train, stop });
  const chart = createChart({ move, zoom });
  const writers = createWriters();
  const grammar = createGrammar();
  const lower = el("div", { class: "gv-twlower" }, writers.root, grammar.root);
  root.append(controls.root, chart.root, lower);
  /** @type {any} */
  let view = null;
  /** @type {any} */
  let record = null; // the recorded run of this mistake on this text, and what is known of the language
  /** @type {any} */
  let run = null; // what is drawn: the recording, or a run of this machine
  /** @type {Map<string, any>} */
  const mine = new Map(); // runs made here, by mistake and text
  /** @type {AbortController | null} */
  let running = null;

  async function show(/** @type {any} */ next) {
    const { variant, data } = next;
    const found = await next.ask("twins_recorded", { variant, data });
    if (!next.current()) return;
    if (running && (view.variant !== variant || view.data !== data)) stop();
    view = next;
    record = found;
    run = mine.get(`${variant} ${data}`) || found;
    controls.set(next);
    root.dataset.under = next.under;
    grammar.draw(found);
    paint();
  }

  function paint() {
    if (!run) return;
    const at = running ? run.causal.losses.length : Math.min(view.at, run.causal.losses.length);
    const now = stateAt(run, at);
    const names = { honest: text("twins.honest"), other: text(`twins.other_${view.variant}`) }; // words: twins.other_*
    const { width, height } = app.parts.stage.size();
    root.classList.toggle("gv-tiny", height < 330);
    root.classList.toggle("gv-slim", width < 620);
    chart.draw(run, { at, now, names, span: view.span, mark: markOf() });
    writers.draw(now, names, view.data);
    controls.state({
      running: Boolean(running),
      step: run.causal.losses.length,
      steps: run.steps,
      seconds: run.seconds,
    });
    speak(now);
  }

  function speak(/** @type {any} */ now) {
    const facts = factsOf(run, record, now, view);
    app.facts(facts);
    app.parts.stage.say(`twins.${sentenceOf(view, now, run, running)}`, facts);
    // words: twins.say_answer twins.say_both_above twins.say_midway twins.say_start twins.say_random twins.say_grammar
    // words: twins.say_training twins.say_stopped twins.say_random_midway twins.say_random_grammar
    app.parts.steps.prose();
  }

  function markOf() {
    if (running) return { words: text("twins.mark_running", { seed: run.seed }), title: "" };
    if (run !== record) {
      const key = ended(run) ? "twins.mark_live" : "twins.mark_stopped"; // words: twins.mark_live twins.mark_stopped
      return { words: text(key, { seed: run.seed, step: run.causal.losses.length, seconds: run.seconds }), title: "" };
    }
    return { words: text("twins.mark_recorded", record), title: text("twins.mark_made", record) };
  }

  /** Another place of the scrubber. @param {number} at @param {boolean} last the pointer has let go */
  function move(at, last) {
    if (running) return;
    view.at = at;
    app.set({ at }, { draw: last });
    if (!last) paint();
  }

  /** The close view shows its own last step, the wide one the run's. @param {string} span */
  function zoom(span) {
    app.set({ span, at: span === "start" ? START : app.page().fields.at.default });
  }

  async function train() {
    const own = (running = new AbortController());
    const { variant, data, seed } = view;
    const live = begin(record, seed);
    run = live;
    paint();
    try {
      await app.stream(
        "twins_live",
        { seed, variant, data },
        (/** @type {any} */ value) => take(live, value, own),
        own.signal,
      );
    } catch (error) {
      if (!own.signal.aborted) app.parts.notice(/** @type {Error} */ (error).message);
    }
    if (running === own) running = null;
    finish(live, variant, data);
  }

  /** @param {any} live @param {any} value @param {AbortController} own */
  function take(live, value, own) {
    if (!root.isConnected) own.abort();
    if (own.signal.aborted) return;
    extend(live, value);
    if (running !== own) return;
    if (view.span === "start" && live.causal.losses.length > START) {
      view.span = "all"; // the run has left the close view
      app.set({ span: "all" }, { draw: false });
    }
    paint();
  }

  /** What is left of a run: whole, stopped on the way, or nothing. @param {any} live @param {string} variant @param {string} data */
  function finish(live, variant, data) {
    if (live.causal.losses.length) mine.set(`${variant} ${data}`, live);
    if (view.variant !== variant || view.data !== data) return;
    run = mine.get(`${variant} ${data}`) || record;
    Object.assign(view, { at: record.steps, span: "all" });
    app.set({ at: record.steps, span: "all" }, { draw: false });
    if (root.isConnected) paint();
  }

  function stop() {
    if (running) running.abort();
  }

  writers.onpoint = (/** @type {any} */ told) => app.parts.stage.point(told && phrase(told.key, told.values)); // words: twins.point_right twins.point_wrong
  return { show, resize: paint, table: () => (run ? tableOf(run) : null) };
}

/** @param {any} run */
function tableOf(run) {
  const head = ["step", "loss_honest", "loss_other", "right_honest", "right_other"].map((name) =>
    text(`twins.table_${name}`),
  ); // words: twins.table_*
  const rows = run.causal.wrote.map((/** @type {any} */ wrote, /** @type {number} */ i) => {
    const now = stateAt(run, wrote.step);
    const share = (/** @type {any} */ w) => (w && w.valid !== null ? text("twins.share", { p: w.valid }) : "–");
    return [wrote.step, lossText(now.causal.loss), lossText(now.twin.loss), share(wrote), share(run.twin.wrote[i])];
  });
  return { head, rows };
}

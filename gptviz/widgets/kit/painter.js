// From the state to the stage: the page's picture is made once, painted from what was recorded, then from live answers.
import { ask, key, NotRecorded, recorded, Sentence } from "./ask.js";
import { remember } from "./focus.js";
import { text } from "./words.js";

export class Painter {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<string, any>} */
    this.mounted = new Map();
    this.turn = 0;
    this.painted = false;
    this.leaving = new AbortController();
    /** @type {Map<string, Promise<any>>} */
    this.recordings = new Map();
  }

  /** The stage for the state as it is now; what was asked for before and comes later is left alone. */
  async show() {
    const turn = ++this.turn;
    this.leaving.abort();
    this.leaving = new AbortController();
    const { signal } = this.leaving;
    const { stage } = this.app.parts;
    try {
      const picture = await this.mount(this.app.state.page);
      if (turn !== this.turn) return;
      const name = this.app.model() ? this.app.model().name : "";
      const record = await this.recording(name);
      if (turn !== this.turn) return;
      if (record && !this.painted) await this.paint(picture, turn, signal, this.replay(record), true);
      this.painted = true; // afterwards the live answer is as quick
      if (turn === this.turn) await this.paint(picture, turn, signal, ask, false);
    } catch (error) {
      if (turn !== this.turn || (error instanceof DOMException && error.name === "AbortError")) return;
      if (error instanceof NotRecorded) return this.app.refused(error.message);
      if (!(error instanceof Sentence)) console.error(error);
      this.app.facts({}, true);
      stage.recorded(false);
      stage.fail(error instanceof Sentence ? error.message : text("frame.broken"));
    } finally {
      if (turn === this.turn) stage.busy(false);
    }
  }

  /**
   * @param {any} picture @param {number} turn @param {AbortSignal} signal @param {typeof ask} source
   * @param {boolean} isRecorded
   */
  async paint(picture, turn, signal, source, isRecorded) {
    const { stage } = this.app.parts;
    const model = this.app.model();
    const view = {
      ...this.app.state.fields,
      text: this.app.prompt(),
      model: model ? model.name : "",
      step: this.app.state.step,
      recorded: isRecorded,
      ask: source,
      signal,
      current: () => turn === this.turn,
    };
    if (!isRecorded) stage.busy(true);
    if (!isRecorded && this.app.page().prompted) this.reading(view);
    const back = remember(stage.root);
    try {
      await picture.show(view);
    } catch (error) {
      if (!isRecorded) throw error;
      if (!(error instanceof NotRecorded)) console.error(error); // the live picture comes all the same
      return;
    }
    if (turn !== this.turn) return;
    stage.fail("");
    stage.recorded(isRecorded);
    stage.table(this.app.view.table && picture.table ? picture.table() : null);
    this.app.facts({ told: !this.app.pending() });
    this.app.parts.steps.prose();
    back();
    this.app.root.dataset.shown = `${this.app.state.page}/${this.app.state.step}/${isRecorded ? "recorded" : "live"}`;
  }

  /** A page's picture, made once. @param {string} name */
  async mount(name) {
    const { stage } = this.app.parts;
    if (!this.mounted.has(name)) {
      const module = await this.app.load(name);
      const box = document.createElement("div");
      box.className = `gv-picture gv-${name}`;
      if (this.app.state.page !== name) return;
      stage.fig.replaceChildren(box);
      this.mounted.set(name, { box, picture: module.mount(box, this.app) });
    }
    const { box, picture } = this.mounted.get(name);
    if (stage.fig.firstChild !== box) {
      stage.fig.replaceChildren(box);
      if (picture.resize) picture.resize();
    }
    return picture;
  }

  /** The picture that is on the stage, if it is made. */
  picture() {
    const found = this.mounted.get(this.app.state.page);
    return found ? found.picture : null;
  }

  /** What was recorded of this page for a model and the first prompt, or null. @param {string} model */
  recording(model) {
    const { page } = this.app.state;
    const made = (this.app.manifest.recorded[model] || []).includes(page);
    if (!made || this.app.prompt() !== this.app.manifest.examples[0].text) return Promise.resolve(null);
    const name = `${model}/${page}`;
    let found = this.recordings.get(name);
    if (!found) this.recordings.set(name, (found = recorded(model, page)));
    return found;
  }

  /** The number of tokens beside the prompt; a text that cannot be read has its sentence on the stage. */
  async reading(/** @type {any} */ view) {
    const found = await ask("reading", { text: view.text, model: view.model }).catch(() => null);
    if (found && view.current()) this.app.parts.frame.count(found);
  }

  /** A source of answers that has the recorded ones only. @param {Record<string, any>} record @returns {any} */
  replay(record) {
    return (/** @type {string} */ name, /** @type {Record<string, any>} */ args) => {
      const found = record[key(name, args)];
      return found === undefined
        ? Promise.reject(new NotRecorded(name))
        : Promise.resolve(this.app.parts.unpacked(found));
    };
  }
}

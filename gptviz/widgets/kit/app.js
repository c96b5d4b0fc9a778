// The page's state and what follows from it: one store in the browser; the server keeps nothing of a reader.
import * as address from "./address.js";
import { ask, stream } from "./ask.js";
import { setTheme } from "./colour.js";
import { Painter } from "./painter.js";
import { text } from "./words.js";

/** @typedef {import("./address.js").Field} Field */

const VIEWS = ["present", "embed", "guesses", "table", "lang", "course", "theme", "__theme"];
const POLL = 3000; // ms between two looks at how the loading stands

export class App {
  /** @param {any} manifest @param {HTMLElement} root */
  constructor(manifest, root) {
    this.manifest = manifest;
    this.root = root;
    /** @type {{ page: string, step: number, prompt: string | null, model: string, fields: Record<string, any> }} */
    this.state = { page: manifest.pages[0].key, step: 1, prompt: null, model: "", fields: {} };
    /** @type {Record<string, string>} */
    this.view = {};
    /** @type {string | null} */
    this.stepPrompt = null; // the open step's own prompt, until the reader runs another
    /** @type {Record<string, any>} */
    this.known = {}; // facts of what is on the stage, for the prose
    /** @type {Map<string, number>} */
    this.guesses_ = new Map();
    /** @type {Set<string>} */
    this.steps_ = new Set();
    /** @type {any} */
    this.status = null;
    /** @type {Record<string, any>} */
    this.parts = {}; // frame, stage, steps, notice: set by main
    this.painter = new Painter(this);
    this.addressTimer = 0;
  }

  // What is asked for

  page() {
    return this.manifest.pages.find((/** @type {any} */ p) => p.key === this.state.page);
  }

  prompt() {
    return this.stepPrompt ?? this.state.prompt ?? this.manifest.examples[0].text;
  }

  /** The model that answers: the one chosen, or the server's first. */
  model() {
    const models = this.status ? this.status.models : [];
    return models.find((/** @type {any} */ m) => m.name === this.state.model) || models[0] || null;
  }

  /** @param {number} by */
  neighbour(by) {
    const pages = this.manifest.pages;
    return pages[pages.indexOf(this.page()) + by] || null;
  }

  /** The step's own values of all fields. @param {number} [step] @param {any} [page] */
  own(step = this.state.step, page = this.page()) {
    const defaults = Object.entries(page.fields).map(([name, f]) => [name, /** @type {any} */ (f).default]);
    return { ...Object.fromEntries(defaults), ...page.steps[step - 1].state };
  }

  // Guesses

  guesses() {
    return this.view.guesses !== "0";
  }

  guessed(step = this.state.step) {
    return this.guesses_.get(`${this.state.page}/${step}`);
  }

  /** @param {number} step */
  seen(step) {
    return this.steps_.has(`${this.state.page}/${step}`);
  }

  pending(step = this.state.step) {
    return Boolean(this.page().steps[step - 1].guess) && this.guesses() && this.guessed(step) === undefined;
  }

  /** Answer the open step's guess (-1: just tell), and let the picture move on. @param {number} option */
  guess(option) {
    this.guesses_.set(`${this.state.page}/${this.state.step}`, option);
    this.state.fields = this.own();
    this.write(false);
    this.draw();
  }

  // Moving

  /** @param {string} search the address's query */
  open(search) {
    const found = address.read(search, this.manifest);
    const given = new URLSearchParams(search);
    this.view = Object.fromEntries(VIEWS.flatMap((name) => (given.get(name) ? [[name, given.get(name) || ""]] : [])));
    this.state = { page: found.page, step: found.step, prompt: found.prompt, model: found.model || "", fields: {} };
    this.state.fields = { ...this.start(), ...found.fields };
    const step = this.page().steps[found.step - 1];
    this.stepPrompt = found.prompt === null && step.prompt ? step.prompt : null;
    if (found.bad.length) this.parts.notice(text("frame.bad_address", { names: found.bad.join(", ") }));
    this.draw();
  }

  /** A step's fields as it opens: before its guess is answered, those of the step before. */
  start() {
    const before = this.pending() && this.state.step > 1 ? this.state.step - 1 : this.state.step;
    return this.own(before);
  }

  /** @param {number} number */
  step(number) {
    this.state.step = number;
    this.enter();
  }

  /** @param {string} name */
  goto(name, step = 1) {
    this.state.page = name;
    this.state.step = step;
    this.enter();
  }

  enter() {
    const step = this.page().steps[this.state.step - 1];
    this.stepPrompt = step.prompt || null;
    this.state.fields = this.start();
    this.write(true);
    this.draw();
  }

  /** The course that is followed, with the place in it; null without one. */
  course() {
    const found = this.manifest.courses.find((/** @type {any} */ c) => c.name === this.view.course);
    if (!found) return null;
    const here = ([page, step] = ["", 0]) => page === this.state.page && step === this.state.step;
    const near = ([page] = [""]) => page === this.state.page;
    const at = found.stops.findIndex(here);
    return { ...found, at: at >= 0 ? at : Math.max(0, found.stops.findIndex(near)) };
  }

  /** @param {string} name */
  take(name) {
    this.view.course = name;
    const course = this.course();
    if (course) this.goto(course.stops[0][0], course.stops[0][1]);
  }

  /** Next or previous step: of the course, or of the page and over its edge. @param {number} by */
  move(by) {
    const course = this.course();
    if (course) {
      const stop = course.stops[course.at + by];
      if (stop) this.goto(stop[0], stop[1]);
      return;
    }
    const next = this.state.step + by;
    if (next >= 1 && next <= this.page().steps.length) return this.step(next);
    const page = this.neighbour(by);
    if (page) this.goto(page.key, by > 0 ? 1 : page.steps.length);
  }

  /** A link of the frame: here unless the reader wants another tab. @param {MouseEvent} event @param {string} name */
  follow(event, name) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    this.goto(name);
  }

  /** @param {string} words */
  run(words) {
    this.state.prompt = words === this.manifest.examples[0].text ? null : words;
    this.stepPrompt = null;
    this.write(true);
    this.draw();
  }

  /** @param {string} name */
  choose(name) {
    const first = this.status && this.status.models[0] && this.status.models[0].name;
    this.state.model = name === first ? "" : name;
    this.write(true);
    this.draw();
  }

  /** Fields of the stage that the reader changed. @param {Record<string, any>} fields */
  set(fields, { draw = true } = {}) {
    Object.assign(this.state.fields, fields);
    if (this.pending()) this.guesses_.set(`${this.state.page}/${this.state.step}`, -1); // playing counts as seen
    clearTimeout(this.addressTimer);
    this.addressTimer = window.setTimeout(() => this.write(false), 200);
    if (draw) this.show();
  }

  /** `a=1; b=x` from a link in the prose. @param {string} words */
  setFromText(words) {
    const pairs = words.split(";").map((part) => part.split("=").map((s) => s.trim()));
    const fields = this.page().fields;
    this.set(Object.fromEntries(pairs.map(([name, value = ""]) => [name, address.parse(fields[name], value)])));
  }

  /** @param {string} name @param {string | null} [prompt] another one than now */
  link(name, prompt = this.state.prompt) {
    const page = this.manifest.pages.find((/** @type {any} */ p) => p.key === name);
    const own = this.own(1, page);
    return address.write({ ...this.state, prompt, step: 1, fields: own }, page, this.view, own);
  }

  /** @param {boolean} push a new entry in the browser's history */
  write(push) {
    const search = address.write(this.state, this.page(), this.view, this.own());
    if (search === location.search) return;
    history[push ? "pushState" : "replaceState"](null, "", location.pathname + search);
  }

  // How it looks

  /** @param {string} name @param {string} value */
  look(name, value) {
    if (value) this.view[name] = value;
    else delete this.view[name];
    this.write(false);
    this.draw();
  }

  theme() {
    const dark = !document.body.classList.contains("dark");
    setTheme(dark);
    this.view.theme = dark ? "dark" : "light";
    this.write(false);
  }

  /** Gradio's page about the endpoints. */
  api() {
    location.assign(`${location.pathname}?view=docs`);
  }

  copyLink() {
    const done = () => this.parts.notice(text("frame.copied"));
    const failed = () => this.parts.notice(location.href);
    navigator.clipboard ? navigator.clipboard.writeText(location.href).then(done, failed) : failed();
  }

  /** The script that draws a page. @param {string} name */
  load(name) {
    return import(new URL(`../${name}/page.js`, import.meta.url).href);
  }

  /** What a file that was saved cannot answer. @param {string} words */
  refused(words) {
    this.parts.notice(words);
  }

  // The picture

  /** Everything: frame, steps and stage. */
  draw() {
    this.steps_.add(`${this.state.page}/${this.state.step}`);
    this.parts.dress();
    this.parts.stage.point(null);
    this.facts({ told: !this.pending() });
    this.parts.frame.draw();
    this.parts.steps.draw();
    this.parts.stage.title(this.page().steps[this.state.step - 1].title);
    return this.show();
  }

  /** Facts of the stage for the prose of the steps. @param {Record<string, any>} facts */
  facts(facts, fresh = false) {
    this.known = fresh ? facts : { ...this.known, ...facts };
  }

  /**
   * A long answer for the picture: values while it runs; leaving the state ends it.
   * @param {string} name
   * @param {Record<string, any>} args
   * @param {(value: any) => void} take
   * @param {AbortSignal} signal
   */
  stream(name, args, take, signal) {
    return stream(name, args, take, signal);
  }

  show() {
    return this.painter.show();
  }

  /** The picture that is on the stage, if it is made. */
  picture() {
    return this.painter.picture();
  }

  // The server's state, asked for only while it changes

  async poll(again = false) {
    const before = this.model() && this.model().name;
    try {
      this.status = await ask("status", {}, { fresh: true });
    } catch {
      setTimeout(() => this.poll(again), POLL);
      return;
    }
    const now = this.model() && this.model().name;
    this.parts.frame.model();
    if (this.status.loading) setTimeout(() => this.poll(), POLL);
    if (again || (before && now !== before)) this.draw();
  }
}

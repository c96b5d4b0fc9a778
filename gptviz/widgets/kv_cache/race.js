// The race: one text written in two lanes, without and with the cache; counted at once, timed when it is run.
import { el, segment, still } from "../kit/dom.js";
import { whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";
import { createBill, createLegend } from "./bill.js";
import { kind } from "./grid.js";
import { createLanes, LANES, neighbour, readings } from "./lanes.js";
import { Timing } from "./timing.js";

const LENGTHS = [1, 5, 20, 60, 200];
const SHORTEST = 2.5; // seconds that a replay takes at least, and at most
const LONGEST = 6;
const BEGIN = { lane: 0, row: 0, column: -1 };

export class Race {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.timing = new Timing(app, { paint: () => this.resize(), replay: () => this.replay() });
    this.lanes = createLanes({ point: (cell) => this.point(cell), move: (key) => this.move(key) });
    this.legend = createLegend();
    this.bill = createBill();
    /** @type {any} */
    this.view = null;
    /** @type {any} */
    this.data = null; // what kv_count says
    /** @type {string[]} */
    this.ahead = []; // tokens written before any race
    /** @type {any} */
    this.lengths = null;
    /** @type {number[] | null} */
    this.playing = null; // rows of each lane while it is replayed
    this.clock = 0;
    /** @type {any} */
    this.cell = null;
    this.root = el(
      "div",
      { class: "gv-kv-pane gv-kv-race" },
      this.controls(),
      this.lanes.root,
      this.legend.root,
      this.bill.root,
    );
  }

  controls() {
    this.go = el(
      "button",
      { type: "button", class: "gv-btn gv-main gv-kv-racego", onclick: () => this.race() },
      text("kv_cache.race"),
    );
    this.slider = el("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": text("kv_cache.rows_shown"),
      oninput: () => this.slide(),
    });
    this.shown = el("output");
    const lengths = /** @type {[string, string][]} */ (LENGTHS.map((n) => [String(n), whole(n)]));
    const label = text("kv_cache.new_tokens");
    this.lengths = segment(label, lengths, (n) => this.app.set({ new: +n, written: -1 }));
    const side = el("span", { class: "gv-kv-newlabel" }, label);
    return el("div", { class: "gv-bar gv-kv-racebar" }, this.go, this.slider, this.shown, side, this.lengths.box);
  }

  async show(/** @type {any} */ view) {
    const args = { text: view.text, first: view.first, new: view.new, model: view.model };
    const found = await view.ask("kv_count", args);
    if (!view.current()) return;
    const other = this.data !== found;
    this.view = view;
    this.data = found;
    if (other) this.leave();
    if (other) this.ahead = [];
    this.timing.use(args);
    this.lengths.set(String(view.new));
    this.root.dataset.strip = view.show;
    this.resize();
    if (!this.ahead.length) await this.name(view, args);
    if (view.show === "bill" && !view.recorded && view.current()) this.timing.once();
  }

  /** The tokens that will be written; the cells do not wait for them. @param {any} view @param {any} args */
  async name(view, args) {
    const found = await view.ask("kv_words", args);
    if (!view.current()) return;
    this.ahead = found.shown;
    this.resize();
  }

  words() {
    return this.timing.words() || this.ahead;
  }

  // Running and walking

  /** Run both lanes and show them again; while they run, stop them. */
  race() {
    this.leave();
    if (this.timing.busy()) {
      this.timing.stop();
      this.timing.forget();
      this.resize();
    } else this.timing.run(true);
  }

  leave() {
    cancelAnimationFrame(this.clock);
    this.playing = null;
  }

  slide() {
    this.leave();
    const n = +this.slider.value;
    this.view.written = n === this.data.new ? -1 : n;
    this.app.set({ written: this.view.written }, { draw: false });
    this.resize();
  }

  /** Both lanes at the pace that was measured. */
  replay() {
    if (still()) return this.resize();
    const clocks = LANES.map((lane) => this.timing.clock(lane));
    const total = Math.max(...clocks.map((c) => c[c.length - 1]));
    const lasts = Math.min(LONGEST, Math.max(SHORTEST, total)) * 1000;
    const begin = performance.now();
    const frame = (/** @type {number} */ now) => {
      const t = (Math.max(0, now - begin) / lasts) * total;
      const over = t >= total;
      this.playing = over ? null : clocks.map((clock) => clock.filter((x) => x <= t).length);
      this.resize();
      if (over) return;
      this.app.parts.stage.say("kv_cache.say_racing", { t, n: this.playing?.[0], m: this.playing?.[1] });
      this.clock = requestAnimationFrame(frame);
    };
    this.clock = requestAnimationFrame(frame);
  }

  /** Rows that are drawn when nothing moves. */
  rows() {
    return this.view.written < 0 ? this.data.new : Math.min(this.view.written, this.data.new);
  }

  // Drawing

  resize() {
    if (!this.data || this.root.hidden) return;
    const rows = this.playing || [this.rows(), this.rows()];
    const prompt = this.data.tokens.length;
    const caption = [text("kv_cache.columns_prompt", { n: prompt }), text("kv_cache.columns_written")];
    const { unit } = this.app.parts.stage.size();
    this.lanes.draw({ prompt, count: this.data.new, rows, names: this.words(), caption, unit });
    this.dress(Math.max(...rows));
    this.legend.draw(this.totals([this.rows(), this.rows()]), this.data.model);
    this.account(rows);
    this.root.dataset.rows = rows.join(" ");
    this.speak();
  }

  /** @param {number} rows */
  dress(rows) {
    const said = text("kv_cache.row_of", { n: rows, total: this.data.new });
    this.slider.max = String(this.data.new);
    this.slider.value = String(rows);
    this.slider.setAttribute("aria-valuetext", said);
    this.shown.textContent = said;
    const busy = this.timing.busy();
    this.go.textContent = busy ? text("kv_cache.stop", { n: this.timing.steps.length }) : text("kv_cache.race");
  }

  /** @param {number[]} rows */
  account(rows) {
    const n = this.timing.steps.length;
    const timed = this.timing.busy() ? [n, n] : rows;
    const known = n > 0 && n >= Math.max(...timed);
    // words: kv_cache.timing kv_cache.untimed
    const waiting = text(this.timing.busy() ? "kv_cache.timing" : "kv_cache.untimed");
    this.bill.draw(this.totals(rows, timed), this.totals([this.data.new, this.data.new]), known, waiting);
  }

  /** All measures after so many rows of each lane. @param {number[]} rows @param {number[]} [timed] */
  totals(rows, timed = rows) {
    const { data } = this;
    const sum = (/** @type {number[]} */ values, /** @type {number} */ n) =>
      values.slice(0, n).reduce((a, b) => a + b, 0);
    const each = (/** @type {(lane: string, i: number) => number} */ of) =>
      Object.fromEntries(LANES.map((lane, i) => [lane, of(lane, i)]));
    const seconds = (/** @type {string} */ lane) => this.timing.steps.map((s) => s.seconds[lane]);
    return {
      positions: each((lane, i) => readings(data.tokens.length, rows[i], lane)),
      flops: each((lane, i) => sum(data.flops[lane], rows[i])),
      bytes: each((lane, i) => sum(data.bytes[lane], rows[i])),
      seconds: each((lane, i) => sum(seconds(lane), timed[i])),
      looked_up: sum(data.looked_up, rows[1]),
    };
  }

  // Saying

  facts() {
    const { data, timing } = this;
    const rows = this.rows();
    const [now, full] = [this.totals([rows, rows]), this.totals([data.new, data.new])];
    const flops = full.flops.uncached / full.flops.cached;
    const moved = full.bytes.uncached / full.bytes.cached;
    const time = timing.done && timing.done.seconds.uncached / timing.done.seconds.cached;
    return {
      ...data.model,
      prompt: data.tokens.length,
      new: data.new,
      asked: data.asked,
      context: data.context,
      rows,
      again: now.positions.uncached,
      kept: now.positions.cached,
      last: data.tokens.length + data.new - 1,
      ratio: full.positions.uncached / full.positions.cached,
      flops_ratio: flops,
      bytes_ratio: moved,
      bytes_same: Math.abs(moved - 1) < 0.02,
      seconds_ratio: time,
      timed: Boolean(time),
      faster: time > 1.1,
      lagging: time > 1.1 && time < 0.8 * flops,
      keeps_up: time > 1.1 && time >= 0.8 * flops,
      even: Boolean(time) && !(time > 1.1),
      look_up_factor: Math.round(data.model.read_flops / data.model.look_up_flops),
      one: data.new === 1,
      drafting: false,
    };
  }

  speak() {
    const facts = this.facts();
    this.app.facts(facts);
    if (!this.playing) this.say(facts);
    this.app.parts.steps.prose();
  }

  /** @param {any} facts */
  say(facts) {
    const { stage } = this.app.parts;
    const { done } = this.timing;
    const whole = facts.rows === facts.new;
    if (this.timing.busy()) stage.say("kv_cache.say_measuring", { n: this.timing.steps.length, total: facts.new });
    else if (whole && facts.new < facts.asked) stage.say("kv_cache.say_full", facts);
    else if (whole && done && !done.explained)
      stage.say("kv_cache.say_differ_more", { ...facts, ...done, n: done.differing });
    else if (whole && done && done.differing) stage.say("kv_cache.say_differ", { ...facts, n: done.differing });
    else if (whole && done && this.view.show === "bill")
      stage.say("kv_cache.say_timed", { ...facts, slow: done.seconds.uncached, quick: done.seconds.cached });
    // words: kv_cache.say_one kv_cache.say_none
    else if (facts.rows < 2) stage.say(facts.rows ? "kv_cache.say_one" : "kv_cache.say_none", facts);
    else stage.say("kv_cache.say_done", facts);
  }

  // Pointing

  /** @param {any} cell */
  point(cell) {
    this.cell = cell;
    this.lanes.point(cell);
    if (!cell || !this.data) return this.app.parts.stage.point(null);
    const rows = this.playing ? this.playing[cell.lane] : this.rows();
    const prompt = this.data.tokens.length;
    const what = kind({ prompt, upto: rows, kept: cell.lane === 1 }, cell.row, cell.column);
    const token = [...this.data.tokens, ...this.words()][cell.column] ?? "…";
    const times = cell.row + 1 - Math.max(0, cell.column - prompt + 1);
    const values = { row: cell.row + 1, token, writes: this.words()[cell.row] ?? "…", times };
    // words: kv_cache.cell_new kv_cache.cell_again kv_cache.cell_kept kv_cache.cell_later
    this.app.parts.stage.point(phrase(`kv_cache.cell_${what}`, values));
  }

  /** @param {string} key */
  move(key) {
    if (this.data) this.point(neighbour(this.cell || BEGIN, key, this.data.tokens.length, this.data.new));
  }

  table() {
    if (!this.data) return null;
    const { tokens, flops } = this.data;
    // words: kv_cache.table_*
    const head = ["row", "token", "again", "kept", "flops_again", "flops_kept"].map((k) => text(`kv_cache.table_${k}`));
    const row = (/** @type {number} */ i) => [
      i + 1,
      this.words()[i] ?? "…",
      tokens.length + i,
      i ? 1 : tokens.length,
      whole(flops.uncached[i]),
      whole(flops.cached[i]),
    ];
    return { head, rows: Array.from({ length: this.data.new }, (_, i) => row(i)) };
  }
}

// The measured race: both lanes run on the server, step by step; their seconds as they come, and how it ended.

export class Timing {
  /** @param {any} app @param {{ paint: () => void, replay: (steps: any[]) => void }} on */
  constructor(app, on) {
    this.app = app;
    this.on = on;
    /** @type {any} */
    this.args = null;
    this.key = "";
    /** @type {any[]} */
    this.steps = [];
    /** @type {any} */
    this.done = null;
    this.tried = false;
    /** @type {AbortController | null} */
    this.running = null;
  }

  /** Another text, model or length: what was measured no longer holds. @param {any} args */
  use(args) {
    const key = JSON.stringify(args);
    this.args = args;
    if (key === this.key) return;
    this.key = key;
    this.stop();
    this.forget();
    this.tried = false;
  }

  forget() {
    this.steps = [];
    this.done = null;
  }

  stop() {
    if (this.running) this.running.abort();
    this.running = null;
  }

  busy() {
    return this.running !== null;
  }

  /** Unless it has been run or tried before. */
  once() {
    if (!this.tried && !this.running) this.run(false);
  }

  /** @param {boolean} replays show it again at its own pace when it is over */
  async run(replays) {
    const mine = (this.running = new AbortController());
    this.forget();
    this.tried = true;
    this.on.paint();
    try {
      await this.app.stream("kv_race", this.args, (/** @type {any} */ value) => this.take(mine, value), mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) this.app.parts.notice(/** @type {Error} */ (error).message);
    }
    if (this.running !== mine) return;
    this.running = null;
    this.on.paint();
    if (replays && this.done) this.on.replay(this.steps);
  }

  /** @param {AbortController} mine @param {any} value */
  take(mine, value) {
    if (this.running !== mine) return;
    this.steps = [...this.steps, ...value.steps];
    if (value.done) this.done = value.done;
    this.on.paint();
  }

  /** The tokens that were written, once all are known. */
  words() {
    return this.done ? this.steps.map((step) => step.shown) : null;
  }

  /** Seconds of each lane after each step. @param {string} lane */
  clock(lane) {
    let sum = 0;
    return this.steps.map((step) => (sum += step.seconds[lane]));
  }
}

// A run of both twins: losses step by step and what they wrote meanwhile; recorded whole, or growing while it trains.

const KINDS = ["causal", "twin"];

/**
 * An empty run of this machine, of the same mistake, text and length as the recorded one.
 * @param {any} record @param {number} seed
 */
export function begin(record, seed) {
  const empty = () => ({ loss: null, writing_loss: null, losses: [], wrote: [] });
  const { floor, steps, variant, data, counts } = record;
  return { done: false, counts, floor, steps, variant, data, seed, seconds: 0, causal: empty(), twin: empty() };
}

/** @param {any} run @param {any} value one value of the stream */
export function extend(run, value) {
  run.seconds = value.seconds;
  run.done = value.done;
  for (const kind of KINDS) {
    const [mine, theirs] = [run[kind], value[kind]];
    if (value.done) {
      const { loss, writing_loss, losses, shares } = theirs;
      Object.assign(mine, { loss, writing_loss, losses, shares });
      mine.wrote.push(...theirs.wrote);
    } else {
      mine.losses.push(...theirs.losses);
      mine.wrote.push(...theirs.wrote);
    }
  }
}

/** @param {any} run */
export const ended = (run) => run.done;

/**
 * Both twins after a step: the loss (at the end over fresh text), and what they last wrote.
 * @param {any} run @param {number} at
 */
export function stateAt(run, at) {
  const last = run.done && at >= run.steps;
  const one = (/** @type {any} */ twin) => ({
    loss: last ? twin.loss : at ? twin.losses[at - 1] : null,
    wrote: twin.wrote.filter((/** @type {any} */ w) => w.step <= at).pop() || null,
  });
  return { at, last, floor: run.floor, causal: one(run.causal), twin: one(run.twin) };
}

/** The first step from which the other twin stays below the floor; 0 when it does not. @param {any} run */
export function crossing(run) {
  const { losses } = run.twin;
  let step = losses.length;
  while (step && losses[step - 1] < run.floor) step--;
  return step < losses.length ? step + 1 : 0;
}

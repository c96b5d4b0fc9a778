// Draws from the final bars: seeded darts on the line, counted by rank, held against what was to be expected.
import { el } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";
import * as S from "./sampling.js";

const SHOWN = 60; // darts on the line

/** @param {any} app @param {any} page */
export function createDraws(app, { names, paint }) {
  // words: next_token.draw_one next_token.draw_many next_token.clear
  const button = (/** @type {string} */ key, /** @type {() => void} */ onclick, kind = "") =>
    el("button", { type: "button", class: `gv-btn ${kind}`, onclick }, text(key));
  const controls = el(
    "div",
    { class: "gv-acts" },
    button("next_token.draw_one", () => go(1)),
    button("next_token.draw_many", () => go(1000), "gv-main"),
    button("next_token.clear", clear),
  );
  /** @type {Map<number, number>} */
  let hits = new Map();
  /** @type {number[]} */
  let places = [];
  let n = 0;
  let stamp = "";
  let seed = 0;
  /** @type {any} */
  let ready = null;
  /** @type {any} */
  let table = null;
  let lastName = "";
  let lastRank = 0;

  function clear() {
    hits = new Map();
    places = [];
    n = 0;
    paint();
  }

  /** @param {number} times */
  async function go(times) {
    if (!ready) return;
    const found = S.draws(table.final, table.kept, seed, times, n);
    for (const rank of found) hits.set(rank, (hits.get(rank) || 0) + 1);
    for (let i = 0; i < Math.min(times, SHOWN); i++) places.push(S.uniform(seed, n + times - 1 - i));
    places = places.slice(-SHOWN);
    n += times;
    lastRank = found[found.length - 1];
    [lastName] = await names([ready.order[lastRank]]);
    paint();
  }

  function speak() {
    const { stage } = app.parts;
    if (!n) return stage.say("next_token.nothing_drawn");
    if (n === 1) return stage.say("next_token.drew_one", { token: lastName, p: table.final[lastRank] });
    const fit = S.chiSquare(table.final, table.kept, hits, n);
    const best = app.known.best;
    stage.say("next_token.drew", { n, best, hit: (hits.get(0) || 0) / n, expected: table.final[0] });
    // words: next_token.fit_good next_token.fit_bad
    controls.title = phrase(fit.p > 0.01 ? "next_token.fit_good" : "next_token.fit_bad", { p: fit.p })
      .map((x) => x.textContent)
      .join("");
  }

  return {
    controls,
    speak,
    counts: () => (n ? hits : null),
    darts: () => places,
    /** @param {any} nextReady @param {any} nextTable */
    use(nextReady, nextTable) {
      ready = nextReady;
      table = nextTable;
    },
    /**
     * Another distribution or seed makes the tally worthless; the same one, painted again, does not.
     * @param {string} key
     */
    reset(key) {
      if (key === stamp) return;
      stamp = key;
      seed = app.state.fields.seed;
      hits = new Map();
      places = [];
      n = 0;
    },
  };
}

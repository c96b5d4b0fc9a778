// Writing on: four habits of choosing continue the same prompt, token by token; a stretch that repeats is underlined.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

const WAYS = ["greedy", "sample", "mine", "beam"];

/** @param {any} app */
export function createWriting(app) {
  const cards = WAYS.map((way) => {
    const words = el("p", { class: "gv-written" });
    const end = el("span", { class: "gv-soft" });
    // words: next_token.way_*
    const root = el("section", { class: "gv-way" }, el("h2", null, text(`next_token.way_${way}`), end), words);
    return { root, words, end };
  });
  const root = el("div", { class: "gv-ways", "aria-live": "off" }, ...cards.map((card) => card.root));
  const go = el("button", { type: "button", class: "gv-btn gv-main", onclick: toggle }, text("next_token.write"));
  const seed = number("seed", 0, 4294967295);
  const length = number("new", 1, 200);
  const controls = el("div", { class: "gv-acts" }, go, seed.root, length.root);
  /** @type {AbortController | null} */
  let running = null;
  /** @type {any} */
  let last = null;
  let stamp = "";

  async function toggle() {
    if (running) return running.abort();
    const mine = (running = new AbortController());
    go.textContent = text("next_token.stop");
    const f = app.state.fields;
    const args = {
      text: app.prompt(),
      model: app.model().name,
      new: f.new,
      temperature: f.temperature,
      top_k: f.top_k,
      top_p: f.top_p,
      seed: f.seed,
    };
    try {
      await app.stream("contest", args, (/** @type {any} */ value) => running === mine && draw(value), mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) app.parts.notice(/** @type {Error} */ (error).message);
    } finally {
      if (running === mine) running = null;
      go.textContent = text("next_token.write");
    }
  }

  /** @param {any} value */
  function draw(value) {
    last = value;
    value.texts.forEach((/** @type {any} */ t, /** @type {number} */ i) => {
      fill(
        cards[i].words,
        ...t.shown.map((/** @type {string} */ token, /** @type {number} */ k) => piece(token, looped(t.loops, k))),
      );
      cards[i].end.textContent = text(`next_token.stop_${t.stop}`); // words: next_token.stop_*
    });
    speak();
  }

  function speak() {
    const { stage } = app.parts;
    if (!last) return stage.say("next_token.write_first");
    const loop = last.texts[0].loops[0];
    if (loop) return stage.say("next_token.loop_mean", { period: loop[2], times: loop[3] });
    stage.say("next_token.writing_tokens", { n: last.texts[0].shown.length, total: app.state.fields.new });
  }

  /** @param {string} name @param {number} min @param {number} max */
  function number(name, min, max) {
    const input = el("input", {
      type: "number",
      class: "gv-in",
      min,
      max,
      step: 1,
      onchange: () => {
        const value = Math.min(max, Math.max(min, Math.round(+input.value) || min));
        app.set({ [name]: value });
      },
    });
    // words: next_token.seed next_token.new
    return { root: el("label", { class: "gv-num" }, text(`next_token.${name}`), input), input };
  }

  return {
    root,
    controls,
    speak,
    /** @param {string} key */
    reset(key) {
      seed.input.value = String(app.state.fields.seed);
      length.input.value = String(app.state.fields.new);
      if (key === stamp) return;
      stamp = key;
      last = null;
      if (running) running.abort();
      for (const card of cards) (fill(card.words), fill(card.end));
    },
  };
}

/** @param {string} token @param {boolean} loop */
const piece = (token, loop) => el("span", { class: loop ? "gv-loop" : null }, token.replace(/^·/, " "));
/** @param {number[][]} loops @param {number} k */
const looped = (loops, k) => loops.some(([from, to]) => k >= from && k < to);

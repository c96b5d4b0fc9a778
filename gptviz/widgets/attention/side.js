// Beside the head: the kinds to choose from, the grid of all heads, and what is known of the chosen one.
import { el, fill } from "../kit/dom.js";
import { percent, percentList } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

/** @param {any} on kind(name), mute(), keep(), clear(), png(), csv() */
export function createSide(on) {
  const chips = el("div", { class: "gv-kinds", role: "group", "aria-label": text("attention.kinds_label") });
  const name = el("b", { class: "gv-who" });
  const kind = el("span", { class: "gv-soft" });
  const why = el("p", { class: "gv-why" });
  const button = (/** @type {string} */ words, /** @type {() => void} */ press) =>
    el("button", { type: "button", class: "gv-btn gv-small", onclick: press }, words);
  const mute = button("", () => on.mute());
  const keep = button(text("attention.keep_off"), () => on.keep());
  const png = button(text("attention.png"), () => on.png());
  const csv = button(text("attention.csv"), () => on.csv());
  const bars = el("div", { class: "gv-off" });
  const acts = el("div", { class: "gv-acts" }, mute, keep, el("span", { class: "gv-push" }), png, csv);
  const about = el("div", { class: "gv-about" }, el("p", { class: "gv-whoat" }, name, " ", kind), why, acts);

  /** @param {any} grid @param {any} state chosen, kind, off, reason */
  function draw(grid, state) {
    const counts = grid.names.map((/** @type {string} */ _, /** @type {number} */ i) =>
      grid.kinds.reduce((/** @type {number} */ n, /** @type {number} */ k) => n + Number(k === i), 0),
    );
    fill(
      chips,
      ...grid.names.map((/** @type {string} */ each, /** @type {number} */ i) =>
        counts[i] ? chip(each, counts[i], state) : null,
      ),
    );
    const [layer, head] = state.chosen;
    name.textContent = text("attention.who", { layer, head });
    kind.textContent = state.start ? "" : text(`attention.kind_${state.own}`);
    fill(why, ...state.reason);
    const off = state.isOff;
    mute.textContent = text(off ? "attention.switch_on" : "attention.switch_off");
    mute.setAttribute("aria-pressed", String(off));
    keep.hidden = !state.mute;
  }

  /** @param {string} each @param {number} count @param {any} state */
  function chip(each, count, state) {
    // words: attention.kind_induction attention.kind_previous attention.kind_first attention.kind_resting
    // words: attention.kind_broad attention.kind_local attention.kind_mixed attention.bound_*
    return el(
      "button",
      {
        type: "button",
        class: "gv-kind",
        "aria-pressed": String(state.kind === each),
        title: text(`attention.bound_${each}`, state.bounds),
        onclick: () => on.kind(state.kind === each ? "" : each),
      },
      `${text(`attention.kind_${each}`)} ${count}`,
    );
  }

  /** The next token with and without the heads that are off; null: none is. @param {any} found */
  function outcome(found) {
    bars.hidden = !found;
    if (!found) return;
    const words = percentList([...found.before, ...found.after]);
    const n = found.shown.length;
    const rows = found.shown.map((/** @type {string} */ token, /** @type {number} */ i) =>
      el("div", { class: "gv-offrow" },
        el("span", { class: "gv-token" }, token),
        el("span", { class: "gv-pairbars" }, bar("gv-was", found.before[i]), bar("gv-now", found.after[i])),
        el("span", { class: "gv-offn" }, el("span", null, words[i]), el("b", null, words[n + i]))),
    ); // prettier-ignore
    const key = el(
      "p",
      { class: "gv-offkey" },
      el("i", { class: "gv-was" }),
      text("attention.with"),
      el("i", { class: "gv-now" }),
      text("attention.without"),
    );
    fill(bars, el("h2", null, ...phrase("attention.off_title", {})), key, ...rows);
  }
  return { chips, about, bars, draw, outcome, proof };
}

// words: attention.proof_on attention.proof_off attention.switch_on attention.switch_off
/** The later head's look, with and without the earlier head. @param {any} facts */
function proof(facts) {
  const line = (/** @type {string} */ key, /** @type {string} */ name, /** @type {number} */ p) =>
    el(
      "div",
      { class: "gv-proofrow" },
      el("span", null, ...phrase(key, facts)),
      el("span", { class: "gv-pairbars" }, bar(name, p)),
      el("b", null, percent(p)),
    );
  return el(
    "div",
    { class: "gv-proof" },
    el("b", null, ...phrase("attention.proof_title", facts)),
    line("attention.proof_on", "gv-was", facts.pair_p),
    line("attention.proof_off", "gv-now", facts.left_p),
  );
}

/** @param {string} name @param {number} p */
const bar = (name, p) => el("i", { class: name, style: { width: `${100 * p}%` } });

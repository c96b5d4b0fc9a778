// What the picture says: its sentence, the sentence of what is pointed at, and the facts that the prose may use.
import { phrase, text } from "../kit/words.js";

/**
 * A token's name; one that stands there more than once carries which it is.
 * @param {string[]} tokens @param {number} k
 */
export function named(tokens, k) {
  let before = 0;
  let all = 0;
  tokens.forEach((token, i) => {
    if (token === tokens[k]) {
      all += 1;
      if (i <= k) before += 1;
    }
  });
  return all > 1 ? `${tokens[k]} (${before})` : tokens[k];
}

/**
 * What one row reads: keys by weight, the first column and the token itself told apart.
 * @param {(j: number) => number} weight @param {number} at
 */
export function reads(weight, at) {
  const keys = Array.from({ length: at + 1 }, (_, j) => j).sort((a, b) => weight(b) - weight(a));
  const earlier = keys.filter((j) => j > 0 && j < at);
  const target = earlier.length ? earlier[0] : keys[0];
  return { keys, target, second: earlier[1] ?? -1 };
}

/** The sentence of the picture. @param {any} s the page's state as drawn */
export function sentence(s) {
  if (s.pairing) return s.pair ? ["attention.pair", s.facts] : ["attention.no_pair", s.facts];
  if (s.carried && s.carried.none) return ["attention.not_split", {}];
  if (s.off.length && s.outcome) return [`attention.off_${s.facts.off_way}`, s.facts];
  if (s.view.stage === "values") return ["attention.values", s.facts];
  if (s.view.stage === "scores") return ["attention.scores", s.facts];
  if (s.view.stage === "masked") return ["attention.masked", s.facts];
  if (s.tokens.length === 1) return ["attention.alone", s.facts];
  if (s.view.rest) return ["attention.rest", s.facts];
  if (s.view.rows === "all") return [`attention.all_${s.own}`, s.facts];
  return [s.at === s.tokens.length - 1 ? "attention.looks" : "attention.looks_row", s.facts];
}
// words: attention.pair attention.no_pair attention.not_split attention.values attention.scores attention.masked
// words: attention.alone attention.rest attention.looks attention.looks_row
// words: attention.off_up attention.off_down attention.off_same attention.off_other
// words: attention.all_induction attention.all_previous attention.all_first attention.all_resting attention.all_broad
// words: attention.all_local attention.all_mixed

/** A pointed cell, in words. @param {any} s @param {number} i @param {number} j */
export function cell(s, i, j) {
  const values = { query: named(s.tokens, i), key: named(s.tokens, j), x: s.value(i, j) };
  const later = j > i;
  if (s.view.stage === "scores") return phrase(later ? "attention.cell_future" : "attention.cell_score", values);
  if (!s.seen(i, j)) {
    const masked = s.view.stage === "masked" ? "masked" : "weight";
    return phrase(`attention.cell_${masked}_${later ? "later" : "window"}`, values);
  }
  if (s.view.stage === "masked") return phrase("attention.cell_score", values);
  if (s.view.rest && j === 0) return phrase("attention.cell_rest", { ...values, x: s.raw(i, 0) });
  return phrase(i === j ? "attention.cell_self" : "attention.cell_weight", values);
}
// words: attention.cell_masked_later attention.cell_masked_window attention.cell_weight_later
// words: attention.cell_weight_window attention.cell_weight

/** What a head of the grid is, for whoever points at it. @param {any} grid @param {[number, number]} head */
export function headline(grid, [layer, head]) {
  const index = layer * grid.heads + head;
  const kind = grid.names[grid.kinds[index]];
  const values = { layer, head, x: grid.measures[index], kind: text(`attention.kind_${kind}`), near: grid.near };
  const on = { token: named(grid.tokens, Math.min(grid.tokens.length - 1, grid.rests_on[index])) };
  return phrase(`attention.head_${kind}`, { ...values, ...on });
}
// words: attention.head_induction attention.head_previous attention.head_first attention.head_resting
// words: attention.head_broad
// words: attention.head_local attention.head_mixed

/** Why this head is shown. @param {any} s */
export function reason(s) {
  const { grid } = s;
  const [layer, head] = s.chosen;
  const index = layer * grid.heads + head;
  const kind = grid.names[grid.kinds[index]];
  const values = {
    x: grid.measures[index],
    n: grid.layers * grid.heads,
    near: grid.near,
    token: named(grid.tokens, Math.min(grid.tokens.length - 1, grid.rests_on[index])),
  };
  if (s.pairing && s.pair) return phrase("attention.why_pair", s.facts);
  if (s.tokens.length < 3) return phrase("attention.why_short", values);
  if (String(s.chosen) === String(grid.start)) return phrase("attention.why_start", values);
  return phrase(`attention.why_${kind}`, values);
}
// words: attention.why_induction attention.why_previous attention.why_first attention.why_resting attention.why_broad
// words: attention.why_local attention.why_mixed

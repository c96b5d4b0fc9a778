// What a cache weighs: the formulas of gptviz/lab/writing/cache_memory.py (a test compares the two).

/**
 * @typedef {{ name: string, layers: number, heads: number, kv_heads: number, head_width: number, parameters: number,
 *   context: number, window: number, source: string }} Model
 */

/**
 * Bytes of one token's keys and values.
 * @param {Model} m @param {number} bits @param {number} [heads] key-value heads
 */
export const perToken = (m, bits, heads = m.kv_heads) => (2 * m.layers * heads * m.head_width * bits) / 8;

/**
 * Cache and weights in bytes, both in numbers of so many bits.
 * @param {Model} model @param {number} tokens of one text @param {number} texts at once @param {number} bits
 */
export function memory(model, tokens, texts, bits) {
  const each = perToken(model, bits);
  const kept = Math.min(tokens, model.window || tokens) * texts;
  const weights = (model.parameters * bits) / 8;
  const multi = perToken(model, bits, model.heads);
  return { each, kept, cache: each * kept, weights, crossing: Math.ceil(weights / each), multi: multi * kept };
}

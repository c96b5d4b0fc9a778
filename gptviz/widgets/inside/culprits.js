// Three questions about one answer: which part pushed it most, which head looks at it hardest, and what if that is off.

const LOOKS = 0.25; // of a row: with less, no head can be said to look at the word

/**
 * The rivals, the parts against the chosen one, the part that pushes most, and the head that reads the answer hardest.
 * @param {any} view
 */
export async function pushed(view) {
  const args = { text: view.text, model: view.model };
  const { rivals } = await view.ask("rivals", args);
  const rival = rivals.find((/** @type {any} */ r) => r.text === view.against) || rivals[0];
  const found = await view.ask("attribution", { ...args, against: rival.text });
  const sorted = [...found.parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return { rivals, rival, found, sorted, top: sorted[0], reader: reader(found) };
}

/** The head whose last row gives the answer's own word most, where one does. @param {any} found */
function reader(found) {
  const [, heads] = found.weight.shape;
  let best = null;
  for (const part of found.parts) {
    if (part.kind !== "head" || found.reads[part.layer][part.head] !== found.target.shown) continue;
    const weight = found.weight[part.layer * heads + part.head];
    if (weight >= LOOKS && (!best || weight > best.weight)) best = { ...part, weight };
  }
  return best;
}

/** Facts for the prose. @param {any} made @param {any} off the answer's probability with the reading head on and off */
export function factsOf({ found, rival, top, reader }, off) {
  const down = reader !== null && reader.value < 0 && off.now > off.was; // by both accounts
  return {
    ...off,
    parts: found.parts.length,
    answer: found.target.shown,
    rival: rival.shown,
    head_first: top.kind === "head",
    top_layer: top.layer,
    top_head: top.head,
    top_reads: top.kind === "head" ? found.reads[top.layer][top.head] : "",
    reader_down: down,
    reader_else: reader !== null && !down,
    reader_layer: reader ? reader.layer : 0,
    reader_head: reader ? reader.head : 0,
  };
}

/** The answer's probability with the reading head on and off. @param {any} view @param {any} reader */
export async function without(view, reader) {
  if (!reader) return {};
  const heads = [[reader.layer, reader.head]];
  const { target_p: p } = await view.ask("ablate", { text: view.text, heads, model: view.model });
  return { was: p.before, now: p.after };
}

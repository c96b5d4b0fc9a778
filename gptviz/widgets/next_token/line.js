// All tokens laid end to end from 0 to 1: names where there is room, the others hatched, darts where they fell.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

export function createLine() {
  const root = el("div", { class: "gv-line", role: "img", "aria-label": text("next_token.line") });

  /** @param {any} table @param {string[]} names @param {number} tokens @param {number[]} darts places from 0 to 1 */
  function draw(table, names, tokens, darts) {
    const width = root.clientWidth || 900;
    const parts = [];
    for (let r = 0; r < tokens && r < table.kept; r++) {
      const share = table.final[r];
      if (share * width < 1.5) break;
      const label = share * width > 9 * names[r].length + 8 ? names[r] : "";
      parts.push(el("i", { style: { width: `${100 * share}%` }, title: names[r] }, label));
    }
    const rest = 1 - parts.reduce((sum, _, r) => sum + table.final[r], 0);
    if (rest > 1e-6) parts.push(el("i", { class: "gv-rest", style: { width: `${100 * rest}%` } }));
    const marks = darts.map((x) => el("u", { style: { left: `${100 * x}%` } }));
    fill(root, ...parts, ...marks);
  }
  return { root, draw };
}

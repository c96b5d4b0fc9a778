// The bars: one row a token by rank, the first row all others together. Rows are made once; only widths and words change.
import { el } from "../kit/dom.js";
import { percentList } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const ROW = 31; // px at unit 1
const LEAST = 24;

/** @param {(row: any) => void} point */
export function createBars(point) {
  const body = el("div", { class: "gv-rows", role: "list" });
  const head = el(
    "div",
    { class: "gv-rowhead" },
    el("span", null, text("next_token.head_token")),
    el("span", null, text("next_token.head_final")),
  );
  const root = el("div", { class: "gv-bars" }, head, body);
  /** @type {any[]} */
  const rows = [];
  /** @type {any} */
  let last = null;

  body.addEventListener("pointerleave", () => point(null));

  /** @param {number} count */
  function make(count) {
    while (rows.length < count) {
      const index = rows.length;
      const name = el("span", { class: "gv-name" });
      const bar = el("i");
      const own = el("u");
      const hits = el("s");
      const number = el("span", { class: "gv-n" });
      const node = el(
        "div",
        { class: `gv-row${index ? "" : " gv-others"}`, role: "listitem", onpointerenter: () => point(told(index)) },
        name,
        el("span", { class: "gv-track" }, bar, own, hits),
        number,
      );
      body.append(node);
      rows.push({ node, name, bar, own, hits, number });
    }
    while (rows.length > count) rows.pop().node.remove();
  }

  /** @param {number} index */
  function told(index) {
    const { table, names } = last;
    const tokens = rows.length - 1;
    if (index === 0) {
      const { raw, tempered, final } = table.rest;
      return { others: true, n: table.V - tokens, raw: raw(tokens), tempered: tempered(tokens), final: final(tokens) };
    }
    const r = index - 1;
    return { token: names[r], raw: table.raw[r], tempered: table.tempered[r], final: table.final[r] };
  }

  /**
   * @param {any} table @param {string[]} names @param {Map<number, number> | null} counts draws by rank
   * @param {boolean} drawing
   * @returns {number} how many tokens have a row of their own
   */
  function draw(table, names, counts, drawing) {
    last = { table, names };
    const unit = Number(getComputedStyle(root).getPropertyValue("--u")) || 1;
    const room = Math.max(root.clientHeight - 20 * unit, 6 * LEAST);
    const height = Math.max(LEAST, ROW * unit * 0.94);
    const tokens = Math.max(4, Math.min(names.length, table.V - 1, Math.floor(room / height) - 1));
    make(tokens + 1);
    body.style.setProperty("--row", `${room / (tokens + 1)}px`);
    const share = drawing ? table.final : table.final;
    const all = table.rest.final(tokens);
    const values = [all, ...Array.from({ length: tokens }, (_, r) => share[r])];
    const words = percentList(values);
    const drawn = counts ? [...counts.values()].reduce((a, b) => a + b, 0) : 0;
    rows.forEach((row, index) => {
      const p = values[index];
      const own = index ? table.raw[index - 1] : table.rest.raw(tokens);
      row.name.textContent = index ? names[index - 1] : text("next_token.others", { n: table.V - tokens });
      row.bar.style.width = `${100 * p}%`;
      row.own.style.left = `${100 * own}%`;
      row.number.textContent = words[index];
      row.node.classList.toggle("gv-cutrow", index > 0 && index - 1 >= table.kept);
      row.hits.style.left = drawn ? `${(100 * hit(counts, index, tokens)) / drawn}%` : "";
      row.hits.hidden = !drawn;
    });
    return tokens;
  }
  return { root, draw };
}

/** @param {Map<number, number> | null} counts @param {number} index @param {number} tokens */
function hit(counts, index, tokens) {
  if (!counts) return 0;
  if (index) return counts.get(index - 1) || 0;
  let sum = 0;
  for (const [rank, n] of counts) if (rank >= tokens) sum += n;
  return sum;
}

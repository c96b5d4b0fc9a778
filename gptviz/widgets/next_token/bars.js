// The bars: one row a token by rank, the first row all others together. Rows are made once; only widths and words
// change.
import { el } from "../kit/dom.js";
import { percentList } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const ROW = 29; // px at unit 1
const LEAST = 24;
const HEAD = 20;

/** @param {(row: any) => void} point */
export function createBars(point) {
  const bars = new Bars(point);
  return {
    root: bars.root,
    draw: (
      /** @type {any} */ shares,
      /** @type {string[]} */ names,
      /** @type {Map<number, number> | null} */ counts,
    ) => bars.draw(shares, names, counts),
  };
}

class Bars {
  /** @param {(row: any) => void} point */
  constructor(point) {
    this.point = point;
    this.body = el("div", { class: "gv-rows", role: "list", onpointerleave: () => point(null) });
    const [token, share] = [text("next_token.head_token"), text("next_token.head_final")];
    const head = el("div", { class: "gv-rowhead" }, el("span", null, token), el("span", null, share));
    this.root = el("div", { class: "gv-bars" }, head, this.body);
    /** @type {any[]} */
    this.rows = [];
    /** @type {any} */
    this.last = null;
  }

  /** @param {number} count */
  make(count) {
    while (this.rows.length < count) this.rows.push(this.row(this.rows.length));
    while (this.rows.length > count) this.rows.pop().node.remove();
  }

  /** @param {number} index */
  row(index) {
    const [name, number] = [el("span", { class: "gv-name" }), el("span", { class: "gv-n" })];
    const [bar, own, hits] = [el("i"), el("u"), el("s")];
    const attributes = {
      class: `gv-row${index ? "" : " gv-others"}`,
      role: "listitem",
      onpointerenter: () => this.point(this.told(index)),
    };
    const node = el("div", attributes, name, el("span", { class: "gv-track" }, bar, own, hits), number);
    this.body.append(node);
    return { node, name, bar, own, hits, number };
  }

  /** A row in numbers, for the sentence that reads it. @param {number} index */
  told(index) {
    const { shares, names } = this.last;
    const tokens = this.rows.length - 1;
    if (index === 0) {
      const { raw, tempered, final } = shares.rest;
      return { others: true, n: shares.V - tokens, raw: raw(tokens), tempered: tempered(tokens), final: final(tokens) };
    }
    const r = index - 1;
    return { token: names[r], raw: shares.raw[r], tempered: shares.tempered[r], final: shares.final[r] };
  }

  /**
   * @param {any} shares @param {string[]} names @param {Map<number, number> | null} counts draws by rank
   * @returns {number} how many tokens have a row of their own
   */
  draw(shares, names, counts) {
    this.last = { shares, names };
    const unit = Number(getComputedStyle(this.root).getPropertyValue("--u")) || 1;
    const room = Math.max(this.root.clientHeight - HEAD * unit, 6 * LEAST);
    const fitting = Math.floor(room / Math.max(LEAST, ROW * unit)) - 1;
    const tokens = Math.max(4, Math.min(names.length, shares.V - 1, fitting));
    this.make(tokens + 1);
    this.body.style.setProperty("--row", `${room / (tokens + 1)}px`);
    const values = [shares.rest.final(tokens), ...shares.final.slice(0, tokens)];
    const words = percentList(values);
    this.rows.forEach((row, index) => {
      row.name.textContent = index ? names[index - 1] : text("next_token.others", { n: shares.V - tokens });
      row.bar.style.width = `${100 * values[index]}%`;
      row.own.style.left = `${100 * (index ? shares.raw[index - 1] : shares.rest.raw(tokens))}%`;
      row.number.textContent = words[index];
      row.node.classList.toggle("gv-cutrow", index > 0 && index - 1 >= shares.kept);
      const share = counts ? hit(counts, index, tokens) : null;
      row.hits.hidden = share === null;
      if (share !== null) row.hits.style.left = `${100 * share}%`;
    });
    return tokens;
  }
}

/**
 * The share of all draws that fell on a row.
 * @param {Map<number, number>} counts
 * @param {number} index
 * @param {number} tokens
 */
function hit(counts, index, tokens) {
  let all = 0;
  let own = 0;
  for (const [rank, n] of counts) {
    all += n;
    if (index ? rank === index - 1 : rank >= tokens) own += n;
  }
  return own / all;
}

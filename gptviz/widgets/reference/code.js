// The same decoder written twice, side by side, and how far both are from the library's model on the same weights.
import { el, fill, segment } from "../kit/dom.js";
import { decimal } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const WORDS =
  /(#.*$|"""[\s\S]*?"""|"[^"]*"|\b(?:class|def|return|self|super|for|in|if|else|not|import|raise|None|True|False)\b)/gm;
const KINDS = ["short", "long"];

export class Code {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.blocks = KINDS.map(() => el("pre", { class: "gv-rf-code", tabindex: "0" }));
    // words: reference.code_short reference.code_long
    const columns = KINDS.map((kind, i) => {
      this.blocks[i].setAttribute("aria-label", text(`reference.code_${kind}`));
      return el(
        "section",
        { class: `gv-rf-col gv-rf-col-${kind}` },
        el("h2", null, text(`reference.code_${kind}`)),
        this.blocks[i],
      );
    });
    const names = /** @type {[string, string][]} */ (KINDS.map((kind) => [kind, text(`reference.code_${kind}`)]));
    this.which = segment(text("reference.code_which"), names, (kind) => this.pick(kind));
    this.root = el(
      "div",
      { class: "gv-rf-section gv-rf-codes" },
      el("div", { class: "gv-bar gv-rf-onphone" }, this.which.box),
      el("div", { class: "gv-rf-cols" }, ...columns),
    );
    this.pick("short");
  }

  /** On a phone one at a time. @param {string} kind */
  pick(kind) {
    this.root.dataset.kind = kind;
    this.which.set(kind);
  }

  async show(/** @type {any} */ view) {
    const code = await view.ask("ref_code", {});
    if (!view.current()) return;
    KINDS.forEach((kind, i) => fill(this.blocks[i], ...lines(coloured(code[kind]))));
    if (!this.equal) this.app.parts.stage.say("reference.say_code", {});
    const found = await view.ask("ref_equal", { text: view.text, model: view.model });
    if (!view.current()) return;
    this.equal = found;
    const facts = {
      ...found,
      same: found.same_choices,
      apart: bound(Math.max(found.short_library, found.long_library)),
    };
    this.app.facts(facts);
    // words: reference.say_equal reference.say_unequal
    this.app.parts.stage.say(found.same_choices ? "reference.say_equal" : "reference.say_unequal", facts);
  }

  table() {
    const e = this.equal;
    if (!e) return null;
    // words: reference.table_*
    const rows = ["short_library", "long_library", "short_long"].map((k) => [
      text(`reference.table_${k}`),
      decimal(e[k], 8),
    ]);
    return { head: [text("reference.table_pair"), text("reference.table_delta")], rows };
  }
}

/** The power of ten that a small difference stays below, in full: 0.0001. @param {number} x */
function bound(x) {
  const digits = x > 0 ? Math.max(0, -Math.ceil(Math.log10(x))) : 0;
  return x > 0 ? decimal(10 ** -digits, digits) : "0";
}

/** Comments, strings and keywords with their kind. @param {string} code @returns {[string, string][]} */
function coloured(code) {
  /** @type {[string, string][]} */
  const out = [];
  let at = 0;
  for (const match of code.matchAll(WORDS)) {
    const quiet = match[0][0] === "#" || match[0].startsWith('"');
    out.push([code.slice(at, match.index), ""], [match[0], quiet ? "gv-rf-c" : "gv-rf-kw"]);
    at = match.index + match[0].length;
  }
  return [...out, [code.slice(at), ""]];
}

/**
 * One element a line; what does not fit goes on below, further in than its line began.
 * @param {[string, string][]} parts
 */
function lines(parts) {
  /** @type {any[][]} */
  const rows = [[]];
  for (const [words, kind] of parts) {
    words.split("\n").forEach((piece, i) => {
      if (i) rows.push([]);
      if (piece) rows[rows.length - 1].push(kind ? el("span", { class: kind }, piece) : piece);
    });
  }
  return rows.map((row) => {
    const words = row.map((part) => part.textContent ?? part).join("");
    const indent = `${words.length - words.trimStart().length + 2}ch`;
    return el(
      "div",
      { style: { "padding-left": indent, "text-indent": `-${indent}` } },
      ...row,
      row.length ? null : "\n",
    );
  });
}

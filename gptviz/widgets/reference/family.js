// The family side by side: a column a model; what changed from its elder is marked.
import { el, fill } from "../kit/dom.js";
import { bytes, percent, whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const ROWS = [
  "year",
  "sizes",
  "vocabulary",
  "context",
  "order",
  "norm",
  "positions",
  "ffn",
  "kv_heads",
  "biases",
  "tied",
  "total",
  "saves",
  "cache",
];

export class Family {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.box = el("div", {
      class: "gv-scroll",
      tabindex: "0",
      role: "group",
      "aria-label": text("reference.family_label"),
    });
    this.root = el(
      "div",
      { class: "gv-rf-section" },
      this.box,
      el("p", { class: "gv-rf-small" }, ...phrase("reference.family_note")),
    );
  }

  async show(/** @type {any} */ view) {
    this.models = await view.ask("ref_family", {});
    if (!view.current()) return;
    const { head, rows } = this.table();
    const body = rows.map((row, i) => el("tr", null, ...row.map((cell, k) => this.cell(ROWS[i], cell, k))));
    fill(
      this.box,
      el(
        "table",
        { class: "gv-rf-family" },
        el("thead", null, el("tr", null, ...head.map((h, k) => (k ? el("th", { scope: "col" }, h) : el("td"))))),
        el("tbody", null, ...body),
      ),
    );
    const [first, last] = [this.models[0], this.models[this.models.length - 1]];
    this.app.parts.stage.say("reference.say_family", { first: String(first.year), last: String(last.year) });
  }

  /** @param {string} row @param {string} cell @param {number} k */
  cell(row, cell, k) {
    if (!k) return el("th", { scope: "row" }, cell);
    const changed = this.models[k - 1].changed.includes(row);
    return el("td", changed ? { class: "gv-rf-changed" } : null, cell);
  }

  table() {
    // words: reference.row_* reference.name_*
    const head = [
      text("reference.table_what"),
      ...this.models.map((/** @type {any} */ m) => text(`reference.name_${m.name.toLowerCase().replace(/\W/g, "_")}`)),
    ];
    return {
      head,
      rows: ROWS.map((row) => [
        text(`reference.row_${row}`),
        ...this.models.map((/** @type {any} */ m) => said(row, m)),
      ]),
    };
  }
}

/** @param {string} row @param {any} m */
function said(row, m) {
  if (row === "year") return String(m.year);
  if (row === "sizes") return text("reference.sizes", { layers: m.L, heads: m.h, width: m.d });
  if (row === "saves") return percent(m.saves);
  if (row === "cache") return bytes(m.cache);
  if (typeof m[row] === "number") return whole(m[row]);
  // words: reference.order_* reference.norm_* reference.positions_* reference.ffn_* reference.biases_* reference.tied_*
  return text(`reference.${row}_${m[row]}`);
}

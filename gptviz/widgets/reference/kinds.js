// Encoder, decoder, and both together: who reads whom, drawn, and when which is worth it.
import { el, svg } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

const KINDS = ["decoder", "encoder", "both"];
const ROWS = ["reads", "signal", "use", "adapted", "worth"];
const SOURCE = 3; // tokens of the input in the drawing
const TARGET = 4;
const CELL = 22;

export class Kinds {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    // words: reference.kind_* reference.kindrow_* reference.decoder_* reference.encoder_* reference.both_*
    const head = el(
      "tr",
      null,
      el("td"),
      ...KINDS.map((kind) => el("th", { scope: "col" }, text(`reference.kind_${kind}`))),
    );
    const pictures = el(
      "tr",
      null,
      el("th", { scope: "row" }, text("reference.kindrow_picture")),
      ...KINDS.map((kind) => el("td", null, picture(kind))),
    );
    const rows = ROWS.map((row) =>
      el(
        "tr",
        null,
        el("th", { scope: "row" }, text(`reference.kindrow_${row}`)),
        ...KINDS.map((kind) => el("td", null, ...phrase(`reference.${kind}_${row}`))),
      ),
    );
    this.root = el(
      "div",
      { class: "gv-rf-section gv-scroll", tabindex: "0", role: "group", "aria-label": text("reference.kinds_label") },
      el("table", { class: "gv-rf-plain gv-rf-kinds" }, el("thead", null, head), el("tbody", null, pictures, ...rows)),
    );
  }

  async show() {
    this.app.parts.stage.say("reference.say_kinds", {});
  }

  table() {
    const head = [text("reference.table_what"), ...KINDS.map((kind) => text(`reference.kind_${kind}`))];
    return {
      head,
      rows: ROWS.map((row) => [
        text(`reference.kindrow_${row}`),
        ...KINDS.map((kind) => text(`reference.${kind}_${row}`)),
      ]),
    };
  }
}

/** A small matrix: rows read columns. @param {string} kind */
function picture(kind) {
  const T = kind === "both" ? SOURCE + TARGET : TARGET;
  const cells = [];
  for (let t = 0; t < T; t++) {
    for (let s = 0; s < T; s++) {
      const reads = may(kind, t, s);
      cells.push(
        svg("rect", {
          x: s * CELL + 1,
          y: t * CELL + 1,
          width: CELL - 2,
          height: CELL - 2,
          rx: 3,
          class: reads ? `gv-rf-may gv-rf-may-${reads}` : "gv-rf-maynot",
        }),
      );
    }
  }
  return svg(
    "svg",
    { width: T * CELL, height: T * CELL, role: "img", "aria-label": text(`reference.${kind}_reads`) },
    ...cells,
  );
}

/** @param {string} kind @param {number} t @param {number} s */
function may(kind, t, s) {
  if (kind === "encoder") return "own";
  if (kind === "decoder") return s <= t ? "own" : "";
  if (t < SOURCE) return s < SOURCE ? "own" : "";
  return s < SOURCE ? "cross" : s <= t ? "own" : "";
}

// The same text for a decoder and for a masked encoder: what each is asked in one pass, and when all was asked.
import { el, fill, svg } from "../kit/dom.js";
import { text } from "../kit/words.js";

const SHOWN = 36; // tokens that are drawn; the counts are of all
const ROWS = ["reads", "asked", "best", "adapted"];

export function createEncoder() {
  const halves = ["decoder", "encoder"].map(createHalf);
  const passes = el("div", { class: "gv-enpasses", role: "img" });
  const caption = el("p", { class: "gv-encaption" });
  const root = el(
    "div",
    { class: "gv-encoder" },
    el("div", { class: "gv-enhalves" }, ...halves.map((h) => h.root)),
    caption,
    passes,
  );

  /** @param {any} found */
  function draw(found) {
    const [decoder, encoder] = halves;
    decoder.count.textContent = text("training.enc_questions", { n: found.decoder_targets });
    encoder.count.textContent = text("training.enc_questions", { n: found.masked.length });
    decoder.pairs.textContent = text("training.enc_pairs", { n: found.decoder_pairs });
    encoder.pairs.textContent = text("training.enc_pairs", { n: found.encoder_pairs });
    const some = found.shown.slice(0, SHOWN);
    const rest = found.shown.length > SHOWN ? [" …"] : [];
    fill(
      decoder.chips,
      ...some.map((/** @type {string} */ token, /** @type {number} */ i) =>
        chip(token, i ? "gv-chip-tail" : "gv-chip-kept"),
      ),
      ...rest,
    );
    fill(
      encoder.chips,
      ...some.map((/** @type {string} */ token, /** @type {number} */ i) => selected(found, token, i)),
      ...rest,
    );
    const tokens = found.shown.length;
    caption.textContent = text("training.enc_caption", { n: found.passes, tokens });
    fill(passes, ...bars(found, tokens));
    passes.setAttribute("aria-label", caption.textContent || "");
  }
  return { root, draw };
}

/** One of the two, with what it reads and is asked. @param {string} kind */
function createHalf(kind) {
  const count = el("b", { class: "gv-encount" });
  const pairs = el("small", null);
  const chips = el("p", { class: "gv-enchips" });
  const facts = ROWS.map((row) => fact(kind, row));
  const title = el("h2", null, text(`training.${kind}_title`)); // words: training.decoder_* training.encoder_*
  const head = el("div", { class: "gv-enhead" }, square(kind), el("div", null, title, count, pairs));
  const root = el("section", { class: `gv-enhalf gv-en-${kind}` }, head, chips, ...facts);
  return { root, count, pairs, chips };
}

/** The decoder's one pass, and after a gap every pass of the encoder. @param {any} found @param {number} tokens */
function bars(found, tokens) {
  const bar = (/** @type {number} */ n) => el("i", { style: { height: `${(100 * n) / tokens}%` } });
  const pass = (/** @type {number} */ n, /** @type {number} */ i) =>
    el("span", { title: text("training.enc_pass", { n, pass: i + 1, tokens }) }, bar(n));
  const once = { class: "gv-enwhole", title: text("training.enc_once", { n: found.decoder_targets }) };
  return [el("span", once, bar(found.decoder_targets)), el("span", { class: "gv-engap" }), ...found.asked.map(pass)];
}

/** @param {string} kind @param {string} row */
function fact(kind, row) {
  const [name, said] = [text(`training.enc_${row}`), text(`training.${kind}_${row}`)]; // words: training.enc_*
  return el("div", { class: "gv-enrow" }, el("span", null, name), el("span", null, said));
}

/** @param {any} found @param {string} token @param {number} i */
function selected(found, token, i) {
  const at = found.masked.indexOf(i);
  if (at < 0) return chip(token, "gv-chip-kept");
  const fate = found.fate[at];
  const words =
    fate === "hidden" ? text("training.enc_mask") : fate === "swapped" ? text("training.enc_swapped") : token;
  return el(
    "span",
    { class: "gv-trchip gv-chip-replaced", title: text(`training.enc_${fate}_why`, { token }) },
    words,
    el("b", null, ` → ${token}`),
  ); // words: training.enc_hidden_why training.enc_swapped_why training.enc_kept_why
}

/** @param {string} token @param {string} kind */
const chip = (token, kind) => el("span", { class: `gv-trchip ${kind}` }, token);

/** Which pairs may read each other: a triangle or the whole square. @param {string} kind */
const square = (kind) =>
  svg("svg", { class: "gv-ensquare", viewBox: "0 0 40 40" }, svg("rect", { width: 40, height: 40, class: "gv-envoid" }),
    svg("path", { d: kind === "decoder" ? "M0 0L40 40H0z" : "M0 0H40V40H0z", class: "gv-enmay" })); // prettier-ignore

// What both twins write: a few sentences each, wrong words underlined, and the share of sentences that is right.
import { el, fill } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

export function createWriters() {
  const box = el("div", { class: "gv-writers" });
  const cards = ["causal", "twin"].map(createCard);
  box.append(...cards.map((card) => card.root));

  /** @param {any} now @param {{ honest: string, other: string }} names @param {string} data */
  function draw(now, names, data) {
    write(cards[0], names.honest, now.causal.wrote, data);
    write(cards[1], names.other, now.twin.wrote, data);
  }
  return { root: box, draw };
}

/** @param {string} kind */
function createCard(kind) {
  const [name, share, note] = [el("h2"), el("b"), el("small")];
  const lines = el("div", { class: "gv-twlines" });
  const head = el("div", { class: "gv-twhead" }, name, share);
  const root = el("section", { class: `gv-writer gv-is-${kind}` }, head, note, lines);
  return { root, name, share, note, lines };
}

/** @param {ReturnType<typeof createCard>} card @param {string} name @param {any} wrote @param {string} data */
function write(card, name, wrote, data) {
  card.name.textContent = text("twins.writes", { name });
  card.root.setAttribute("aria-label", text("twins.writes", { name }));
  card.share.textContent = wrote && wrote.valid !== null ? right(wrote.valid) : "";
  card.note.textContent = wrote ? note(wrote, data) : text("twins.not_yet");
  const line = (/** @type {string} */ said, /** @type {number} */ k) => sentence(said, wrote.right && wrote.right[k]);
  fill(card.lines, ...(wrote ? wrote.lines.map(line) : []));
}

/** @param {number} share of the sentences */
const right = (share) => (share ? text("twins.right", { share: percent(share) }) : text("twins.none_right"));

/** @param {any} wrote @param {string} data */
function note(wrote, data) {
  const when = wrote.step ? text("twins.after", { n: wrote.step }) : text("twins.before_any");
  return data === "random" ? when : text("twins.of", { n: wrote.written, when });
}

/** @param {string} line @param {boolean[] | null} right */
function sentence(line, right) {
  const words = line.split(" ");
  const parts = words.flatMap((word, i) => {
    const shown = right && !right[i] ? el("i", { title: text("twins.wrong_word") }, word) : word;
    return i ? [" ", shown] : [shown];
  });
  const whole = right && right.every(Boolean);
  return el("p", { class: whole ? "gv-twright" : null }, ...parts);
}

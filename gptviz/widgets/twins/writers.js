// What both twins write: a few sentences each, wrong words underlined, and the share of sentences that is right.
import { el, fill } from "../kit/dom.js";
import { percent } from "../kit/numbers.js";
import { text } from "../kit/words.js";

export function createWriters() {
  const box = el("div", { class: "gv-writers" });
  const cards = ["causal", "twin"].map((kind) => {
    const name = el("h2");
    const share = el("b");
    const note = el("small");
    const lines = el("div", { class: "gv-twlines" });
    const root = el(
      "section",
      { class: `gv-writer gv-is-${kind}` },
      el("div", { class: "gv-twhead" }, name, share),
      note,
      lines,
    );
    box.append(root);
    return { root, name, share, note, lines };
  });

  /** @param {any} now @param {{ honest: string, other: string }} names @param {string} data */
  function draw(now, names, data) {
    [now.causal, now.twin].forEach((twin, i) => {
      const card = cards[i];
      const name = i ? names.other : names.honest;
      card.name.textContent = text("twins.writes", { name });
      card.root.setAttribute("aria-label", text("twins.writes", { name }));
      const wrote = twin.wrote;
      const known = wrote && wrote.valid !== null;
      card.share.textContent = !known
        ? ""
        : wrote.valid
          ? text("twins.right", { share: percent(wrote.valid) })
          : text("twins.none_right");
      card.note.textContent = wrote ? note(wrote, data) : text("twins.not_yet");
      fill(
        card.lines,
        ...(wrote
          ? wrote.lines.map((/** @type {string} */ line, /** @type {number} */ k) =>
              sentence(line, wrote.right && wrote.right[k]),
            )
          : []),
      );
    });
  }
  return { root: box, draw };
}

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

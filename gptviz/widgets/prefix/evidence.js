// The check as a file: what it holds, and the command that runs it again anywhere.
import { el, fill, save } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

// not words: a command and the file it reads
const COMMAND = "python -m gptviz.lab.masking.evidence evidence.json";

export class Evidence {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    /** @type {any} */
    this.files = null;
    this.code = el("pre", { class: "gv-file", tabindex: "0", "aria-label": text("prefix.file") });
    this.what = el("p", { class: "gv-soft" });
    const title = (/** @type {string} */ words) => el("h2", null, words);
    const take = [title(text("prefix.take")), this.button("own"), this.button("faulty"), this.what];
    const again = [title(text("prefix.again")), el("code", { class: "gv-command", tabindex: "0" }, COMMAND)];
    const note = el("p", { class: "gv-soft" }, text("prefix.again_note"));
    this.root = el(
      "div",
      { class: "gv-evidence" },
      this.code,
      el("div", { class: "gv-side2" }, ...take, ...again, note),
    );
  }

  /** @param {"own" | "faulty"} name */
  button(name) {
    const give = () => {
      if (this.files) save("evidence.json", new Blob([written(this.files[name])], { type: "application/json" }));
    };
    // words: prefix.take_own prefix.take_faulty
    return el("button", { type: "button", class: "gv-btn", onclick: give }, text(`prefix.take_${name}`));
  }

  /** @param {any} view @param {any} asked @param {any} checks */
  async draw(view, asked, checks) {
    const closed = { ...asked, open_layers: [], direction: "causal" };
    const [own, faulty] = await Promise.all([view.ask("evidence", closed), view.ask("evidence", asked)]);
    if (!view.current()) return;
    this.files = { own, faulty };
    this.code.textContent = written(own);
    fill(this.what, ...phrase("prefix.file_says", { model: own.model.name }));
    this.app.parts.stage.say("prefix.evidence_says", { keep: checks.keep, n: checks.tokens.length });
  }
}

/** JSON with each list on one line, so that people can read it. @param {any} file */
function written(file) {
  const oneLine = (/** @type {string} */ _, /** @type {string} */ inside) => `[${inside.replace(/\n\s+/g, " ")}]`;
  return `${JSON.stringify(file, null, 1).replace(/\[\s+([^[\]{}]*?)\s+\]/g, oneLine)}\n`;
}

// The check as a file: what it holds, and the command that runs it again anywhere.
import { el, fill, save } from "../kit/dom.js";
import { phrase, text } from "../kit/words.js";

const COMMAND = "python -m gptviz.lab.masking.prefix evidence.json";

/** @param {any} app */
export function createEvidence(app) {
  const which = { own: button("own"), faulty: button("faulty") };
  const code = el("pre", { class: "gv-file", tabindex: "0", "aria-label": text("prefix.file") });
  const command = el("code", { class: "gv-command", tabindex: "0" }, COMMAND);
  const verdict = el("p", { class: "gv-soft" });
  const root = el("div", { class: "gv-evidence" }, code, el("div", { class: "gv-side2" }, el("h2", null, text("prefix.take")), which.own, which.faulty, verdict, el("h2", null, text("prefix.again")), command, el("p", { class: "gv-soft" }, text("prefix.again_note"))));
  /** @type {any} */
  let files = null;

  /** @param {"own" | "faulty"} name */
  function button(name) {
    // words: prefix.take_own prefix.take_faulty
    return el("button", { type: "button", class: "gv-btn", onclick: () => files && save("evidence.json", new Blob([written(files[name])], { type: "application/json" })) }, text(`prefix.take_${name}`));
  }

  /** @param {any} view @param {any} asked @param {any} checks */
  async function draw(view, asked, checks) {
    const closed = { ...asked, open_layers: [], direction: "causal" };
    const [own, faulty] = await Promise.all([view.ask("evidence", closed), view.ask("evidence", asked)]);
    if (!view.current()) return;
    files = { own, faulty };
    code.textContent = written(own);
    fill(verdict, ...phrase("prefix.file_says", { keep: checks.keep, dtype: own.dtype, model: own.model.name }));
    app.parts.stage.say("prefix.evidence_says", { keep: checks.keep, n: checks.tokens.length });
  }
  return { root, draw };
}

/** JSON with each list on one line, so that people can read it. @param {any} file */
const written = (file) => `${JSON.stringify(file, null, 1).replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_, inside) => `[${inside.replace(/\n\s+/g, " ")}]`)}\n`;

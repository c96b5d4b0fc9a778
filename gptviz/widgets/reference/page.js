// The reference: sections to look things up in; the steps beside it are its table of contents.
import { Api } from "./api.js";
import { Code } from "./code.js";
import { Count } from "./count.js";
import { Family } from "./family.js";
import { Kinds } from "./kinds.js";
import { Quiz } from "./quiz.js";
import { Scale } from "./scale.js";
import { Server } from "./server.js";
import { UsualSettings } from "./settings.js";
import { Terms } from "./terms.js";
import { el, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

const MAKE = {
  code: Code,
  family: Family,
  scale: Scale,
  count: Count,
  server: Server,
  settings: UsualSettings,
  kinds: Kinds,
  terms: Terms,
  quiz: Quiz,
  api: Api,
};

/** Sections that stand on one step. */
const PAIRS = [
  ["code", "api"],
  ["family", "kinds"],
  ["count", "server"],
];

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  /** @type {Record<string, any>} */
  const sections = {};
  /** @type {any} */
  let section = null;
  const pick = (/** @type {string} */ show) => app.set({ show });
  const named = (/** @type {string} */ name) =>
    /** @type {[string, string]} */ ([name, text(`reference.open_${name}`)]);
  // words: reference.open_code reference.open_api reference.open_family reference.open_kinds
  // words: reference.open_count reference.open_server
  const choices = PAIRS.map((names) => ({ names, ...segment(text("reference.open"), names.map(named), pick) }));
  const bar = el("div", { class: "gv-bar" }, ...choices.map(({ box }) => box));
  const body = el("div", { class: "gv-rf-body" });
  root.append(bar, body);

  /** @param {string} name */
  function open(name) {
    sections[name] ??= new MAKE[/** @type {"code"} */ (name)](app);
    bar.hidden = !PAIRS.flat().includes(name);
    for (const { names, box, set } of choices) {
      box.hidden = !names.includes(name);
      set(name);
    }
    if (section !== sections[name]) body.replaceChildren(sections[name].root);
    if (section && section !== sections[name] && section.leave) section.leave();
    return (section = sections[name]);
  }

  return {
    show: (/** @type {any} */ view) => open(view.show).show(view),
    resize: () => section && section.resize && section.resize(),
    table: () => (section && section.table ? section.table() : null),
  };
}

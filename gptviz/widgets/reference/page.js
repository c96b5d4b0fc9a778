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

/**
 * @param {HTMLElement} root
 * @param {any} app
 */
export function mount(root, app) {
  /** @type {Record<string, any>} */
  const sections = {};
  /** @type {any} */
  let section = null;

  /** @param {string} name */
  function open(name) {
    sections[name] ??= new MAKE[/** @type {"code"} */ (name)](app);
    if (section !== sections[name]) root.replaceChildren(sections[name].root);
    if (section && section !== sections[name] && section.leave) section.leave();
    return (section = sections[name]);
  }

  return {
    show: (/** @type {any} */ view) => open(view.show).show(view),
    resize: () => section && section.resize && section.resize(),
    table: () => (section && section.table ? section.table() : null),
  };
}

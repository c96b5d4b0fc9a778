// A running server's memory: the allocator's own figures where there is a card, and what to look for from outside.
import { el, fill } from "../kit/dom.js";
import { bytes, whole } from "../kit/numbers.js";
import { phrase, text } from "../kit/words.js";

const EVERY = 2000; // ms between two looks at a card
const FIGURES = ["allocated", "peak", "reserved", "free", "total"];
const SIGNS = ["load", "grow", "prompt", "write", "late"];

export class Server {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.figures = el("div", { class: "gv-rf-figures" });
    // words: reference.sign_*
    const signs = SIGNS.map((sign) => el("li", null, ...phrase(`reference.sign_${sign}`)));
    const command = el(
      "pre",
      { class: "gv-rf-code", tabindex: "0", "aria-label": text("reference.command") },
      text("reference.nvidia_smi"),
    );
    this.root = el(
      "div",
      { class: "gv-rf-section gv-rf-server" },
      el("section", null, el("h2", null, text("reference.figures_title")), this.figures),
      el("section", null, el("h2", null, text("reference.signs_title")), command, el("ul", null, ...signs)),
    );
    this.timer = 0;
  }

  async show(/** @type {any} */ view) {
    this.view = view;
    const found = await view.ask("ref_card", { model: view.model });
    if (!view.current()) return;
    this.draw(found);
  }

  /** @param {any} found */
  draw(found) {
    this.found = found;
    const { figures, parameters, element, per_token } = found;
    // words: reference.figure_*
    const live = figures
      ? FIGURES.map((key) => line(text(`reference.figure_${key}`), bytes(figures[key]), figures[key] / figures.total))
      : [];
    const weights = parameters * element;
    const counted = [
      line(
        text("reference.figure_weights", { n: parameters, element }),
        bytes(weights),
        figures ? weights / figures.total : 0,
      ),
      line(text("reference.figure_token"), bytes(per_token), 0),
    ];
    const device = found.device === "cpu" ? text("reference.the_cpu") : found.device;
    const note = figures ? phrase("reference.card_live", { device }) : phrase("reference.card_none", { device });
    fill(
      this.figures,
      ...live,
      el("h3", null, text("reference.counted_title", { model: found.model })),
      ...counted,
      el("p", { class: "gv-rf-small" }, ...note),
    );
    this.app.facts({ card: Boolean(figures), device: found.device });
    // words: reference.say_card reference.say_no_card
    this.app.parts.stage.say(figures ? "reference.say_card" : "reference.say_no_card", {
      ...found,
      ...figures,
      weights,
    });
    clearTimeout(this.timer);
    if (figures) this.timer = window.setTimeout(() => this.again(), EVERY);
  }

  /** The next look, unless the reader has gone elsewhere. */
  async again() {
    const { view } = this;
    if (!this.root.isConnected || !view.current()) return;
    const found = await this.app.parts.ask("ref_card", { model: view.model }, { fresh: true }).catch(() => null);
    if (found && view.current() && this.root.isConnected) this.draw(found);
  }

  leave() {
    clearTimeout(this.timer);
  }

  table() {
    if (!this.found) return null;
    const rows = this.found.figures
      ? FIGURES.map((key) => [text(`reference.figure_${key}`), whole(this.found.figures[key])])
      : [];
    return {
      head: [text("reference.table_figure"), text("reference.table_bytes")],
      rows: [...rows, [text("reference.figure_token"), whole(this.found.per_token)]],
    };
  }
}

/** @param {string} name @param {string} value @param {number} share */
const line = (name, value, share) =>
  el(
    "div",
    { class: "gv-rf-figure" },
    el("span", null, name),
    el("b", null, value),
    share ? el("span", { class: "gv-rf-rail" }, el("i", { style: { width: `${100 * share}%` } })) : null,
  );

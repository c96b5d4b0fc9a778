// Everything a program may ask this app, with parameters and defaults.
import { el, fill } from "../kit/dom.js";
import { text } from "../kit/words.js";

export class Api {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.code = el("pre", { class: "gv-rf-code", tabindex: "0", "aria-label": text("reference.sample") });
    this.list = el("div", {
      class: "gv-scroll",
      tabindex: "0",
      role: "group",
      "aria-label": text("reference.api_label"),
    });
    this.root = el("div", { class: "gv-rf-section gv-rf-fillcol" }, this.code, this.list);
  }

  async show(/** @type {any} */ view) {
    const found = await view.ask("ref_api", {});
    if (!view.current()) return;
    this.found = found;
    const address = location.origin + location.pathname.replace(/\/$/, "");
    this.code.textContent = text("reference.sample_code", { address });
    fill(this.list, el("table", { class: "gv-rf-plain gv-rf-api" }, el("tbody", null, ...found.map(row))));
    this.app.parts.stage.say("reference.say_api", { n: found.length });
  }

  table() {
    if (!this.found) return null;
    const head = [text("reference.table_endpoint"), text("reference.table_parameters"), text("reference.table_says")];
    return {
      head,
      rows: this.found.map((/** @type {any} */ q) => [`/${q.name}`, q.parameters.map(said).join(", "), q.says]),
    };
  }
}

/** @param {any} q */
const row = (q) =>
  el(
    "tr",
    null,
    el(
      "th",
      { scope: "row" },
      el("code", null, `/${q.name}`),
      q.streams ? el("small", null, text("reference.streams")) : null,
    ),
    el("td", null, q.says, el("code", { class: "gv-rf-params" }, q.parameters.map(said).join(", "))),
  );

/** @param {[string, any]} parameter */
const said = ([name, value]) => (value === null ? name : `${name}=${JSON.stringify(value)}`);

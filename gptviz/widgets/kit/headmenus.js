// The menus of the frame's first row: the model that runs, prompts worth a look, the link, and how the page looks.
import { el, fill } from "./dom.js";
import { savePicture } from "./file.js";
import { close, popover } from "./menus.js";
import { whole } from "./numbers.js";
import { text } from "./words.js";

/** @param {any} app */
export function createModel(app) {
  const name = el("b");
  const button = el("button", { type: "button", class: "gv-menubtn gv-model" }, name, el("i", { class: "gv-tri" }));
  const panel = el("div", { class: "gv-pop" });
  const has = popover(button, panel, () => fill(panel, ...facts(app), ...choices(app)));
  function draw() {
    const status = app.status;
    const shown = app.model();
    name.textContent = shown ? shown.name : "…";
    button.classList.toggle("gv-loading", Boolean(status && status.loading));
    button.title = status && status.loading ? status.sentence : "";
    const part = status && status.loading && status.fraction !== null ? status.fraction : 0;
    button.style.setProperty("--part", String(part));
    if (!panel.hidden) fill(panel, ...facts(app), ...choices(app));
  }
  return { has, draw };
}

/** @param {any} app */
function facts(app) {
  const model = app.model();
  if (!model) return [];
  const shared = model.kv_heads < model.heads;
  const rows = [
    ["parameters", whole(model.parameters)],
    ["layers", `${whole(model.layers)} × ${whole(model.heads)}`],
    ...(shared ? [["kv_heads", whole(model.kv_heads)]] : []),
    ["width", whole(model.width)],
    ["vocabulary", whole(model.vocabulary)],
    ["context", whole(model.context)],
    ["where", `${model.device}, ${model.dtype}, ${model.source}`],
  ];
  // words: frame.fact_*
  const list = rows.flatMap(([key, value]) => [el("dt", null, text(`frame.fact_${key}`)), el("dd", null, value)]);
  return [el("h2", null, text("frame.running")), el("dl", null, ...list)];
}

/** @param {any} app */
function choices(app) {
  const status = app.status;
  const models = status ? status.models : [];
  const items = models.map((/** @type {any} */ model) =>
    el(
      "button",
      {
        type: "button",
        class: "gv-item",
        "aria-pressed": String(app.model().name === model.name),
        onclick: () => {
          close();
          app.choose(model.name);
        },
      },
      el("b", null, model.name),
      el("small", null, text("frame.parameters", { n: model.parameters })),
    ),
  );
  const loading = status && status.loading ? [el("p", { role: "status" }, status.sentence)] : [];
  const notes = (status ? status.notes : []).map((/** @type {string} */ note) => el("p", null, note));
  return [el("h2", null, text("frame.choose")), ...items, ...loading, ...notes];
}

/** @param {any} app */
export function createExamples(app) {
  const words = text("frame.examples");
  const button = el("button", { type: "button", class: "gv-menubtn gv-wide" }, words, el("i", { class: "gv-tri" }));
  const title = el("h2", null, text("frame.worth_a_look"));
  return popover(button, el("div", { class: "gv-pop" }, title, ...exampleItems(app, true)));
}

/** @param {any} app @param {boolean} why say why each is worth a look */
function exampleItems(app, why) {
  return app.manifest.examples.map((/** @type {any} */ example) => {
    const run = () => {
      close();
      app.run(example.text);
    };
    const reason = why ? el("small", null, example.why) : null;
    return el("button", { type: "button", class: "gv-item", onclick: run }, el("b", null, example.name), reason);
  });
}

/** @param {any} app */
export function createShare(app) {
  const attributes = { type: "button", class: "gv-menubtn gv-wide", onclick: () => app.copyLink() };
  return el("button", attributes, text("frame.copy_link"));
}

/** @param {any} app */
export function createMenu(app) {
  const dots = el("i", { class: "gv-dots" });
  const button = el("button", { type: "button", class: "gv-menubtn", "aria-label": text("frame.menu") }, dots);
  const panel = el("div", { class: "gv-pop gv-menu" });
  return popover(button, panel, () => {
    const { view } = app;
    const on = { table: view.table === "1", guesses: view.guesses !== "0" };
    fill(
      panel,
      item(text("frame.present"), () => app.look("present", view.present ? "" : "1"), { hint: "P" }),
      item(text("frame.table_view"), () => app.look("table", on.table ? "" : "1"), { pressed: on.table }),
      item(text("frame.guesses"), () => app.look("guesses", on.guesses ? "0" : ""), { pressed: on.guesses }),
      item(text("frame.theme"), () => app.theme()),
      item(text("frame.save_picture"), () => savePicture(app)),
      item(text("frame.copy_link"), () => app.copyLink(), { kind: "gv-narrow" }),
      el("div", { class: "gv-narrow" }, el("h2", null, text("frame.examples")), ...exampleItems(app, false)),
      ...courseItems(app),
      item(text("frame.api"), () => app.api()),
    );
  });
}

/** @param {any} app */
function courseItems(app) {
  if (!app.manifest.courses.length) return [];
  const items = app.manifest.courses.map((/** @type {any} */ course) =>
    item(course.title, () => (app.view.course === course.name ? app.look("course", "") : app.take(course.name)), {
      pressed: app.view.course === course.name,
    }),
  );
  return [el("h2", null, text("frame.courses")), ...items];
}

/**
 * @param {string} words
 * @param {() => void} act
 * @param {{ pressed?: boolean, hint?: string, kind?: string }} [more]
 */
function item(words, act, { pressed, hint, kind = "" } = {}) {
  const run = () => {
    close();
    act();
  };
  const attributes = { type: "button", class: `gv-item ${kind}`, onclick: run };
  const state = pressed === undefined ? {} : { "aria-pressed": String(pressed) };
  return el("button", { ...attributes, ...state }, words, hint ? el("kbd", null, hint) : null);
}

// The frame: row 1 asks (prompt, run, model), row 2 tells the story (the pages). At most 104 px, always in view.
import { el, fill } from "./dom.js";
import { close, popover } from "./menus.js";
import { whole } from "./numbers.js";
import { text } from "./words.js";

/** @param {any} app */
export function createFrame(app) {
  const prompt = createPrompt(app);
  const model = createModel(app);
  const rows = el(
    "div",
    { class: "gv-r1" },
    el(
      "a",
      {
        class: "gv-brand",
        href: "?",
        onclick: (/** @type {MouseEvent} */ e) => app.follow(e, app.manifest.pages[0].key),
      },
      "gptviz",
    ),
    prompt.chip,
    prompt.form,
    model.has,
    createExamples(app),
    createShare(app),
    createMenu(app),
  );
  const tabs = el("nav", { class: "gv-r2", "aria-label": text("frame.pages") });
  const root = el("header", { class: "gv-frame" }, rows, tabs);

  function draw() {
    prompt.draw();
    model.draw();
    root.classList.toggle("gv-unprompted", !app.page().prompted);
    const links = app.manifest.pages.map((/** @type {any} */ page) =>
      el(
        "a",
        {
          href: app.link(page.key),
          "aria-current": page.key === app.state.page && "page",
          onclick: (/** @type {MouseEvent} */ event) => app.follow(event, page.key),
        },
        page.tab,
      ),
    );
    fill(tabs, ...links);
    const current = /** @type {HTMLElement} */ (tabs.querySelector("[aria-current]"));
    if (current) tabs.scrollLeft = current.offsetLeft - tabs.clientWidth / 2 + current.offsetWidth / 2;
  }
  return { root, draw, count: prompt.count, model: model.draw };
}

/** @param {any} app */
function createPrompt(app) {
  const area = el("textarea", { rows: 1, spellcheck: "false", "aria-label": text("frame.prompt"), class: "gv-prompt" });
  const count = el("span", { class: "gv-count" });
  const run = el("button", { type: "submit", class: "gv-run" }, text("frame.run"));
  const form = el("form", { class: "gv-promptbox", autocomplete: "off" }, area, count, run);
  const chipText = el("span");
  const chip = el("button", { type: "button", class: "gv-pchip", "aria-label": text("frame.prompt_change") }, chipText);
  chip.addEventListener("click", () => {
    app.root.classList.add("gv-asking");
    area.focus();
  });
  const send = () => {
    app.root.classList.remove("gv-asking");
    area.blur();
    app.run(area.value);
  };
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    send();
  });
  area.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
    if (event.key === "Escape") area.blur();
  });
  area.addEventListener("blur", () =>
    setTimeout(() => {
      if (!form.contains(document.activeElement)) app.root.classList.remove("gv-asking");
    }),
  );
  return {
    form,
    chip,
    draw() {
      if (document.activeElement !== area) area.value = app.prompt();
      chipText.textContent = app.prompt();
    },
    /** @param {number | null} n */
    count: (n) => void (count.textContent = n === null ? "" : text("frame.tokens", { n })),
  };
}

/** @param {any} app */
function createModel(app) {
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
function createExamples(app) {
  const words = text("frame.examples");
  const button = el("button", { type: "button", class: "gv-menubtn gv-wide" }, words, el("i", { class: "gv-tri" }));
  const items = app.manifest.examples.map((/** @type {any} */ example) =>
    el(
      "button",
      {
        type: "button",
        class: "gv-item",
        onclick: () => {
          close();
          app.run(example.text);
        },
      },
      el("b", null, example.name),
      el("small", null, example.why),
    ),
  );
  return popover(button, el("div", { class: "gv-pop" }, el("h2", null, text("frame.worth_a_look")), ...items));
}

/** @param {any} app */
function createShare(app) {
  const attributes = { type: "button", class: "gv-menubtn gv-wide", onclick: () => app.copyLink() };
  return el("button", attributes, text("frame.copy_link"));
}

/** @param {any} app */
function createMenu(app) {
  const dots = el("i", { class: "gv-dots" });
  const button = el("button", { type: "button", class: "gv-menubtn", "aria-label": text("frame.menu") }, dots);
  const panel = el("div", { class: "gv-pop" });
  /** @param {string} key @param {() => void} act @param {boolean} [on] @param {string} [hint] @param {string} [extra] */
  const item = (key, act, on, hint, extra = "") =>
    el(
      "button",
      {
        type: "button",
        class: `gv-item ${extra}`,
        "aria-pressed": on === undefined ? null : String(on),
        onclick: () => {
          close();
          act();
        },
      },
      text(key),
      hint ? el("kbd", null, hint) : null,
    );
  return popover(button, panel, () => {
    const view = app.view;
    fill(
      panel,
      item("frame.present", () => app.look("present", view.present ? "" : "1"), undefined, "P"),
      item("frame.table_view", () => app.look("table", view.table ? "" : "1"), view.table === "1"),
      item("frame.guesses", () => app.look("guesses", view.guesses === "0" ? "" : "0"), view.guesses !== "0"),
      item("frame.theme", () => app.theme()),
      item("frame.copy_link", () => app.copyLink(), undefined, "", "gv-narrow"),
      el("div", { class: "gv-narrow" }, ...exampleItems(app, item)),
      el(
        "a",
        { class: "gv-item", href: "?view=api", onclick: (/** @type {Event} */ e) => app.api(e) },
        text("frame.api"),
      ),
    );
  });
}

/** @param {any} app @param {(...a: any[]) => any} _item */
function exampleItems(app, _item) {
  return app.manifest.examples.map((/** @type {any} */ example) =>
    el(
      "button",
      { type: "button", class: "gv-item", onclick: () => (close(), app.run(example.text)) },
      el("b", null, example.name),
    ),
  );
}

// The frame: row 1 asks (prompt, run, model), row 2 tells the story (the pages). At most 104 px, always in view.
import { el, fill } from "./dom.js";
import { remember, rove, roving } from "./focus.js";
import { createExamples, createMenu, createModel, createShare } from "./headmenus.js";
import { popover } from "./menus.js";
import { text } from "./words.js";

/** @param {any} app */
export function createFrame(app) {
  const prompt = createPrompt(app);
  const model = createModel(app);
  const rows = el(
    "div",
    { class: "gv-r1" },
    brand(app),
    prompt.chip,
    prompt.form,
    model.has,
    createExamples(app),
    createShare(app),
    createMenu(app),
  );
  const tabs = el("nav", { class: "gv-r2", "aria-label": text("frame.pages") });
  const root = el("header", { class: "gv-frame" }, rows, tabs);
  roving(tabs);

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
    const back = remember(tabs);
    fill(tabs, ...links);
    const current = /** @type {HTMLElement} */ (tabs.querySelector("[aria-current]"));
    rove(tabs, current);
    back();
    if (current) tabs.scrollLeft = current.offsetLeft - tabs.clientWidth / 2 + current.offsetWidth / 2;
  }
  return { root, draw, count: prompt.count, model: model.draw };
}

/** @param {any} app */
function brand(app) {
  const [first] = app.manifest.pages;
  const follow = (/** @type {MouseEvent} */ event) => app.follow(event, first.key);
  return el("a", { class: "gv-brand", href: "?", onclick: follow }, text("frame.brand"));
}

/** @param {any} app */
function createPrompt(app) {
  const area = el("textarea", { rows: 1, spellcheck: "false", "aria-label": text("frame.prompt"), class: "gv-prompt" });
  const count = el("button", { type: "button", class: "gv-count", disabled: true });
  const notes = el("div", { class: "gv-pop gv-reading" });
  const reading = popover(count, notes);
  const run = el("button", { type: "submit", class: "gv-run" }, text("frame.run"));
  const form = el("form", { class: "gv-promptbox", autocomplete: "off" }, area, reading, run);
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
    /** How many tokens, and what the vocabulary does not keep of the text. @param {any} found */
    count(found) {
      count.textContent = text("frame.tokens", { n: found.count });
      const said = [...found.losses.map(changed), ...(found.trailing_blank ? [text("frame.trailing_blank")] : [])];
      count.classList.toggle("gv-changed", said.length > 0);
      count.disabled = !said.length;
      fill(notes, el("h2", null, text("frame.reading")), ...said.map((words) => el("p", null, words)));
    },
  };
}

/** What became of one stretch of the text. @param {any} loss */
function changed(loss) {
  // words: frame.loss_unknown frame.loss_normalised frame.loss_lost frame.loss_added
  return text(`frame.loss_${loss.kind}`, loss);
}

// The entry: builds the frame, the stage and the steps, and opens what the address asks for.
import { App } from "./app.js";
import { ask, onBack, onWait } from "./ask.js";
import { onTheme, setTheme, watchTheme } from "./colour.js";
import { el, unpacked } from "./dom.js";
import { createFrame } from "./frame.js";
import { watchMenus } from "./menus.js";
import { createStage } from "./stage.js";
import { Steps } from "./steps.js";
import { setWords, text } from "./words.js";

const here = /** @type {any} */ (window);
here.gptviz ??= {};

async function start() {
  const query = new URLSearchParams(location.search);
  if (query.get("view")) return documents();
  const language = chosen(query.get("lang"));
  const address = new URL(`../../manifest-${language}.json`, import.meta.url);
  const [manifest, status] = await Promise.all([
    fetch(address).then((response) => response.json()),
    ask("status", {}, { fresh: true }).catch(() => null),
  ]);
  setWords(manifest.words, manifest.language);
  const root = el("div", { class: "gv-app" });
  const app = new App(manifest, root);
  app.status = status;
  build(app);
  document.body.append(root); // beside Gradio's own elements, whose resets would undo ours
  document.documentElement.lang = manifest.language;
  const theme = query.get("theme");
  setTheme(theme ? theme === "dark" : query.get("__theme") === "dark" || darkSystem());
  watchTheme();
  app.open(location.search);
  here.gptviz.app = app;
  if (!status || status.loading) setTimeout(() => app.poll(), 1000);
}

/** @param {App} app */
function build(app) {
  const stage = createStage();
  const steps = new Steps(app);
  const frame = createFrame(app);
  const notice = el("div", { class: "gv-notice", role: "status", hidden: true });
  let timer = 0;
  app.parts = {
    stage,
    steps,
    frame,
    unpacked,
    ask,
    notice(/** @type {string} */ words) {
      notice.textContent = words;
      notice.hidden = false;
      clearTimeout(timer);
      timer = window.setTimeout(() => (notice.hidden = true), 6000);
    },
    dress() {
      for (const name of ["present", "embed"]) app.root.classList.toggle(`gv-${name}`, app.view[name] === "1");
      app.root.dataset.page = app.state.page;
    },
  };
  onWait((words) => app.parts.notice(words));
  onBack(() => app.poll(true));
  const skip = el(
    "a",
    { class: "gv-skip", href: "#gv-stage", onclick: (/** @type {Event} */ e) => jump(e, stage) },
    text("frame.skip"),
  );
  const page = el("main", { class: "gv-main-page" }, stage.root, steps.root);
  app.root.append(skip, frame.root, page, notice);
  listen(app, stage);
}

/** @param {Event} event @param {import("./stage.js").Stage} stage */
function jump(event, stage) {
  event.preventDefault();
  stage.root.focus();
}

/** @param {App} app @param {import("./stage.js").Stage} stage */
function listen(app, stage) {
  watchMenus();
  window.addEventListener("popstate", () => app.open(location.search));
  document.addEventListener("keydown", (event) => keys(app, event));
  app.root.addEventListener("click", (event) => {
    const link = /** @type {HTMLElement} */ (event.target).closest?.("[data-state]");
    if (link) app.setFromText(/** @type {HTMLElement} */ (link).dataset.state || "");
  });
  const redraw = () => {
    const picture = app.picture();
    if (picture && picture.resize) picture.resize();
  };
  onTheme(redraw);
  let width = 0;
  let height = 0;
  new ResizeObserver(() => {
    const size = stage.size();
    if (size.width === width && size.height === height) return;
    ({ width, height } = size);
    requestAnimationFrame(redraw);
    tellHost(app);
  }).observe(stage.fig);
  document.fonts?.ready.then(redraw);
}

/** Arrow keys step where no picture and no field has the focus. @param {App} app @param {KeyboardEvent} event */
function keys(app, event) {
  const at = /** @type {HTMLElement} */ (document.activeElement);
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const free = !at || at === document.body || app.parts.steps.root.contains(at) || at.id === "gv-stage";
  if (event.key === "Escape" && app.view.present) return app.look("present", "");
  if (!free) return;
  if (event.key === "ArrowRight") app.move(1);
  else if (event.key === "ArrowLeft") app.move(-1);
  else if (event.key.toLowerCase() === "p") app.look("present", app.view.present ? "" : "1");
}

/** An embedded page tells its height to the page around it. @param {App} app */
function tellHost(app) {
  if (app.view.embed === "1" && window.parent !== window) {
    window.parent.postMessage({ gptviz: { height: document.documentElement.scrollHeight } }, "*");
  }
}

/**
 * The language: what the address asks for, else the browser's first that there is, else English.
 * @param {string | null} asked
 */
function chosen(asked) {
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=gptviz-languages]"));
  const there = meta ? meta.content.split(" ") : ["en"];
  const wishes = [asked || "", ...navigator.languages.filter((wish) => wish !== "qps")];
  const found = wishes.flatMap((wish) => [wish, wish.split("-")[0]]).find((wish) => there.includes(wish));
  return found || "en";
}

/** Gradio's own page about the endpoints: it opens by a button that is there once Gradio has started. */
function documents() {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("button.show-api"));
  if (button) button.click();
  else setTimeout(documents, 200);
}

const darkSystem = () => matchMedia("(prefers-color-scheme: dark)").matches;

if (document.body) start();
else addEventListener("DOMContentLoaded", start);

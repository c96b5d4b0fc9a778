// The entry of a saved file: the same stage and the same page script, with the answers that the file holds.
import { App } from "./app.js";
import { answerFrom, ask } from "./ask.js";
import { onTheme, setTheme, watchTheme } from "./colour.js";
import { el, unpacked } from "./dom.js";
import { createStage } from "./stage.js";
import { setWords, text } from "./words.js";

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("gv-saved")).textContent || "");

/** The page's state without an address, a frame or a server. */
class Saved extends App {
  write() {}

  async poll() {}

  /** @param {string} name */
  load(name) {
    return import(`gv/${name}/page.js`);
  }

  async show() {
    await super.show();
    if (this.parts.shown()) this.good = { ...this.state.fields };
  }

  /** Back to what the file can show. @param {string} words */
  refused(words) {
    this.parts.notice(words);
    if (!this.good) return this.parts.stage.fail(words);
    this.state.fields = { ...this.good };
    this.show();
  }
}

/** @type {Saved} */
let app;

function start() {
  setWords(data.words, data.language);
  answerFrom(data.answers, rows);
  const { language, words } = data;
  const none = { recorded: {}, courses: [] };
  const manifest = { language, words, pages: [data.page], examples: [{ text: data.text }], ...none };
  const root = el("div", { class: "gv-app gv-embed" });
  app = new Saved(manifest, root);
  app.view = { embed: "1", guesses: "0" };
  app.status = { models: data.models, loading: false };
  app.state.prompt = data.text;
  app.state.fields = data.fields;
  build(root);
  document.body.append(root);
  document.documentElement.lang = data.language;
  document.title = `${data.page.question} ${text("frame.brand")}`;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches);
  watchTheme();
  dark.addEventListener("change", () => setTheme(dark.matches));
  /** @type {any} */ (window).gptviz = { app };
  app.draw();
}

/**
 * Rows of a head that are part of the rows the file holds: how many are drawn depends on the size of the window.
 * @param {string} name @param {Record<string, any>} args
 */
function rows(name, args) {
  if (name !== "head_rows") return undefined;
  const { first, last, ...of } = args;
  for (const [id, answer] of Object.entries(data.answers)) {
    const [asked, there] = [id.slice(0, id.indexOf(" ")), JSON.parse(id.slice(id.indexOf(" ")))];
    const same = asked === name && Object.entries(of).every(([key, value]) => there[key] === value);
    if (!same || there.first > first || there.last < last) continue;
    const whole = unpacked(answer);
    const T = whole.rows.shape[1];
    const part = (/** @type {any} */ all) => all.subarray((first - there.first) * T, (last - there.first + 1) * T);
    return { rows: part(whole.rows), seen: part(whole.seen) };
  }
  return undefined;
}

/** @param {HTMLElement} root */
function build(root) {
  const stage = createStage();
  const notice = el("div", { class: "gv-notice", role: "status", hidden: true });
  const from = el("p", { class: "gv-from" }, said());
  let timer = 0;
  const nothing = () => {};
  app.parts = {
    stage,
    unpacked,
    ask,
    steps: { draw: nothing, prose: nothing, root: el("div") },
    frame: { draw: nothing, count: nothing, model: nothing },
    dress: () => (root.dataset.page = data.page.key),
    shown: () => root.dataset.shown,
    notice(/** @type {string} */ words) {
      notice.textContent = words;
      notice.hidden = false;
      clearTimeout(timer);
      timer = window.setTimeout(() => (notice.hidden = true), 6000);
    },
  };
  root.append(el("main", { class: "gv-main-page" }, stage.root, from), notice);
  redrawn(stage);
}

/** What the picture was made from. */
function said() {
  const [model] = data.models;
  return data.page.prompted ? text("frame.saved_from", { model: model.name, text: data.text }) : model.name;
}

/** @param {import("./stage.js").Stage} stage */
function redrawn(stage) {
  const redraw = () => {
    const picture = app.picture();
    if (picture && picture.resize) picture.resize();
  };
  onTheme(redraw);
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(stage.fig);
  document.fonts.ready.then(redraw);
}

start();

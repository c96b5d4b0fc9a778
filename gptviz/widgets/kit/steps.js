// The steps beside the stage: contents, story and remote control in one. A step may first ask for a guess.
import { el, fill } from "./dom.js";
import { render, text } from "./words.js";

/**
 * @param {any} app
 * @returns {{ root: HTMLElement, draw: () => void, prose: () => void }}
 */
export function createSteps(app) {
  const question = el("h1", { class: "gv-question" });
  const list = el("ol", { class: "gv-steps" });
  const back = el("button", { type: "button", class: "gv-btn", onclick: () => app.move(-1) }, text("frame.back"));
  const where = el("span", { class: "gv-where" });
  const next = el("button", { type: "button", class: "gv-btn gv-main", onclick: () => app.move(1) });
  const root = el(
    "aside",
    { class: "gv-side", "aria-label": text("frame.steps") },
    question,
    list,
    el("div", { class: "gv-go" }, back, where, next),
  );
  /** @type {HTMLElement | null} */
  let body = null;

  function draw() {
    const page = app.page();
    const now = app.state.step;
    question.textContent = page.question;
    const items = page.steps.map((/** @type {any} */ step, /** @type {number} */ index) => item(step, index + 1, now));
    fill(list, ...items);
    body = items[now - 1].querySelector(".gv-body");
    where.textContent = text("frame.step_of", { n: now, total: page.steps.length });
    back.disabled = now === 1 && app.neighbour(-1) === null;
    const last = now === page.steps.length;
    const after = app.neighbour(1);
    next.textContent = last && after ? text("frame.next_page", { page: after.tab }) : text("frame.next");
    next.disabled = last && after === null;
    prose();
    requestAnimationFrame(() => {
      const item = items[now - 1];
      if (list.scrollWidth > list.clientWidth) list.scrollLeft = item.offsetLeft - list.offsetLeft - 11;
      else list.scrollTop = Math.max(0, item.offsetTop - list.offsetTop - list.clientHeight + item.offsetHeight);
    });
  }

  /** @param {any} step @param {number} number @param {number} now */
  function item(step, number, now) {
    const current = number === now;
    const head = el(
      "button",
      { type: "button", class: "gv-head", "aria-current": current && "step", onclick: () => app.step(number) },
      el("span", null, step.title),
    );
    const seen = app.seen(number) ? " gv-seen" : "";
    return el("li", { class: (current ? "gv-cur" : "") + seen }, head, el("div", { class: "gv-body" }));
  }

  /** The words of the open step, with the numbers of what is on the stage now. */
  function prose() {
    if (!body) return;
    const step = app.page().steps[app.state.step - 1];
    const paragraphs = step.body.filter((/** @type {string} */ p) => holds(p, app.known));
    const nodes = paragraphs.map((/** @type {string} */ p) =>
      el("p", null, ...said(p.replace(CONDITION, ""), app.known)),
    );
    fill(body, ...nodes, step.guess && app.guesses() ? guess(step.guess) : null);
  }

  /** @param {any} asked */
  function guess(asked) {
    const given = app.guessed();
    const box = el("div", { class: "gv-ask" }, el("p", { class: "gv-asked" }, ...said(asked.question, app.known)));
    if (given === undefined) {
      const chips = asked.options.map((/** @type {string} */ option, /** @type {number} */ index) =>
        el("button", { type: "button", class: "gv-chip", onclick: () => app.guess(index) }, option),
      );
      const tell = el("button", { type: "button", class: "gv-link", onclick: () => app.guess(-1) }, text("frame.tell"));
      box.append(el("div", { class: "gv-chips" }, ...chips, tell));
      return box;
    }
    const right = app.known[asked.right];
    const verdict =
      given < 0 || right === undefined || right < 0 ? "" : given === right ? "frame.right" : "frame.wrong";
    box.classList.toggle("gv-yes", given === right);
    box.classList.toggle("gv-no", verdict === "frame.wrong");
    const opening = verdict ? [el("b", null, text(verdict)), " "] : [];
    box.append(el("p", { role: "status" }, ...opening, ...said(asked.answer, app.known)));
    return box;
  }

  return { root, draw, prose };
}

/** Prose with the facts that are known so far; "…" for those still on their way. @param {string} words @param {any} facts */
function said(words, facts) {
  const values = { ...facts };
  for (const [, name] of words.matchAll(/\{([a-z_][a-z0-9_]*)/g)) values[name] ??= "…";
  return render(words, values);
}

const CONDITION = /^\[if (not )?(\w+)\] ?/;

/** @param {string} paragraph @param {Record<string, any>} facts */
function holds(paragraph, facts) {
  const match = CONDITION.exec(paragraph);
  return !match || Boolean(facts[match[2]]) !== Boolean(match[1]);
}

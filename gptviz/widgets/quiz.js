// Check yourself: a few questions whose answers Python computed from the reader's own text and model.
"use strict";
gptviz.mount.quiz = function (root) {
  const { el } = gptviz;
  const typed = new Map(); // question → what was answered; a changed question starts afresh
  let items = [];
  if (gptviz.loss) gptviz.loss.when(() => draw(items));
  return draw;
  // value: [{question, options: [text], index, why} or {question, answer: number, within, unit, why}]
  // An item that `waits` tells the text's loss, so it comes once that is shown.
  function draw(value) {
    items = value || [];
    root.textContent = "";
    for (const item of items) if (!item.waits || gptviz.loss.shown) root.append(item.options ? choice(item) : figure(item));
  }
  function card(item, ...inside) {
    const verdict = el("p", { class: "gv-answer", "aria-live": "polite" });
    const box = el("div", { class: "gv-quiz" }, el("p", {}, item.question), ...inside, verdict);
    const judge = (right) => {
      verdict.textContent = "";
      verdict.append(el("b", { class: right ? "ok" : "w" }, right ? "Right. " : "Not quite. "), item.why);
    };
    return { box, judge };
  }
  function choice(item) {
    const chips = el("div", { class: "gv-chips" }), { box, judge } = card(item, chips);
    const mark = (k) => { typed.set(item.question, k); [...chips.children].forEach((c, n) => c.setAttribute("aria-pressed", String(n === k))); judge(k === item.index); };
    item.options.forEach((text, k) => chips.append(el("button", { type: "button", class: "gv-chip", "aria-pressed": "false", onclick: () => mark(k) }, text)));
    if (typed.has(item.question)) mark(typed.get(item.question));
    return box;
  }
  function figure(item) {
    const input = el("input", { class: "gv-in", type: "text", inputmode: "decimal", size: "14", "aria-label": item.question });
    const check = () => {
      const raw = input.value.replace(/[\s,]/g, "");
      if (!raw) return;
      typed.set(item.question, input.value);
      judge(Math.abs(Number(raw) - item.answer) <= (item.within || 0));
    };
    input.addEventListener("keydown", (e) => { if (e.key === "Enter") check(); });
    const { box, judge } = card(item, el("div", { class: "gv-quiz-row" }, input, el("span", { class: "gv-cap" }, item.unit || ""), el("button", { type: "button", class: "gv-btn", onclick: check }, "Check")));
    if (typed.has(item.question)) { input.value = typed.get(item.question); check(); }
    return box;
  }
};

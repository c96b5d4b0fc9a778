// A guess before the answer: the question stays, and the guess stands beside what was found.
"use strict";
gptviz.mount.predict = function (root, io) {
  const { el } = gptviz;
  let guess = null, question = "";
  // value: {question, options: [text], answer?: {index: number | [numbers] | null, text}}; the answer may come later; null: not decided.
  return function draw(value) {
    if (!value) return;
    if (value.question !== question) { guess = null; question = value.question; }
    root.textContent = "";
    const box = el("div", { class: "gv-ask" }, el("b", {}, "Guess first. "), value.question);
    const row = el("div", { class: "gv-chips" });
    value.options.forEach((text, index) => row.append(el("button", {
      type: "button", class: "gv-chip", "aria-pressed": String(index === guess),
      onclick: () => { guess = index; io.trigger("guess", { index }); draw(io.props.value); },
    }, text)));
    box.append(row);
    const answer = value.answer;
    if (guess !== null && answer) {
      const open = answer.index === null, right = !open && [].concat(answer.index).includes(guess);
      box.append(el("p", { class: "gv-answer", "aria-live": "polite" }, el("b", { class: open ? "" : right ? "ok" : "w" }, right ? "As you guessed. " : `You guessed “${value.options[guess]}”. `), answer.text));
    } else if (guess !== null) box.append(el("p", { class: "gv-answer gv-cap" }, `You guessed “${value.options[guess]}”. Now look.`));
    root.append(box);
  };
};

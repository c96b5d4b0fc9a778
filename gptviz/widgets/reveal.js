// A figure that waits for a guess: the question above it, a cover over it, and the guess beside the result afterwards.
"use strict";
gptviz.reveal = function (words, figure, onopen) {
  const { el } = gptviz;
  let open = false, value = { question: words.question, options: words.options };
  const asked = el("div");
  const skip = el("button", { type: "button", class: "gv-btn gv-skip", onclick: () => uncover() }, "Show without guessing");
  const cover = el("div", { class: "gv-cover" }, el("p", {}, "The result is covered until you have guessed."), skip);
  const frame = el("div", { class: "gv-covered" }, figure, cover);
  const ask = gptviz.mount.predict(asked, { trigger: () => setTimeout(uncover), props: { get value() { return value; } } });
  ask(value);
  cover.hidden = true;

  function uncover() {
    if (open) return;
    open = true; cover.hidden = true; figure.inert = false;
    onopen();
  }
  return {
    asked, frame,
    opened: () => open,
    // Something worth guessing is about to be drawn; true when it may be.
    wait(needed) { const hide = needed && !open; cover.hidden = !hide; figure.inert = hide; return !hide; },
    answer(answer) { value = { ...value, answer }; ask(value); },
  };
};

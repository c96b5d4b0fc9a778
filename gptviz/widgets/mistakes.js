// What spoils the training, each as a number measured on the reader's own text.
"use strict";
gptviz.mount.mistakes = function (root, io) {
  const { el, say, em, number } = gptviz;
  const grid = el("div", { class: "gv-mistakes" });
  const shift = el("div"), mask = el("div"), pad = el("div"), padSay = el("p", { class: "gv-cap", "aria-live": "polite" });
  const shiftSay = el("p", { class: "gv-say" }), maskSay = el("p", { class: "gv-say" });
  const note = el("p", { class: "gv-cap" }), go = el("button", { type: "button", class: "gv-btn", onclick: () => io.trigger("act", {}) }), wait = el("div", {}, note, go);
  const cover = el("div", {}, el("p", { class: "gv-cap" }, "These cards tell the mean loss, so they come after your guess at the top of the page."), el("button", { type: "button", class: "gv-btn", onclick: () => gptviz.loss.show() }, "Show without guessing"));
  const card = (title, ...inside) => el("section", { class: "gv-fig" }, el("h3", {}, title), ...inside);
  grid.append(card("Targets not shifted", shift, shiftSay), card("The wrong mask", mask, maskSay), card("Padding counted as text", pad, padSay));
  root.append(wait, cover, grid);
  let v = null, last = null;
  gptviz.loss.when(() => draw(last));
  const curve = gptviz.curve(pad, { label: "Mean loss over the number of padding tokens; arrow keys move", height: 190, onmove: speak });

  function speak(n) {
    const [counted, ignored] = [v.padding.counted[n], v.padding.ignored[n]];
    say(padSay, `With ${n} × ${v.padding.pad} after the text: counted `, em(number(counted, 3), "w"), ", with ignore_index ", em(number(ignored, 3)), " nats",
      counted < ignored - 5e-4 ? ". The model looks better than it is." : counted > ignored + 5e-4 ? ". The model looks worse than it is." : ".");
  }
  function rows(box, list) {
    box.textContent = "";
    const top = Math.max(...list.map((r) => r[1]));
    for (const [name, value, kind] of list) {
      const fill = el("i"); fill.style.width = Math.max(0.5, 100 * value / top) + "%";
      if (kind) fill.style.background = `var(${kind})`;
      box.append(el("div", { class: "gv-row" }, el("span", {}, name), el("span", { class: "gv-bar" }, fill), el("span", { class: "n" }, number(value, 3))));
    }
  }
  return draw;
  function draw(value) {
    last = value;
    const ready = Boolean(value && !value.note);
    grid.hidden = !ready || !gptviz.loss.shown; cover.hidden = !ready || gptviz.loss.shown;
    wait.hidden = !value?.note; note.textContent = value?.note || ""; go.textContent = value?.button || "";
    if (grid.hidden) return;
    v = value;
    rows(shift, [["the next token", v.loss], ["the same token", v.unshifted, "--warn"]]);
    say(shiftSay, "Asked for the token it has just read, this model pays ", em(number(v.unshifted, 2), "w"), " nats instead of ", em(number(v.loss, 2)), ": it was never taught to copy.");
    rows(mask, [["causal", v.masks.causal], ["no mask", v.masks.none, "--warn"], ["wrong way", v.masks.wrong_way, "--warn"]]);
    maskSay.textContent = v.masks_said.join(" ");
    curve.draw({ xs: v.padding.counted.map((_, n) => n), x: "padding tokens", series: [
      { name: "padding counted", ys: v.padding.counted, token: "--warn" },
      { name: "left out by ignore_index", ys: v.padding.ignored, token: "--key", dash: [6, 4] }] });
  }
};

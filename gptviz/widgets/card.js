// The allocator's figures of a CUDA card, or the sentence that there is none.
"use strict";
gptviz.mount.card = function (root, io) {
  const { el } = gptviz;
  const NAMES = [["allocated", "in use"], ["peak", "most in use so far"], ["reserved", "reserved"], ["free", "free on the card"], ["total", "the card"]];
  return function draw(v) {
    root.textContent = "";
    if (!v) return;
    const box = el("section", { class: "gv-fig" }, el("p", {}, v.said));
    if (v.figures) box.append(el("div", { class: "gv-card-figures" }, ...NAMES.flatMap(([key, name]) => [el("span", {}, name), el("b", {}, (v.figures[key] / 1e9).toFixed(3) + "\u00a0GB")])));
    root.append(box);
  };
};

// Prompts worth trying, one click each.
"use strict";
gptviz.mount.examples = function (root, io) {
  const { el } = gptviz;
  return function draw(value) {
    root.textContent = "";
    const row = el("div", { class: "gv-chips gv-examples" }, el("span", { class: "gv-cap" }, "Try"));
    (value || []).forEach(([name, about], index) => row.append(
      el("button", { type: "button", class: "gv-chip", title: about, onclick: () => io.trigger("pick", { index }) }, name)));
    root.append(row);
  };
};

// The family side by side: one column a model; what changed from its elder is marked.
"use strict";
gptviz.mount.family = function (root) {
  const { el } = gptviz;
  return function draw(value) {
    root.textContent = "";
    if (!value) return;
    const table = el("table", { class: "gv-table gv-family" });
    table.append(el("tr", {}, el("th", {}, ""), ...value.models.map((m) => el("th", {}, m))));
    for (const [name, cells] of value.rows) table.append(el("tr", {}, el("th", { scope: "row" }, name), ...cells.map(([text, changed]) => el("td", changed ? { class: "gv-changed" } : {}, text))));
    root.append(el("section", { class: "gv-fig" }, el("div", { class: "gv-scroll gv-sideways", tabindex: "0", role: "group", "aria-label": "The family, a column a model" }, table), el("p", { class: "gv-cap" }, value.note)));
  };
};

// The key of one position, computed in three texts that begin alike.
"use strict";
gptviz.mount.kept = function (root, io) {
  const { el, say, em, whole, number } = gptviz;
  return function draw(v) {
    root.textContent = "";
    if (!v) return;
    if (v.note) { root.append(el("p", { class: "gv-note" }, v.note)); return; }
    const start = v.tokens.slice(0, v.keep).join(""), rest = v.tokens.slice(v.keep).join("");
    const ends = { whole: el("span", { class: "rest" }, rest), alone: el("span", { class: "gv-cap" }, "(nothing)"), edited: el("span", { class: "rest" }, "(every token another)") };
    const table = el("table", { class: "gv-table" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "the text"), el("th", { scope: "col" }, `key of ${v.tokens[v.keep - 1]} (position ${v.keep - 1}), first numbers`))));
    const body = el("tbody");
    for (const [name, end] of Object.entries(ends)) body.append(el("tr", {}, el("td", { class: "text" }, el("span", { class: "kept" }, start), end), el("td", {}, v.sample[name].map((x) => fixed(x)).join("  "))));
    table.append(body);
    const verdict = el("p", { class: "gv-say", "aria-live": "polite" });
    say(verdict, `Layer ${v.layer}, K and V of the first ${whole(v.keep)} tokens, ${whole(v.numbers)} numbers each time. With other tokens behind them they differ by `, em(v.edited === 0 ? "exactly 0" : number(v.edited), v.edited === 0 ? "" : "w"),
      ", with nothing behind them by ", em(v.alone === 0 ? "exactly 0" : number(v.alone), v.alone <= v.tolerance ? "" : "w"), v.alone > 0 && v.equal ? `: rounding, since a shorter run groups its sums differently (${v.dtype}).` : ".");
    root.append(el("section", { class: "gv-fig" }, el("div", { class: "gv-kept-rows gv-scroll gv-sideways", tabindex: "0", role: "group", "aria-label": "The same rows, three times" }, table), verdict));
  };
  function fixed(x) { return (x < 0 ? "−" : "\u00a0") + Math.abs(x).toFixed(6); }
};

// Four words, one attention: outputs with the fourth word and without it, side by side.
"use strict";
gptviz.mount.toy = function (root, io) {
  const { el, say, em, segment } = gptviz;
  const toy = io.fixed.toy, exact = (x) => x === 0 ? "exactly 0" : x.toFixed(2);
  let masked = true;
  const words = el("div", { class: "gv-strip" });
  toy.words.forEach((word, k) => words.append(el("span", { class: "gv-tok" + (k >= toy.keep ? " gv-dropped" : "") }, word)));
  const rows = el("div", { class: "gv-toy", role: "table", "aria-label": "Outputs of the toy with four words and with three" });
  const sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const switcher = segment("Mask", [["on", "mask on"], ["off", "mask off"]], "on", (value) => { masked = value === "on"; paint(); });
  const reveal = gptviz.reveal(io.fixed.words, el("div", {}, rows, sentence), paint);
  root.append(el("section", { class: "gv-fig" },
    el("div", { class: "gv-figtitle" }, "Outputs of a single attention", el("span", { class: "gv-cap" }, "each strip is one vector of 8 numbers; orange is below zero"), el("span", { class: "gv-push" }), switcher.box),
    words, reveal.asked, reveal.frame));

  function vector(values, top) {
    const strip = el("span", { class: "gv-vector" });
    for (const x of values) {
      const cell = el("i", { title: x.toFixed(4) });
      cell.style.background = gptviz.mix("--grid", x < 0 ? "--warn" : "--key", Math.min(1, Math.abs(x) / top));
      strip.append(cell);
    }
    return strip;
  }
  function paint() {
    const side = masked ? toy.masked : toy.open, top = Math.max(...side.full.flat().map(Math.abs));
    reveal.wait(true);
    rows.textContent = "";
    rows.append(el("div", { class: "gv-toyrow head", role: "row" }, ...["", "with “down”", "without it", "largest |Δ|"].map((text) => el("span", { role: "columnheader" }, text))));
    toy.words.forEach((word, k) => {
      const kept = k < toy.keep, delta = side.deltas[k];
      rows.append(el("div", { class: "gv-toyrow", role: "row" }, el("b", { role: "rowheader" }, word), el("span", { role: "cell" }, vector(side.full[k], top)),
        el("span", { role: "cell" }, kept ? vector(side.short[k], top) : "dropped"),
        el("span", { role: "cell", class: kept ? delta === 0 ? "gv-ok" : "gv-bad" : "" }, kept ? exact(delta) : "")));
    });
    if (masked) say(sentence, "With the mask the three rows differ by ", em("exactly 0"), " (0e+00): the same bits.");
    else say(sentence, "Without the mask dropping one word moves the three rows by ", em(side.deltas.map(exact).join(", "), "w"), ": they had read it.");
    if (reveal.opened()) reveal.answer({ index: toy.masked.deltas.every((d) => d === 0) ? 0 : toy.masked.deltas.every((d) => d < 0.01) ? 1 : 2, text: io.fixed.answer });
  }
  return paint;
};

// The mask written three ways, on the query, key and value of a layer of the model at hand.
"use strict";
gptviz.mount.ways = function (root, io) {
  const { el, say, em, number } = gptviz;
  const NAMES = { additive: "add −∞", boolean: "masked_fill", is_causal: "is_causal" };
  let v = null, wanted = 0;
  const layer = el("select", { class: "gv-in", "aria-label": "Layer", onchange: load });
  const codes = el("div", { class: "gv-ways" }), table = el("table", { class: "gv-table gv-waystable" }), says = el("p", { class: "gv-say", "aria-live": "polite" }), extra = el("p", { class: "gv-note" });
  const result = el("div", {}, says, table, extra);
  const reveal = gptviz.reveal(io.fixed.words, result, () => paint());
  root.append(el("section", { class: "gv-fig" },
    el("div", { class: "gv-figtitle" }, "One mask, written three ways", el("label", { class: "gv-cap gv-push" }, "on the query, key and value of layer ", layer)),
    codes, reveal.asked, reveal.frame));
  io.fixed.codes.forEach(([title, code]) => codes.append(el("div", {}, el("p", { class: "gv-cap" }, title), el("pre", { tabindex: "0" }, code))));

  async function load() {
    if (!v) return;
    const mine = ++wanted, of = v;
    const answer = await io.server.ways({ text: v.text, model: v.model, layer: Number(layer.value) }).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== wanted || of !== v) return;
    if (answer.error) say(says, em(answer.error, "w"));
    else { v.found = answer; paint(); }
  }
  function draw(value) {
    if (!value) return;
    if (value !== v) {
      v = value;
      layer.textContent = "";
      for (let k = 0; k < v.layers; k++) layer.append(el("option", { value: String(k) }, String(k)));
      layer.value = String(v.found.layer);
    }
    paint();
  }
  function paint() {
    reveal.wait(true);
    if (!v || !reveal.opened()) return;
    const f = v.found, exact = (x) => x === 0 ? "0, exactly" : x.toExponential(1).replace("e-", "e−");
    const worst = Math.max(...f.differences.map((d) => d.max_delta));
    say(says, "Over ", em(`${f.heads} heads`), ` and ${v.tokens} positions the outputs differ by at most `, em(worst === 0 ? "exactly 0" : exact(worst)), ` (outputs reach ${number(f.size, 2)}; ${f.dtype}).`);
    table.textContent = "";
    table.append(el("tr", {}, el("th", {}, "compared"), el("th", {}, "largest difference")));
    for (const d of f.differences) table.append(el("tr", {}, el("td", {}, `${NAMES[d.a]} − ${NAMES[d.b]}`), el("td", {}, exact(d.max_delta))));
    extra.textContent = io.fixed.extra[f.flag_and_mask];
    const first = f.differences[0].max_delta === 0, rest = worst === 0;
    reveal.answer({ index: rest ? 0 : first ? 1 : 2, text: f.flag_says_it ? `The first two do the same sums; the fused kernel adds in another order, and differs by ${exact(worst)} at most.` : io.fixed.extra.narrow });
  }
  return draw;
};

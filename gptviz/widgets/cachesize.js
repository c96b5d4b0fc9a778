// The memory calculator. The formulas are those of gptviz/lab/cache_memory.py; a test compares them.
"use strict";
gptviz.cacheSize = function (spec, context, batch, element) {
  const [, L, h, kv, d, parameters] = spec, each = 2 * L * kv * d * element, multi = 2 * L * h * d * element, weights = parameters * element;
  return { each, cache: each * context * batch, weights, crossing: Math.ceil(weights / each), multi: multi * context * batch };
};
gptviz.mount.cachesize = function (root, io) {
  const { el, say, em, segment, whole } = gptviz;
  const models = io.fixed.models, state = { at: Math.max(0, models.findIndex((m) => m[0] === "Llama-3-8B")), power: 17, batch: 0, element: 2 };
  const select = el("select", { class: "gv-in", "aria-label": "Model", onchange: () => { state.at = Number(select.value); paint(); } }, ...models.map((m, i) => el("option", { value: String(i), selected: i === state.at }, m[0])));
  const context = slider("context", 0, 20, () => state.power, (x) => { state.power = x; }, "tokens"), batch = slider("texts at once", 0, 9, () => state.batch, (x) => { state.batch = x; }, "");
  const format = segment("Number format", [["4", "32-bit"], ["2", "16-bit"]], "2", (x) => { state.element = Number(x); paint(); });
  const formula = el("p", { class: "gv-size-formula" }), bars = el("div", { class: "gv-size-bars" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" }), source = el("p", { class: "gv-cap" });
  root.append(el("section", { class: "gv-fig" }, el("div", { class: "gv-size-controls" }, select, context.box, batch.box, format.box), formula, bars, sentence, source, el("p", { class: "gv-note" }, io.fixed.note)));

  function slider(label, low, high, get, set, unit) {
    const input = el("input", { type: "range", min: low, max: high, step: "1", "aria-label": label, oninput: () => { set(Number(input.value)); paint(); } }), out = el("output");
    input.value = get();
    return { box: el("label", { class: "gv-cap" }, label, input, out), show: () => { const n = 2 ** get(); input.value = get(); out.textContent = whole(n) + (unit ? " " + unit : ""); input.setAttribute("aria-valuetext", out.textContent); } };
  }
  function paint() {
    const spec = models[state.at], [name, L, h, kv, d, , longest, from] = spec, T = 2 ** state.power, B = 2 ** state.batch;
    const found = gptviz.cacheSize(spec, T, B, state.element), most = Math.max(found.weights, found.cache, kv < h ? found.multi : 0);
    context.show(); batch.show();
    formula.textContent = `2 · ${L} layers · ${kv} key/value heads · ${d} · ${state.element} B = ${whole(found.each)} B per token`;
    const row = (label, kind, bytes) => { const bar = el("i", { class: kind }); bar.style.width = (100 * bytes / most).toFixed(2) + "%"; return [el("span", {}, label), el("div", {}, bar), el("b", {}, gigabytes(bytes))]; };
    bars.textContent = "";
    bars.append(...row("weights", "weights", found.weights), ...row("cache", found.cache > found.weights ? "cache more" : "cache", found.cache));
    if (kv < h) bars.append(...row(`with ${h} key/value heads`, "ghost", found.multi));
    const more = found.cache > found.weights;
    say(sentence, em(name), `: ${whole(T * B)} tokens of cache weigh `, em(gigabytes(found.cache), more ? "w" : ""), more ? ", more than the weights." : `, ${percent(found.cache / found.weights)} of the weights.`,
      ` From ${whole(found.crossing)} tokens on, over all texts, the cache is the heavier.`, T > longest ? ` The model itself reads at most ${whole(longest)} tokens.` : "", kv < h ? ` Sharing saves a factor of ${+(h / kv).toFixed(2)}.` : "");
    source.textContent = `Source: ${from}`;
  }
  const percent = (x) => gptviz.percent(x);
  function gigabytes(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let k = 0;
    while (bytes >= 1000 && k < units.length - 1) { bytes /= 1000; k++; }
    return (k === 0 ? whole(bytes) : bytes.toFixed(1)) + "\u00a0" + units[k];
  }
  return paint;
};

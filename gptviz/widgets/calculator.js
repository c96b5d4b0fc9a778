// Parameters from a shape: every change is counted by the server's own formula, the one the tests hold against real models.
"use strict";
gptviz.mount.calculator = function (root, io) {
  const { el, say, em, whole } = gptviz;
  const SHADES = { tokens: 1, positions: 0.4, attention: 0.75, ffn: 0.55, norms: 0.25, head: 0.9 };
  const NAMES = { tokens: "token table", positions: "position table", attention: "attention", ffn: "feed-forward", norms: "norms", head: "LM head of its own" };
  const FIELDS = [["d", "width d"], ["L", "blocks L"], ["h", "heads h"], ["kv_heads", "key/value heads"], ["V", "vocabulary V"], ["C", "context C"], ["ffn_width", "feed-forward width"]];
  let v = null, wanted = 0, timer = 0;
  const state = { name: "", ffn: "gelu", tied: true };
  const preset = el("select", { class: "gv-in", "aria-label": "Start from a public model", onchange: () => take(preset.value) });
  const inputs = Object.fromEntries(FIELDS.map(([key, label]) => [key, el("input", { class: "gv-in", type: "number", min: key === "ffn_width" ? "0" : "1", step: "1", "aria-label": label, oninput: later })]));
  const kind = gptviz.segment("Feed-forward kind", [["gelu", "GELU (GPT-2 style)"], ["swiglu", "SwiGLU (Llama style)"]], "gelu", (k) => { state.ffn = k; later(); });
  const tied = gptviz.segment("LM head", [["true", "tied"], ["false", "own head"]], "true", (k) => { state.tied = k === "true"; later(); });
  const total = el("div", { class: "gv-totals" }), bar = el("div", { class: "gv-parts", role: "img" }), key = el("div", { class: "gv-partkey" }), note = el("p", { class: "gv-cap" }), trouble = el("p", { class: "gv-say", "aria-live": "polite" });
  root.append(el("section", { class: "gv-fig gv-calc" },
    el("div", { class: "gv-fields" }, el("label", { class: "gv-wide" }, "start from", preset), ...FIELDS.map(([k, label]) => el("label", {}, label, inputs[k])), el("div", { class: "gv-wide" }, kind.box), el("div", { class: "gv-wide" }, tied.box)),
    el("div", {}, total, trouble, bar, key, note)));

  function draw(value) {
    if (!value) return;
    if (!v) {
      v = value;
      for (const name of Object.keys(v.presets)) preset.append(el("option", { value: name }, name));
      take(v.start);
    } else later(); // a new theme or width
  }
  function take(name) {
    const p = v.presets[name];
    preset.value = name; state.name = name; state.ffn = p.ffn; state.tied = p.tied;
    for (const [k] of FIELDS) inputs[k].value = p[k];
    kind.set(p.ffn); tied.set(String(p.tied));
    count();
  }
  function later() { clearTimeout(timer); timer = setTimeout(count, 60); }
  async function count() {
    const mine = ++wanted, asked = { ...state };
    for (const [k] of FIELDS) asked[k] = inputs[k].value === "" ? null : Number(inputs[k].value);
    const a = await io.server.count(asked).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== wanted) return;
    trouble.hidden = !a.error; bar.hidden = key.hidden = Boolean(a.error);
    if (a.error) { say(trouble, em(a.error, "w")); return; }
    const figure = (big, small) => el("div", {}, el("b", {}, big), el("span", {}, small));
    say(total, figure(whole(a.total), "parameters"), figure(whole(a.untied_total), "with a head of its own"), figure(`${whole(a.table)} = ${(100 * a.tying_share).toFixed(a.tying_share < 0.01 ? 2 : 1)} %`, state.tied ? "saved by tying" : "tying would save"));
    bar.textContent = ""; key.textContent = "";
    const said = [];
    for (const [part, shade] of Object.entries(SHADES)) {
      if (!a[part]) continue;
      const share = a[part] / a.total, piece = el("i", { title: `${NAMES[part]}: ${whole(a[part])}` }), swatch = el("i");
      piece.style.width = 100 * share + "%"; piece.style.background = swatch.style.background = gptviz.mix("--grid", "--key", shade);
      bar.append(piece);
      said.push(`${NAMES[part]} ${(100 * share).toFixed(1)} %`);
      key.append(el("span", {}, swatch, `${NAMES[part]} `, el("b", {}, whole(a[part])), ` (${(100 * share).toFixed(share < 0.001 ? 2 : 1)} %)`));
    }
    bar.setAttribute("aria-label", said.join(", "));
    note.textContent = a.source ? `Sizes: ${a.source}.` : "A shape of your own.";
  }
  return draw;
};

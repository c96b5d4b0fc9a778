// The mask page's bench: replace a token, open layers, and see what moves. The column of chips is the column of rows.
"use strict";
gptviz.mount.mask = function (root, io) {
  const { el, say, em, segment, number } = gptviz;
  const state = { position: 0, replacement: " the", direction: "none", open: new Set() };
  let v = null, found = null, wanted = 0;

  const strip = el("div", { class: "gv-strip gv-pickstrip", role: "group", "aria-label": "Choose the token to replace" });
  const input = el("input", { class: "gv-in", type: "text", size: "10", "aria-label": "Replace it by", spellcheck: "false",
    onchange: () => { state.replacement = input.value; load(); } });
  const gutter = el("div", { class: "gv-gutter", role: "group", "aria-label": "Layers; press one to take its mask away" });
  const picture = el("div");
  const sheet = gptviz.sheet(picture, { label: "Contamination map; arrow keys move, Enter replaces that column's token", onmove: speak, onpick: choose });
  const direction = segment("Open layers read", [["causal", "causal"], ["none", "everything"], ["wrong_way", "only forward"]], "none",
    (d) => { state.direction = d; load(); });
  const quick = el("div", { class: "gv-chips", role: "group", "aria-label": "Layers at once" });
  const summary = el("p", { class: "gv-say gv-mask-summary", "aria-live": "polite" }), sentence = el("p", { class: "gv-cap gv-mask-cell" });
  const legend = el("div", { class: "gv-cap gv-mask-legend" },
    el("span", {}, el("i", { class: "gv-sw zero" }), "exactly 0"), el("span", {}, el("i", { class: "gv-sw key" }), "moved, as it may"),
    el("span", {}, el("i", { class: "gv-sw warn" }), "moved by what comes later"));
  const reveal = gptviz.reveal(io.fixed.words.map, picture, () => paint());
  const map = el("div", { class: "gv-map" }, gutter, reveal.frame);
  const parts = gptviz.leaks(io);
  root.append(
    el("section", { class: "gv-fig gv-maskfig" },
      el("div", { class: "gv-figtitle" }, "1 · Replace a token", el("span", { class: "gv-cap" }, "click the one to replace"), el("label", { class: "gv-cap gv-push" }, "by ", input)),
      strip, reveal.asked,
      el("div", { class: "gv-mask-body" },
        el("div", { class: "gv-mask-side" },
          el("div", { class: "gv-figtitle" }, "2 · Take masks away"),
          el("p", { class: "gv-cap" }, "Press a layer beside its row, or"), quick,
          el("p", { class: "gv-cap" }, "An open layer reads"), direction.box,
          el("div", { class: "gv-figtitle gv-mask-h" }, "3 · Read the map"), summary, sentence, legend,
          el("button", { type: "button", class: "gv-btn gv-mask-png", onclick: () => gptviz.savePicture(sheet.canvas(), "contamination-map.png") }, "PNG")),
        map)),
    parts.node);

  for (const [name, pick] of [["none", () => []], ["first", () => [0]], ["middle", (L) => [L >> 1]], ["last", (L) => [L - 1]], ["all", (L) => [...Array(L).keys()]]]) {
    quick.append(el("button", { type: "button", class: "gv-chip", onclick: () => {
      if (!v) return;
      state.open = new Set(pick(v.layers));
      if (state.direction === "causal" && state.open.size) { state.direction = "none"; direction.set("none"); }
      load();
    } }, name));
  }
  const waiting = gptviz.waiting(root.querySelector(".gv-maskfig > .gv-figtitle"), root.querySelector(".gv-mask-side"));
  strip.before(waiting.line);

  function draw(value) {
    if (!value) return;
    if (value !== v) {
      const other = !v || v.model !== value.model;
      v = value;
      waiting.over();
      if (other) state.open = new Set();
      state.position = v.position; state.replacement = v.replacement; input.value = v.replacement;
      found = null;
      tokens();
      if (asking().open_layers.length) load(); else take(v.first, asking()); // layers opened before stay open
    } else paint();
  }

  // What is asked of the server: no layer named in an opening direction would mean all of them.
  function asking() {
    const open = state.direction === "causal" ? [] : [...state.open].sort((a, b) => a - b);
    return { text: v.text, model: v.model, open_layers: open, direction: open.length ? state.direction : "causal" };
  }
  async function load() {
    if (!v) return;
    const mine = ++wanted, of = v, request = asking();
    gptviz.maskState = request;
    window.dispatchEvent(new CustomEvent("gv-mask"));
    chips();
    if (!reveal.wait(request.open_layers.length > 0)) say(summary, "Guess first: which rows will move?");
    map.setAttribute("aria-busy", "true");
    const answer = await io.server.map({ ...request, position: state.position, replacement: state.replacement })
      .catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== wanted || of !== v) return;
    map.removeAttribute("aria-busy");
    if (answer.error) say(summary, em(answer.error, "w"));
    else take(answer, request);
  }
  function take(answer, request) {
    found = { ...answer, request, change: gptviz.floats(answer.change) };
    gptviz.maskState = request;
    window.dispatchEvent(new CustomEvent("gv-mask"));
    map.removeAttribute("aria-busy");
    paint();
  }

  function tokens() {
    strip.textContent = "";
    v.tokens.slice(0, 400).forEach((text, k) => strip.append(el("button", { type: "button", class: "gv-tok", "aria-pressed": "false", onclick: () => choose(k) }, text)));
    if (v.tokens.length > 400) strip.append(el("span", { class: "gv-cap" }, "… the rest by clicking the map"));
  }
  function choose(k) { if (k !== state.position) { state.position = k; load(); } }

  function paint() {
    if (!v || !found) return;
    const T = v.tokens.length, L = v.layers, at = (r, k) => found.change[r * T + k], p = found.position;
    [...strip.querySelectorAll(".gv-tok")].forEach((b, k) => b.setAttribute("aria-pressed", String(k === state.position)));
    const moved = found.change.filter((x) => x > 0), shade = gptviz.logShade(Math.max(1e-6, Math.min(...moved)), Math.max(...moved));
    const open = found.open_layers.length > 0, ready = reveal.wait(open);
    const box = sheet.draw({
      count: L + 2, columns: v.tokens.map((t, k) => k === p ? found.replacement : t), rows: null, high: [22, 30], gaps: [L + 1], mark: p, start: [L, p],
      at, shade: (r, k, x) => x === 0 || !ready ? null : [k < p ? "--warn" : "--key", shade(x)], text: gptviz.short,
    });
    gutterAt(box);
    chips();
    if (ready) conclude(at, p, T, L);
    parts.take(v, found);
  }

  // The chips stand exactly beside the rows they belong to.
  function gutterAt(box) {
    if (gutter.childElementCount !== v.layers + 2) {
      gutter.textContent = "";
      gutter.append(el("span", {}, "embedding"));
      for (let k = 0; k < v.layers; k++) {
        gutter.append(el("button", { type: "button", class: "gv-layer", "aria-pressed": "false", onclick: () => flip(k) }, el("b", {}, `layer ${k}`), el("i", {})));
      }
      gutter.append(el("span", {}, "logits"));
    }
    [...gutter.children].forEach((node, r) => { node.style.top = box.y(r) + "px"; node.style.height = box.high - 2 + "px"; });
    gutter.style.height = box.height + "px";
  }
  function flip(k) {
    if (state.direction === "causal") { state.direction = "none"; direction.set("none"); }
    if (!state.open.delete(k)) state.open.add(k);
    load();
  }
  function chips() {
    const open = new Set(asking().open_layers);
    gutter.querySelectorAll(".gv-layer").forEach((b, k) => {
      b.setAttribute("aria-pressed", String(open.has(k)));
      b.title = open.has(k) ? `The mask of layer ${k} is off; press to put it back` : `Press to take the mask of layer ${k} away`;
      b.lastChild.textContent = open.has(k) ? "open" : "";
    });
    const pattern = (n) => ({ none: 0, all: v.layers }[n]);
    for (const b of quick.children) b.setAttribute("aria-pressed", String(pattern(b.textContent) === open.size));
  }

  // In words, from the numbers: which rows moved left of the edit.
  function conclude(at, p, T, L) {
    const open = found.open_layers;
    const moved = [...Array(L + 2).keys()].filter((r) => [...Array(p).keys()].some((k) => at(r, k) !== 0));
    const name = (r) => r === 0 ? "the embedding" : r === L + 1 ? "the logits" : `layer ${r - 1}`;
    const edit = em(`${v.tokens[p]} → ${found.replacement}`);
    if (p === 0) say(summary, edit, " stands first, so nothing is left of it. Click a later token.");
    else if (!moved.length) say(summary, edit, open.length ? ": nothing to its left moved." : ": with every mask on, everything to its left is ", open.length ? "" : em("exactly 0"), open.length ? "" : ` in all ${L + 2} rows.`);
    else {
      const first = moved[0], solid = moved.length === L + 2 - first;
      say(summary, edit, ": up to ", em(name(first - 1)), " everything to its left is ", em("exactly 0"), "; from ", em(name(first), "w"), solid ? " on, every row has moved: " : ", rows have moved: ",
        em(`${open.length === 1 ? "one open layer is" : open.length + " open layers are"} a leak for all that follow.`, "w"));
    }
    if (open.length === 1 && p > 0) {
      const k = open[0], before = moved.some((r) => r <= k), after = moved.length === L + 1 - k;
      const index = !moved.length ? 3 : before ? 2 : after ? (k === L - 1 ? [0, 1] : 1) : 0;
      reveal.answer({ index, text: `Layer ${k} was open: rows up to ${name(k)} stayed exactly 0; ${moved.length - 1} of ${L - k} layer rows from layer ${k} on moved, and so did the logits.` });
    }
  }
  function speak(r, k, x) {
    if (!found || (found.open_layers.length && !reveal.opened())) { sentence.textContent = ""; return; }
    const p = found.position, L = v.layers, where = r === 0 ? "After the embedding" : r === L + 1 ? "The logits: here" : `After layer ${r - 1}`;
    const tail = x === 0 ? " did not move: exactly 0." : ` moved by ${number(x)}${k < p ? ", though the edit comes later: a leak." : "."}`;
    say(sentence, where + ", ", k === p ? em(found.replacement, "w") : em(v.tokens[k]), k === p ? ` (put at position ${k})` : ` (position ${k})`, tail);
  }
  return draw;
};

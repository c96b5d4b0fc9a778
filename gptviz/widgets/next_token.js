// The next-token page's picture: the text so far, the bars of what could come next, and the knobs that shape them.
// All V logits arrive once a prompt (and once a written token); everything a slider changes is computed here.
"use strict";
gptviz.mount.next_token = function (root, io) {
  const { el, say, em, segment, whole } = gptviz, S = gptviz.sampling;
  let v = null, ready = null, result = null, tokens = [], frame = 0, slow = 0, asked = 0, settings = null, place = 0;
  const known = new Map(); // id → token object
  const words = Object.fromEntries(["draws", "order", "writing"].map((part) => [part, el("p", { class: "gv-cap" })]));

  const title = el("div", { class: "gv-figtitle" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" }), note = el("span");
  const counts = segment("How many bars", [["10", "10"], ["20", "20"], ["50", "50"]], "20", (n) => { shown = Number(n); rename(); paint(); });
  const axis = segment("Scale of the bars", [["linear", "linear"], ["root", "square root"]], "linear", (s) => { bars.setScale(s); paint(); });
  let shown = 20;
  const textFig = el("section", { class: "gv-fig gv-writer" }), barFig = el("section", { class: "gv-fig gv-pfig" }), barBox = el("div");
  const knobBox = el("div", { class: "gv-knobs" }), curveBox = el("div"), tryBox = el("div", { class: "gv-try" });
  const drawFig = el("section", { class: "gv-fig" }), orderFig = el("section", { class: "gv-fig" });
  barFig.append(title, barBox, sentence);
  root.append(el("div", { class: "gv-next" },
    textFig, el("div", { class: "gv-shape" }, barFig, el("section", { class: "gv-fig gv-shaping" }, el("div", { class: "gv-figtitle" }, "Shape the choice"), knobBox),
      el("section", { class: "gv-fig gv-more" }, tryBox, el("div", { class: "gv-figtitle" }, "Entropy over temperature", el("span", { class: "gv-cap" }, "nats, all tokens kept")), curveBox)),
    el("div", { class: "gv-pair" }, drawFig, orderFig)));

  const names = async (ids) => {
    const missing = ids.filter((id) => !known.has(id));
    if (missing.length) {
      const answer = await io.server.names({ model: v.model, ids: missing }).catch(() => ({}));
      for (const t of answer.tokens || []) known.set(t.id, t);
    }
    return ids.map((id) => names.now(id) || `id ${id}`);
  };
  names.now = (id) => known.get(id)?.shown || "";

  const bars = gptviz.bars(barBox, { onforce: (rank) => writer.append(ready.order[rank], ready.raw[rank], "forced") });
  const curve = gptviz.entropyCurve(curveBox);
  const drawPanel = gptviz.drawPanel(drawFig, { names, words: words.draws, settle });
  const orderPanel = gptviz.orderPanel(orderFig, { names, words: words.order, show: (s) => knobs.set(s) });
  const writer = gptviz.writer(textFig, { io, words: words.writing, names, moved, choose });
  const knobs = gptviz.knobs(knobBox, { onchange: (s) => { settings = gptviz.chosen = s; later(); } });

  // Slider moves are gathered: one paint a frame, always with the latest settings; the panels below follow when it rests.
  function later() { if (ready && !frame) frame = requestAnimationFrame(() => { frame = 0; paint(); }); }
  function compute() {
    result = S.stages(ready, settings);
    result.key = `${place} ${settings.temperature} ${settings.topK} ${settings.topP} ${settings.topPFirst}`;
  }
  function paint() {
    if (!ready) return;
    compute();
    bars.draw(ready, result);
    curve.move(settings.temperature, result.entropyTempered);
    root.dataset.painted = `${settings.temperature} ${settings.topK} ${settings.topP}`;
    clearTimeout(slow);
    slow = setTimeout(settle, 90);
  }
  function settle() {
    clearTimeout(slow); slow = 0;
    if (frame) { cancelAnimationFrame(frame); frame = 0; compute(); bars.draw(ready, result); }
    if (drawPanel.stale(result)) drawPanel.set(ready, result);
    orderPanel.draw(ready, settings, result);
    speak();
  }

  function speak() {
    const best = em(names.now(ready.order[0])), { kept, tempered, final } = result;
    if (settings.temperature === 0) say(sentence, "Temperature 0 is greedy: ", best, " takes everything, whatever its own ", em(gptviz.share(ready.raw[0])), ".");
    else say(sentence, best, " has ", em(gptviz.share(ready.raw[0])), " in the model, ", em(gptviz.share(tempered[0])), ` at temperature ${settings.temperature}`, settings.topPFirst ? " and " : ", and ", em(gptviz.share(final[0])), kept < ready.V ? ` once ${whole(kept)} of ${whole(ready.V)} tokens are kept.` : " with every token kept.");
  }

  function rename() { bars.names(tokens, Math.min(shown, tokens.length), ready.V); }
  // A position: its logits and the names of its likeliest tokens.
  function use(position) {
    const model = ready && ready.V;
    try { ready = S.prepare(gptviz.floats(position.logits)); } catch (error) { say(sentence, em(error.message, "w")); return; }
    tokens = JSON.parse(position.top); place++;
    for (const t of tokens) known.set(t.id, t);
    rename();
    if (model !== ready.V) knobs.vocabulary(ready.V);
    say(title, "Next token", el("span", { class: "gv-cap" }, note), el("span", { class: "gv-push" }), counts.box, axis.box);
    note.textContent = `the likeliest of ${whole(ready.V)}; percent, and the tick is the model’s own`;
    curve.prepare(ready);
    paint();
    settle();
  }

  // The writer moved to another place of the text: fetch what could come there.
  async function moved(ids) {
    const mine = ++asked;
    barFig.setAttribute("aria-busy", "true");
    const answer = ids.length ? await io.server.position({ text: v.text, model: v.model, ids }).catch(() => ({ error: "The server did not answer; is it still running?" })) : v;
    if (mine !== asked) return null;
    barFig.removeAttribute("aria-busy");
    if (answer.error) { say(sentence, em(answer.error, "w")); return null; }
    use(answer);
    return answer;
  }
  // What the writer appends: the best token, or a draw from the final bars with the number of this place.
  function choose(strategy, seed, place) {
    settle();
    const rank = strategy === "greedy" ? 0 : S.draws(result.final, result.kept, seed, 1, place)[0];
    return [ready.order[rank], ready.raw[rank]];
  }

  // The page's words, which come with its first value.
  function read({ words: given, tries }) {
    for (const [part, node] of Object.entries(words)) node.textContent = given[part];
    tryBox.replaceChildren(el("b", {}, "Try this"), ...tries.map(([text, temperature, topK, topP]) => el("button", { type: "button", class: "gv-trybtn", onclick: () => knobs.set({ temperature, topK, topP, topPFirst: false }) }, text)));
  }

  return function draw(value) {
    if (!value) return;
    // Gradio hands the same value over again when an event ends; what the reader has done since must stay.
    const same = v && value.text === v.text && value.model === v.model && value.logits === v.logits;
    if (same) { if (ready) { curve.paint(); drawPanel.paint(); } return; }
    v = value; known.clear(); asked++;
    barFig.removeAttribute("aria-busy");
    read(v);
    writer.reset(v);
    use(v);
  };
};

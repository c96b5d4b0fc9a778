// The same prompt continued in four ways, side by side, and the tree of the beam search.
"use strict";
gptviz.mount.strategies = function (root, io) {
  const { el, say, em, percent, whole } = gptviz;
  const STOPS = { end_of_text: "It ended by itself, with the end-of-text token", length: "It stopped at the length limit", context: "It stopped because the context is full" };
  const number = (value, min, max, label) => el("input", { type: "number", class: "gv-in", value, min, max, step: 1, "aria-label": label });
  const length = number("", 1, 200, "tokens each"), beams = number(3, 1, 16, "beams kept"), seed = number(0, 0, 4294967295, "seed");
  const go = el("button", { type: "button", class: "gv-btn", onclick: start }, "Write all four"), stop = el("button", { type: "button", class: "gv-btn", hidden: true, onclick: cancel }, "Cancel");
  const state = el("span", { class: "gv-cap", "aria-live": "polite" }), columns = el("div", { class: "gv-columns" }), tree = el("div");
  const words = el("p", { class: "gv-cap" });
  const treeFig = el("section", { class: "gv-fig", hidden: true }, el("div", { class: "gv-figtitle" }, "The beams"), words, tree);
  const label = (text, input) => el("label", { class: "gv-cap" }, text + " ", input);
  root.append(el("div", { class: "gv-tools" }, go, stop, label("tokens each", length), label("beams", beams), label("seed", seed), state), columns, treeFig);
  const picture = gptviz.beamTree(tree);
  let running = false, used = null, last = null, started = false;

  function start() {
    const ask = { n: Number(length.value), beams: Number(beams.value), seed: Number(seed.value) };
    if (!length.value || !beams.value || !seed.value) { say(state, em("Fill in all three numbers.", "w")); return; }
    // Untouched knobs would only repeat the column beside it.
    const mine = gptviz.chosen, plain = !mine || (mine.temperature === 1 && !mine.topK && mine.topP === 1);
    used = { ...ask, settings: plain ? { temperature: 0.8, topK: 0, topP: 0.9, topPFirst: false } : mine, plain };
    running = true;
    buttons("Writing …");
    io.trigger("act", used);
    setTimeout(() => { if (running && !last) buttons(""); }, 8000); // refused: the sentence is in the corner
  }
  function cancel() { running = false; io.trigger("pick", {}); buttons("Cancelled."); }
  function buttons(text) { go.disabled = running && Boolean(text); stop.hidden = !running; state.textContent = text; }

  const titles = () => {
    const s = used ? used.settings : null;
    const mine = s ? [`temperature ${s.temperature}`, s.topK ? `top-k ${whole(s.topK)}` : "", s.topP < 1 ? `top-p ${s.topP}` : "", s.topPFirst ? "top-p first" : ""].filter(Boolean).join(", ") : "";
    return [["Greedy", "always the likeliest"], ["Drawn", "from the untouched bars"], [used && used.plain ? "Drawn, cut" : "Drawn, your settings", used && used.plain ? `${mine}; the knobs above change this` : mine], ["Beam search", used ? `the ${used.beams} best kept` : ""]];
  };
  return function draw(value) {
    if (!value) return;
    words.textContent = value.words;
    if (!started) { started = true; length.value = value.tokens; }
    if (!value.state) { running = false; last = null; columns.textContent = ""; treeFig.hidden = true; buttons(""); return; }
    if (value !== last) { last = value; if (value.ended) running = false; buttons(running ? "Writing …" : ""); }
    const { texts, tree: nodes, best } = JSON.parse(value.state);
    columns.replaceChildren(...texts.map((text, k) => column(titles()[k], text)));
    treeFig.hidden = !nodes.length;
    if (nodes.length) picture.draw(nodes, best);
  };

  function column([title, caption], text) {
    const strip = el("div", { class: "gv-strip" });
    text.shown.forEach((shown, i) => {
      const loop = text.loops.find(([from, to]) => i >= from && i < to);
      const node = el("span", { class: `gv-tok${loop ? " gv-loop" : ""}`, title: `p ${percent(text.p[i])}` });
      if (shown.startsWith("·") && shown.length > 1) node.append(el("i", {}, "·"), shown.slice(1)); else node.append(shown);
      strip.append(node);
    });
    const nats = text.p.reduce((a, p) => a - Math.log(p), 0) / text.p.length, facts = el("p", { class: "gv-cap" });
    say(facts, text.p.length ? `${whole(text.p.length)} tokens, mean surprise ${nats.toFixed(2)} nats. ` : "", text.stop ? `${STOPS[text.stop]}.` : "");
    const loop = text.loops[0];
    if (loop) facts.append(" ", em(`A stretch of ${loop[2]} ${loop[2] === 1 ? "token" : "tokens"} is said ${loop[3]} times.`, "w"));
    return el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, title, el("span", { class: "gv-cap" }, caption)), strip, facts);
  }
};

// The tree: depth to the right, the best on top; the sum of ln p, and below it the sum per token. Filled: the winner. Pale: kept. Empty: dropped. Dashed: ended.
gptviz.beamTree = function (root) {
  const { el, say, em, percent } = gptviz, W = 118, H = 42, BOX = 96, HIGH = 36, MID = HIGH / 2;
  const NS = "http://www.w3.org/2000/svg";
  const svg = (tag, attributes, ...children) => { const node = document.createElementNS(NS, tag); for (const [k, x] of Object.entries(attributes)) node.setAttribute(k, x); node.append(...children); return node; };
  const scroll = el("div", { class: "gv-scroll gv-tree", tabindex: "0", role: "group", "aria-label": "Tree of the beam search" }), sentence = el("p", { class: "gv-say" });
  root.append(scroll, sentence);
  const FATES = { kept: "it is kept and goes on", finished: "the text ends here", dropped: "it is dropped: others are better" };
  const minus = (x) => x.toFixed(2).replace("-", "−");

  function draw(nodes, best) {
    const row = new Map(), places = nodes.map(([, depth]) => { const r = row.get(depth) || 0; row.set(depth, r + 1); return [8 + (depth - 1) * W, 8 + r * H]; });
    const width = 16 + row.size * W, height = 16 + Math.max(...row.values()) * H, winners = new Set(best);
    const links = svg("g", { class: "links" }), boxes = svg("g", {});
    nodes.forEach(([parent, depth, shown, logp, score, fate], k) => {
      const [x, y] = places[k], win = winners.has(k), each = minus(score / depth);
      if (parent >= 0) {
        const [px, py] = places[parent], a = px + BOX, m = (a + x) / 2;
        links.append(svg("path", { d: `M${a} ${py + MID}C${m} ${py + MID} ${m} ${y + MID} ${x} ${y + MID}`, class: win ? "win" : fate }));
      }
      const tell = () => say(sentence, em(shown), " follows with p ", em(percent(Math.exp(logp))), "; the sum of ln p from the prompt to here is ", em(minus(score)), ", which is ", em(each), " per token, and ", FATES[fate], ".");
      const box = svg("g", { class: `node ${fate}${win ? " win" : ""}`, tabindex: "0", role: "img", "aria-label": `${shown}, sum of ln p ${minus(score)}, per token ${each}, ${fate}` },
        svg("rect", { x, y, width: BOX, height: HIGH, rx: 5 }), svg("text", { x: x + 6, y: y + 15 }, shown.length > 6 ? shown.slice(0, 5) + "…" : shown), svg("text", { x: x + BOX - 5, y: y + 15, class: "score" }, minus(score)),
        svg("text", { x: x + BOX - 5, y: y + 29, class: "score" }, `${each} /token`));
      box.addEventListener("pointerenter", tell); box.addEventListener("focus", tell);
      boxes.append(box);
    });
    const stay = scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - W;
    scroll.replaceChildren(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, links, boxes));
    if (stay) scroll.scrollLeft = scroll.scrollWidth;
  }
  return { draw };
};

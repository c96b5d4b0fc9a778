// One input, two ways to learn from it: every token but the first, or the few that were masked.
"use strict";
gptviz.mount.signal = function (root) {
  const { el, say, css, whole } = gptviz;
  const sides = ["decoder", "encoder"].map((kind) => {
    const strip = el("div", { class: "gv-strip" }), facts = el("p", { class: "gv-say" }), map = el("canvas", { role: "img" }), caption = el("p", { class: "gv-cap" });
    root.append(el("section", { class: "gv-fig" }, el("h3", {}, kind === "decoder" ? "Decoder (GPT)" : "Encoder (BERT)"), strip, facts, el("div", { class: "gv-seen" }, map, caption)));
    return { kind, strip, facts, map, caption };
  });
  root.classList.add("gv-signal");
  const MOST = 300, FIRST = 8; // tokens on view, and in the picture of pairs
  function draw(value) {
    root.hidden = !value;
    if (!value) return;
    for (const side of sides) {
      const decoder = side.kind === "decoder", count = decoder ? value.decoder_targets : value.masked.length, hidden = new Set(value.masked);
      side.strip.textContent = "";
      value.tokens.slice(0, MOST).forEach((token, t) => {
        const asked = decoder ? t > 0 : hidden.has(t);
        side.strip.append(el("span", { class: "gv-tok" + (asked ? " gv-asked" : ""), title: asked ? "a target" : "only read" }, asked && !decoder ? "[MASK]" : token));
      });
      say(side.facts, gptviz.em(whole(count)), ` of ${whole(value.tokens.length)} tokens are targets`, decoder ? ", in one pass." : `. Counted in one series of random draws (seed 0, ${whole(count)} tokens masked in each pass): after ${whole(value.passes)} ${value.passes === 1 ? "pass" : "passes"} every token had been a target.`);
      const part = value.tokens.length > FIRST ? ` The picture shows the first ${FIRST} tokens.` : "";
      const pairs = decoder ? value.decoder_pairs : value.encoder_pairs;
      side.caption.textContent = decoder
        ? `Attention to the left: ${whole(pairs)} pairs may be read.${part}`
        : `Attention both ways: all ${whole(pairs)} pairs may be read, but a masked token never sees itself.${part}`;
      side.map.setAttribute("aria-label", side.caption.textContent);
      paint(side.map, decoder, Math.min(FIRST, value.tokens.length));
    }
  }
  function paint(node, decoder, n) {
    const s = 11, c = gptviz.canvas(node, n * s, n * s);
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
      c.fillStyle = css(!decoder || j <= i ? "--key" : "--grid");
      c.fillRect(j * s, i * s, s - 1, s - 1);
    }
  }
  return draw;
};

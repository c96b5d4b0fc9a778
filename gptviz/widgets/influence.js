// The influence matrix, column by column as the server finds them; it uses the layers opened on the bench above.
"use strict";
gptviz.mount.influence = function (root, io) {
  const { el, say, em, number } = gptviz;
  let v = null, asked = false;
  const setting = el("span", { class: "gv-cap" });
  const run = el("button", { type: "button", class: "gv-btn", disabled: true, onclick: start }, "Run");
  const stop = el("button", { type: "button", class: "gv-btn", hidden: true, onclick: () => { io.trigger("pick", {}); idle(); } }, "Stop");
  const picture = el("div", { class: "gv-influence" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const side = el("div", {}, sentence, el("div", { class: "gv-cap gv-mask-legend" },
    el("span", {}, el("i", { class: "gv-sw zero" }), "exactly 0"), el("span", {}, el("i", { class: "gv-sw key" }), "moved, as it may"), el("span", {}, el("i", { class: "gv-sw warn" }), "moved by what comes later")));
  const matrix = gptviz.matrix(picture, { label: "Influence matrix; rows are outputs, columns are replaced tokens", onmove: speak });
  const figure = el("div", { class: "gv-influence-body" }, picture, side);
  const reveal = gptviz.reveal(io.fixed.words, figure, () => paint());
  const count = el("p", { class: "gv-cap", "aria-live": "polite" }, "Waiting for the model."), tally = el("p", { class: "gv-say gv-tally" });
  root.append(el("section", { class: "gv-fig" },
    el("div", { class: "gv-figtitle" }, "Replace every token in turn", setting, el("span", { class: "gv-push" }), run, stop),
    reveal.asked, count, tally, reveal.frame));
  figure.hidden = true;

  const request = () => gptviz.maskState || (v && { open_layers: [], direction: "causal" });
  const same = () => v && v.matrix && JSON.stringify([v.open_layers, v.direction]) === JSON.stringify([request().open_layers, request().direction]);
  function settings() {
    const r = request();
    if (!r) return;
    const open = r.open_layers, shown = v.matrix ? v.open_layers : open, names = open.length > 6 ? `${open.length} layers` : `layer${open.length > 1 ? "s" : ""} ${open.join(", ")}`;
    setting.textContent = open.length ? `${names} open above` : "every mask on";
    reveal.asked.hidden = shown.length > 0; // the guess is about a model with every mask on
    const T = v.tokens.length;
    run.textContent = T > v.most ? `Takes at most ${v.most} tokens` : `Run ${T} ${T === 1 ? "prompt" : "prompts"}`;
    run.disabled = T > v.most || asked;
    if (v.matrix && !asked) count.textContent = same() ? "" : "The picture below is from before you changed the layers; run it again.";
  }
  function start() {
    if (!v) return;
    asked = true; stop.hidden = false; run.disabled = true;
    count.textContent = "Waiting for the model.";
    io.trigger("act", { open_layers: request().open_layers, direction: request().direction });
  }
  function idle() { asked = false; stop.hidden = true; count.textContent = "Stopped."; settings(); }

  function draw(value) {
    if (!value) return;
    if (v && value.matrix && (value.text !== v.text || value.model !== v.model)) return; // late, of another prompt
    const other = value !== v;
    v = value;
    if (other && (value.error || !value.matrix || value.done === v.tokens.length)) { asked = false; stop.hidden = true; count.textContent = ""; }
    settings();
    if (value.error) count.textContent = value.error;
    figure.hidden = !value.matrix; tally.hidden = true;
    if (!value.matrix) return;
    if (value.done < v.tokens.length) count.textContent = `${value.done} of ${v.tokens.length} prompts done.`;
    paint();
  }
  function paint() {
    if (!v || !v.matrix) return;
    const T = v.tokens.length, m = gptviz.floats(v.matrix), at = (i, j) => m[i * T + j];
    const moved = m.filter((x) => x > 0), shade = gptviz.logShade(Math.max(1e-4, Math.min(...moved)), Math.max(...moved));
    const open = v.open_layers.length > 0, ready = reveal.wait(!open);
    matrix.draw({ tokens: v.tokens, most: 46, start: [Math.min(T - 1, T >> 1), Math.min(T - 1, (T >> 1) + 1)],
      at: (i, j) => at(i, j), text: (x) => gptviz.short(x),
      shade: (i, j, x) => j >= v.done || Number.isNaN(x) || x === 0 || !ready ? null : [j > i ? "--warn" : "--key", shade(x)] });
    if (v.done < T || !ready) return;
    let right = 0, left = 0;
    for (let i = 0; i < T; i++) for (let j = 0; j < T; j++) if (at(i, j) !== 0) { if (j > i) right++; else if (j < i) left++; }
    const pairs = T * (T - 1) / 2;
    const text = `${right} of ${pairs} pairs right of the diagonal moved, ${left} of ${pairs} left of it.`;
    tally.hidden = !open;
    if (open) tally.textContent = text; else reveal.answer({ index: right ? (left ? 2 : 1) : 0, text });
  }
  function speak(i, j, x) {
    if (!v || !v.matrix || j >= v.done) return;
    const place = (k) => em(`${v.tokens[k]} (${k})`);
    if (x === 0) say(sentence, "Replacing ", place(j), " moves the output at ", place(i), " by ", em("exactly 0"), j > i ? ": it comes later, and the mask hides it." : ".");
    else say(sentence, "Replacing ", place(j), " moves the output at ", place(i), " by ", em(number(x), j > i ? "w" : ""), j > i ? ", though it comes later: a leak." : i === j ? ": its own prediction changes." : ".");
  }
  window.addEventListener("gv-mask", () => { if (root.isConnected && v) settings(); });
  return draw;
};

// Every prefix length: rows are lengths, columns positions. Beside it the toy whose mask leaks inside blocks.
"use strict";
gptviz.mount.prefixes = function (root, io) {
  const { el, say, em, number } = gptviz;
  let v = null, asked = false;
  const toyBox = el("div"), toySays = el("p", { class: "gv-cap" }), toyFigure = el("div", {}, toyBox, toySays);
  const toyReveal = gptviz.reveal(io.fixed.words, toyFigure, paintToy);
  const toySheet = gptviz.sheet(toyBox, { label: "All prefixes of a toy with a leak inside blocks of four", onmove: (r, k, x) => {
    say(toySays, `Keep the first ${r + 1}: output ${k + 1} `, x === 0 ? "does not move." : em(`moves by ${number(x, 2)}.`, "w"));
  } });
  const setting = el("span", { class: "gv-cap" });
  const run = el("button", { type: "button", class: "gv-btn", disabled: true, onclick: start }, "Run");
  const stop = el("button", { type: "button", class: "gv-btn", hidden: true, onclick: () => { io.trigger("pick", {}); asked = false; stop.hidden = true; count.textContent = "Stopped."; settings(); } }, "Stop");
  const count = el("p", { class: "gv-cap gv-count", "aria-live": "polite" }, "Waiting for the model."), picture = el("div"), cellSays = el("p", { class: "gv-cap" }), verdict = el("p", { class: "gv-say", "aria-live": "polite" });
  const sheet = gptviz.sheet(picture, { label: "All prefixes of the prompt; arrow keys move", onmove: speak });
  root.append(el("div", { class: "gv-prefixes" },
    el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "A toy with a sly leak", el("span", { class: "gv-cap" }, "rows: words kept; columns: outputs")), toyReveal.asked, toyReveal.frame),
    el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "All prefixes of your prompt", setting, el("span", { class: "gv-push" }), run, stop), count, picture, verdict, cellSays)));

  const request = () => gptviz.prefixState || { open_layers: [], direction: "causal", method: "edit" };
  const key = (r) => JSON.stringify([r.open_layers, r.direction, r.method]);
  function settings() {
    if (!v) return;
    const r = request(), T = v.tokens.length, N = T * (T - 1) / 2;
    const mask = r.direction === "causal" ? "mask on" : r.open_layers.length ? `layer ${r.open_layers} open` : r.direction === "none" ? "mask off" : "wrong way";
    setting.textContent = `${mask}, ${r.method === "edit" ? "ending changed" : "ending cut off"}: as set above`;
    run.textContent = T > v.most ? `Takes at most ${v.most} tokens` : T < 2 ? "Needs 2 tokens" : `Check ${gptviz.whole(N)} outputs`;
    run.disabled = asked || T > v.most || T < 2;
    if (v.matrix && !asked) count.textContent = key(v.asked) === key(r) ? "" : "The picture below is from before you changed the settings; run it again.";
  }
  function start() {
    if (!v) return;
    asked = true; stop.hidden = false; run.disabled = true; count.textContent = "Waiting for the model.";
    io.trigger("act", request());
  }
  function draw(value) {
    paintToy();
    if (!value) return;
    if (v && value.matrix && (value.text !== v.text || value.model !== v.model)) return; // late, of another prompt
    const fresh = value !== v;
    v = value;
    const ready = v.matrix && v.done === v.tokens.length - 1;
    if (fresh && (!v.matrix || ready)) { asked = false; stop.hidden = true; count.textContent = ""; }
    settings();
    picture.hidden = !v.matrix;
    if (!v.matrix) { verdict.textContent = ""; cellSays.textContent = ""; return; }
    if (!ready) count.textContent = `${v.done} of ${v.tokens.length - 1} lengths done.`;
    paint(ready);
  }
  function triangle(sheetOf, rows, names, columns, tolerance, most) {
    const all = rows.flat().filter((x) => x > 0), shade = gptviz.logShade(Math.max(1e-6, Math.min(...all, 1)), Math.max(...all, 1e-5));
    sheetOf.draw({ count: rows.length, columns, rows: names, high: [9, most], start: [rows.length - 1, 0],
      at: (r, k) => k <= r ? rows[r][k] : null, shade: (r, k, x) => x > tolerance ? ["--warn", shade(x)] : null, text: gptviz.short });
  }
  function paint(ready) {
    const T = v.tokens.length, m = gptviz.floats(v.matrix), rows = [];
    for (let n = 1; n <= v.done; n++) rows.push(Array.from(m.subarray((n - 1) * T, n * T)));
    triangle(sheet, rows, rows.map((_, n) => `first ${n + 1}`), v.tokens.slice(0, -1), v.tolerance, 28);
    if (!ready) { verdict.textContent = ""; return; }
    const N = T * (T - 1) / 2, bad = rows.flatMap((row, n) => row.slice(0, n + 1)).filter((x) => x > v.tolerance).length;
    if (bad) say(verdict, em(`${gptviz.whole(bad)} of ${gptviz.whole(N)} outputs changed.`, "w"), " The model reads ahead.");
    else say(verdict, el("em", { class: "gv-ok" }, `${gptviz.whole(N)} outputs checked, none changed`), v.tolerance === 0 ? ", bit for bit." : ` beyond ${number(v.tolerance)}.`);
  }
  function paintToy() {
    toyReveal.wait(true);
    const rows = io.fixed.chunks, hidden = !toyReveal.opened();
    triangle(toySheet, hidden ? rows.map((row) => row.map(() => 0)) : rows, rows.map((_, n) => `first ${n + 1}`), rows[0].slice(0, -1).map((_, k) => String(k + 1)), 0, 30);
    if (!hidden) toyReveal.answer({ index: rows[3].every((x) => x === 0) ? 1 : 0, text: io.fixed.answer });
  }
  function speak(r, k, x) {
    if (!v || !v.matrix) return;
    say(cellSays, `Keep the first ${r + 1}: the output at `, em(v.tokens[k]), ` (position ${k}) `, x === 0 ? "does not move: exactly 0." : `moves by ${number(x)}${x > v.tolerance ? "." : ", float noise."}`);
  }
  window.addEventListener("gv-prefix", () => { if (root.isConnected) settings(); });
  return draw;
};

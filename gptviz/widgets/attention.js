// The attention page's picture: every head on the left, the chosen one at full resolution on the right.
"use strict";
gptviz.mount.attention = function (root, io) {
  const { el, say, em, segment, percent, number } = gptviz;
  const STAGES = [["scores", "scores QKᵀ/√d_k"], ["masked", "masked"], ["weights", "weights"]];
  let v = null, head = null, stage = "weights", perRow = false, fetched = new Map(), wanted = 0;

  const title = el("div", { class: "gv-figtitle" });
  const kinds = el("div", { class: "gv-chips gv-kinds", role: "group", "aria-label": "Show heads of one kind" });
  const gridBox = el("div"), pooledNote = el("p", { class: "gv-cap" });
  const who = el("span"), kindNote = el("span", { class: "gv-cap" });
  const stages = segment("Stage", STAGES, stage, (s) => { stage = s; load(); });
  const scaling = segment("Colour scale", [["all", "one scale"], ["row", "per row"]], "all", (s) => { perRow = s === "row"; paint(); });
  const detail = el("div", { class: "gv-detail" }), facts = el("p", { class: "gv-cap" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" }), legend = el("span", { class: "gv-legend" });
  const png = el("button", { type: "button", class: "gv-btn", onclick: () => gptviz.savePicture(matrix.canvas(), name() + ".png") }, "PNG");
  const csv = el("button", { type: "button", class: "gv-btn", onclick: () => head && gptviz.saveText(table(), name() + ".csv", "text/csv") }, "CSV");
  const gridFig = el("section", { class: "gv-fig gv-heads" }, title, kinds, gridBox, pooledNote);
  const headFig = el("section", { class: "gv-fig gv-head" },
    el("div", { class: "gv-figtitle" }, who, kindNote, el("span", { class: "gv-push" }), stages.box),
    el("div", { class: "gv-head-body" }, detail, el("div", { class: "gv-head-side" }, sentence, facts,
      el("div", { class: "gv-tools" }, legend, scaling.box, png, csv))));
  root.append(el("div", { class: "gv-attention" }, gridFig, headFig));
  const grid = gptviz.headGrid(gridBox, { onpick: () => load() });
  const matrix = gptviz.matrix(detail, { label: "Attention of one head; arrow keys move the cell", onmove: speak });

  const name = () => { const [l, h] = grid.picked(); return `attention-layer${l}-head${h}-${stage}`; };
  const shown = (k) => v.tokens[k] + (v.tokens.filter((t) => t === v.tokens[k]).length > 1 ? ` (${k})` : "");

  function draw(value) {
    if (!value) return;
    // Gradio delivers a last value twice, as another object: what the reader chose must survive that.
    const fresh = !v || value.text !== v.text || value.model !== v.model || value.thumbs !== v.thumbs;
    if (fresh) {
      v = value; v.bytes = v.bytes || gptviz.bytes(v.thumbs);
      fetched = new Map();
      const model = v.model + v.layers + "x" + v.heads;
      if (draw.model !== model) { grid.choose(...v.start); draw.model = model; }
      say(title, `All ${v.layers * v.heads} heads`, el("span", { class: "gv-cap" }, "layers down, heads across"));
      drawKinds();
      pooledNote.textContent = v.pooled ? `Each small picture has ${v.side} × ${v.side} cells for ${v.tokens.length} tokens: a cell shows the largest weight of its block.` : "";
    }
    grid.draw(v, gridFig.clientWidth - 34);
    if (fresh) { grid.describe(); load(); } else paint();
  }

  function drawKinds() {
    kinds.textContent = "";
    const counts = new Map(gptviz.KINDS.map((k) => [k, v.stats.filter((s) => s[0] === k).length]));
    for (const [kind, count] of counts) {
      if (!count) continue;
      const button = el("button", { type: "button", class: "gv-chip", "aria-pressed": "false", title: v.explain[kind], onclick: () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        for (const other of kinds.children) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(on));
        grid.filter(on ? kind : null);
      } }, `${gptviz.KIND_NAMES[kind]} ${count}`);
      kinds.append(button);
    }
    grid.filter(null);
  }

  // The chosen head's numbers come from the server, and a few dozen are kept.
  async function load() {
    const [l, h] = grid.picked(), key = `${l} ${h} ${stage}`, mine = ++wanted, of = v;
    who.textContent = `Layer ${l}, head ${h}`;
    const [kind, entropy, first, previous, induction] = v.stats[l * v.heads + h];
    kindNote.textContent = gptviz.KIND_NAMES[kind];
    facts.textContent = `${v.explain[kind]} Averages over the rows from the third on that can read the token: first token ${percent(first)}, previous token ${percent(previous)}, entropy ${number(entropy, 2)} nats. Induction, on unrelated words said twice: ${percent(induction)}.`;
    if (!fetched.has(key)) {
      headFig.setAttribute("aria-busy", "true");
      const answer = await io.server.head({ text: v.text, model: v.model, layer: l, head: h, stage }).catch(() => ({ error: "The server did not answer; is it still running?" }));
      if (of !== v) return;
      if (answer.error) { if (mine === wanted) { say(sentence, em(answer.error, "w")); headFig.removeAttribute("aria-busy"); } return; }
      if (fetched.size >= (v.tokens.length > 256 ? 4 : 48)) fetched.delete(fetched.keys().next().value);
      fetched.set(key, unpack(answer));
    }
    if (mine !== wanted) return;
    headFig.removeAttribute("aria-busy");
    head = fetched.get(key);
    paint();
  }
  // A triangle [T(T+1)/2] or a square [T²] of float32; what the mask removed is NaN.
  function unpack({ values, square }) {
    const raw = gptviz.floats(values), T = v.tokens.length;
    if (square) return raw;
    const full = new Float32Array(T * T).fill(NaN);
    for (let i = 0, at = 0; i < T; i++) { full.set(raw.subarray(at, at + i + 1), i * T); at += i + 1; }
    return full.map((x) => x === -Infinity ? NaN : x); // behind a sliding window, inside the triangle
  }

  function paint() {
    if (!head || !v) return;
    const T = v.tokens.length, values = head, isWeight = stage === "weights";
    const tops = new Float32Array(T);
    for (let i = 0; i < T; i++) for (let j = 0; j < T; j++) { const x = Math.abs(values[i * T + j]); if (x > tops[i]) tops[i] = x; }
    const top = isWeight ? 1 : Math.max(...tops) || 1;
    matrix.draw({
      tokens: v.tokens, start: [T - 1, Math.max(0, T - 2)], most: 54,
      at: (i, j) => values[i * T + j],
      shade: (i, j, x) => {
        if (Number.isNaN(x)) return null;
        const share = Math.abs(x) / ((perRow ? tops[i] : top) || 1);
        return [x < 0 ? "--warn" : "--key", isWeight ? Math.sqrt(share) : share];
      },
      text: (x) => Number.isNaN(x) ? "" : isWeight ? (x > 0.08 ? String(Math.round(100 * x)) : "") : x.toFixed(1).replace("-", "−"),
    });
    const of = perRow ? "the row’s largest" : isWeight ? "1" : number(top, 1);
    const swatch = el("i");
    swatch.style.background = `linear-gradient(90deg, ${isWeight ? "" : "var(--warn), "}var(--grid), var(--key))`;
    say(legend, isWeight ? "0" : perRow ? "−largest" : "−" + of, swatch, of, el("span", {}, isWeight ? "(colour grows with the square root)" : "(orange below zero)"));
  }

  function speak(i, j, x) {
    const q = em(shown(i)), k = em(shown(j));
    if (j > i && stage !== "scores") say(sentence, k, " comes after ", q, stage === "masked" ? ": its score is −∞, so softmax will give it " : ": its weight is ", em("exactly 0"), ".");
    else if (Number.isNaN(x)) say(sentence, "This layer reads a window, and ", k, " stands too far before ", q, ": its score is −∞, so softmax will give it ", em("exactly 0"), ".");
    else if (stage === "weights") say(sentence, q, " gives ", em(percent(x)), " of this head to ", k, i < v.tokens.length - 1 ? ". To everything on its right: 0 %, exactly." : ".");
    else say(sentence, "The query of ", q, " meets the key of ", k, " with a score of ", em(number(x, 3)), j > i ? ", which the mask will remove." : ".");
  }

  function table() {
    const T = v.tokens.length, rows = [["query", "token", ...v.tokens]];
    for (let i = 0; i < T; i++) rows.push([i, v.tokens[i], ...Array.from(head.subarray(i * T, (i + 1) * T), (x) => Number.isNaN(x) ? (stage === "weights" ? 0 : "-inf") : x)]);
    return "\ufeff" + rows.map((row) => row.map(gptviz.csv).join(",")).join("\n") + "\n";
  }
  return draw;
};

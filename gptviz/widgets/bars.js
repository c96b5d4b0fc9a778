// The bars: one row a token, three stages beside each other. Rows are positions in the ranking, never names, so two
// tokens that read alike stay two bars. Rows are made once and only their widths and numbers change.
"use strict";
// A probability in percent with two or three figures, short enough for a column.
gptviz.share = function (p) {
  const x = 100 * p;
  if (p === 0 || p === 1) return `${x}\u00a0%`;
  if (x > 99.9) return "> 99.9\u00a0%";
  if (x < 1e-3) return x.toExponential(0).replace("-", "−") + "\u00a0%";
  return x.toFixed(x >= 9.95 ? 1 : x >= 0.0995 ? 2 : 3) + "\u00a0%";
};
gptviz.bars = function (root, { onforce }) {
  const { el, whole } = gptviz;
  const STAGES = ["the model", "temperature", "top-k, top-p"];
  const heads = STAGES.map((title, k) => ({ title: el("b", {}, `${k + 1}  ${title}`), facts: el("span", { class: "gv-cap" }), ticks: el("div", { class: "gv-ticks", "aria-hidden": "true" }) }));
  const head = el("div", { class: "gv-prow gv-prowhead" }, el("span"), ...heads.map((h) => el("div", {}, h.title, h.facts, h.ticks)));
  const list = el("div", { class: "gv-prows", role: "list" });
  root.append(head, list);
  let rows = [], scale = "linear", tail = null;

  const place = (p) => scale === "linear" ? p : Math.sqrt(p);
  function setScale(next) {
    scale = next;
    for (const { ticks } of heads) {
      ticks.textContent = "";
      for (const p of scale === "linear" ? [0, 0.5, 1] : [0, 0.01, 0.1, 0.5, 1]) {
        const mark = el("i", {}, `${100 * p}`);
        mark.style.left = `${100 * place(p)}%`;
        ticks.append(mark);
      }
      ticks.lastChild.textContent = "100 %";
    }
  }

  function row(name) {
    const tracks = STAGES.map(() => ({ bar: el("i"), raw: el("u"), text: el("span"), seen: "" }));
    const cells = tracks.map((t, k) => el("div", { class: `gv-pcell gv-stage${k}` }, el("div", { class: "gv-ptrack" }, t.bar, k ? t.raw : null), t.text));
    const node = el("div", { class: "gv-prow", role: "listitem" }, name, ...cells);
    return { node, name, tracks, kept: true };
  }
  // tokens: the ids' token objects by rank; count: how many bars.
  function names(tokens, count, V) {
    const twice = new Set(), seen = new Set();
    for (const t of tokens.slice(0, count)) (seen.has(t.shown) ? twice : seen).add(t.shown);
    rows = tokens.slice(0, count).map((token, rank) => {
      const label = el("button", { type: "button", class: "gv-ptok", title: about(token, rank), onclick: () => onforce(rank) });
      if (token.shown.startsWith("·") && token.shown.length > 1) label.append(el("i", {}, "·"), token.shown.slice(1)); else label.append(token.shown);
      if (twice.has(token.shown)) label.append(el("small", {}, ` id ${token.id}`));
      return row(label);
    });
    tail = V > rows.length ? row(el("span", { class: "gv-ptail" }, `${whole(V - rows.length)} others`)) : null;
    list.replaceChildren(...rows.map((r) => r.node), ...(tail ? [tail.node] : []));
    if (tail) tail.node.classList.add("gv-tailrow");
  }
  function about(t, rank) {
    const hex = t.bytes.map((b) => b.toString(16).toUpperCase().padStart(2, "0")).join(" ");
    return `Write this token: number ${rank + 1}, id ${t.id}, ${t.bytes.length === 1 ? "byte" : "bytes"} ${hex}`;
  }

  function fill(r, raw, tempered, final, kept) {
    [raw, tempered, final].forEach((p, k) => {
      const t = r.tracks[k], text = k === 2 && !kept ? "left out" : gptviz.share(p);
      t.bar.style.transform = `scaleX(${place(p)})`;
      if (k) t.raw.style.left = `${100 * place(raw)}%`;
      if (text !== t.seen) t.text.textContent = t.seen = text;
    });
    if (kept !== r.kept) { r.kept = kept; r.node.classList.toggle("out", !kept); }
  }
  function facts(k, entropy, extra) {
    heads[k].facts.textContent = `entropy ${entropy.toFixed(2)}, perplexity ${perplexity(entropy)}${extra}`;
  }
  const perplexity = (h) => { const x = Math.exp(h); return x >= 1000 ? whole(x) : x.toFixed(x < 10 ? 2 : 1); };

  // result: what gptviz.sampling.stages gave for `ready`.
  function draw(ready, result) {
    const { raw, V } = ready, { tempered, final, kept } = result, { sum } = gptviz.sampling;
    rows.forEach((r, i) => fill(r, raw[i], tempered[i], final[i], i < kept));
    if (tail) fill(tail, sum(raw, rows.length, V), sum(tempered, rows.length, V), sum(final, rows.length, V), kept > rows.length);
    facts(0, result.entropyRaw, "");
    facts(1, result.entropyTempered, "");
    facts(2, result.entropyFinal, `, ${whole(kept)} kept`);
  }
  setScale("linear");
  return { draw, names, setScale, count: () => rows.length };
};

// Entropy over temperature, drawn once a prompt a few points at a time; the point follows the slider.
gptviz.entropyCurve = function (root) {
  const { css } = gptviz, node = gptviz.el("canvas", { role: "img", "aria-label": "Entropy over temperature" });
  root.append(node);
  const STEPS = 60, TOP = 5;
  let values = [], ready = null, now = [1, 0], timer = 0;

  function prepare(next) {
    ready = next; values = [0];
    clearTimeout(timer);
    timer = setTimeout(more, 30);
  }
  function more() { // about 8 ms at a time, so that a slider never waits for the curve
    const scratch = more.p && more.p.length === ready.V ? more.p : (more.p = new Float64Array(ready.V)), until = performance.now() + 8;
    while (values.length <= STEPS && performance.now() < until) values.push(gptviz.sampling.entropyAt(ready, TOP * values.length / STEPS, scratch));
    paint();
    if (values.length <= STEPS) timer = setTimeout(more, 0);
  }
  function move(temperature, entropy) { now = [temperature, entropy]; paint(); }

  function paint() {
    if (!ready) return;
    const width = Math.max(220, root.clientWidth), height = 150, left = 34, bottom = 24, right = 10, top = 24;
    const c = gptviz.canvas(node, width, height), most = Math.log(ready.V);
    const x = (t) => left + (width - left - right) * Math.min(t, TOP) / TOP, y = (h) => height - bottom - (height - bottom - top) * h / most;
    c.font = `11px ${css("--mono")}`; c.textBaseline = "middle"; c.strokeStyle = css("--rule"); c.fillStyle = css("--soft"); c.lineWidth = 1;
    for (let t = 0; t <= TOP; t++) { c.textAlign = "center"; c.fillText(t, x(t), height - 10); }
    for (let h = 0; h < most; h += 2) { c.textAlign = "right"; c.fillText(h, left - 8, y(h)); c.globalAlpha = .6; line(c, [[left, y(h)], [width - right, y(h)]]); c.globalAlpha = 1; }
    c.setLineDash([4, 4]); c.strokeStyle = css("--soft"); line(c, [[left, y(most)], [width - right, y(most)]]); c.setLineDash([]);
    c.textAlign = "left"; c.fillText(`all equal: ln ${gptviz.whole(ready.V)} = ${most.toFixed(2)}`, left, y(most) - 10);
    c.strokeStyle = css("--key"); c.lineWidth = 2;
    line(c, values.map((h, k) => [x(TOP * k / STEPS), y(h)]));
    c.fillStyle = css("--warn"); c.beginPath(); c.arc(x(now[0]), y(now[1]), 5, 0, 7); c.fill();
    node.setAttribute("aria-label", `Entropy over temperature; at ${now[0]} it is ${now[1].toFixed(2)} nats of at most ${most.toFixed(2)}.`);
  }
  function line(c, points) { c.beginPath(); points.forEach(([a, b], k) => k ? c.lineTo(a, b) : c.moveTo(a, b)); c.stroke(); }
  return { prepare, move, paint };
};

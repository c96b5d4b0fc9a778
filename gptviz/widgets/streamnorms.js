// The length of every vector of the residual stream: layers down, positions across, the final norm at the bottom.
"use strict";
gptviz.mount.streamnorms = function (root) {
  const { el, say, em, css, number } = gptviz;
  const base = el("canvas"), over = el("canvas", { class: "gv-over", tabindex: "0", role: "img", "aria-label": "Length of each vector; arrow keys move" });
  const legend = el("span", { class: "gv-legend" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const show = el("button", { type: "button", class: "gv-btn", onclick: () => { revealed = true; draw(v); } }, "Show the lengths"), title = el("div", { class: "gv-figtitle" }, "Length of every vector in the stream", el("span", { class: "gv-cap" }, "layers down, positions across"), el("span", { class: "gv-push" }), show);
  const body = el("div", {}, el("div", { class: "gv-scroll" }, el("div", { class: "gv-stack" }, base, over)), legend, sentence);
  root.append(el("section", { class: "gv-fig" }, title, body));
  let v = null, rows = null, box = null, cell = [0, 0], revealed = false, low = 0, high = 1;

  const name = (i) => i === rows.length - 1 ? "after final norm" : i === 0 ? "embedding" : `after block ${i}`;
  function draw(value) {
    root.hidden = !value;
    if (!value) return;
    if (!v || v.text !== value.text || v.model !== value.model) cell = [value.norms.length - 1, value.norms[0].length - 1];
    v = value;
    if (v.reveal) revealed = true;
    show.hidden = revealed; body.hidden = !revealed;
    if (!revealed) return;
    rows = [...v.norms, v.final];
    const every = rows.flat().filter((x) => x > 0);
    low = Math.log(Math.min(...every)); high = Math.log(Math.max(...every));
    const T = v.final.length, left = 134, width = Math.max(280, (root.clientWidth || 320) - 40);
    const w = Math.max(2, Math.min(60, (width - left - 4) / T)), h = Math.max(15, Math.min(26, 420 / rows.length));
    box = { T, left, top: 4, w, h, width: left + T * w + 4, height: (rows.length + 0.4) * h + 26 };
    paint(); mark();
    const swatch = el("i");
    swatch.style.background = "linear-gradient(90deg, var(--grid), var(--key))";
    const short = (x) => x < 99.5 ? number(x, 1) : gptviz.whole(x);
    say(legend, short(Math.exp(low)), swatch, short(Math.exp(high)), el("span", {}, "(colour grows with the logarithm)"));
  }
  const y = (i) => box.top + i * box.h + (i === rows.length - 1 ? 0.4 * box.h : 0);
  function paint() {
    const c = gptviz.canvas(base, box.width, box.height), gap = box.w > 8 ? 1 : 0;
    c.font = `12px ${css("--mono")}`; c.textBaseline = "middle";
    const every = Math.ceil(14 / box.h);
    rows.forEach((row, i) => {
      c.fillStyle = css("--soft"); c.textAlign = "right";
      if (i % every === 0 || i > rows.length - 3) c.fillText(name(i), box.left - 8, y(i) + box.h / 2);
      row.forEach((x, t) => {
        const share = x > 0 ? (Math.log(x) - low) / (high - low || 1) : 0;
        c.fillStyle = gptviz.mix("--grid", "--key", share);
        c.fillRect(box.left + t * box.w, y(i), box.w - gap, box.h - gap);
        if (box.w < 38) return;
        c.fillStyle = css(share > 0.55 ? "--paper" : "--ink"); c.textAlign = "center";
        c.fillText(x >= 99.5 ? Math.round(x) : x.toFixed(1), box.left + (t + 0.5) * box.w - 0.5, y(i) + box.h / 2);
      });
    });
    c.fillStyle = css("--soft"); c.textAlign = "center";
    const step = Math.ceil(34 / box.w);
    for (let t = 0; t < box.T; t += step) c.fillText(t, box.left + (t + 0.5) * box.w, box.height - 10);
  }
  function mark() {
    const c = gptviz.canvas(over, box.width, box.height), [i, t] = cell;
    c.strokeStyle = css("--warn"); c.lineWidth = 2;
    c.strokeRect(box.left + t * box.w - 1, y(i) - 1, Math.max(4, box.w + 1), box.h + 1);
    const where = em(v.tokens[t]), length = em(number(rows[i][t], 2));
    if (i === rows.length - 1) say(sentence, "After the final norm the vector of ", where, " has length ", length, `; before it, ${number(rows[i - 1][t], 1)}. Only here is the stream normalised.`);
    else if (i === 0) say(sentence, "The embedding of ", where, ` at position ${t} has length `, length, ".");
    else say(sentence, `After block ${i} the vector of `, where, " has length ", length, `; the block added a vector of length ${number(v.added[i - 1][t], 1)}.`);
  }
  function to(i, t) {
    const now = [Math.max(0, Math.min(rows.length - 1, i)), Math.max(0, Math.min(box.T - 1, t))];
    if (now[0] !== cell[0] || now[1] !== cell[1]) { cell = now; mark(); }
  }
  function at(e) {
    const r = over.getBoundingClientRect(), t = Math.floor((e.clientX - r.left - box.left) / box.w), i = Math.floor((e.clientY - r.top - box.top) / box.h);
    if (t >= 0 && t < box.T && i >= 0 && i <= rows.length) to(Math.min(i, rows.length - 1), t);
  }
  over.addEventListener("pointermove", (e) => { if (box) at(e); });
  over.addEventListener("pointerdown", (e) => { if (box) at(e); });
  over.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!step || !box) return;
    e.preventDefault(); to(cell[0] + step[0], cell[1] + step[1] * (e.shiftKey ? 10 : 1));
  });
  return draw;
};

// A picture of rows × columns, tokens across: the cells once, a light overlay for the pointer and the arrow keys.
"use strict";
gptviz.sheet = function (root, { label, onmove, onpick }) {
  const { el, css } = gptviz;
  const base = el("canvas"), over = el("canvas", { class: "gv-over", tabindex: "0", role: "img", "aria-label": label });
  const stack = el("div", { class: "gv-stack" }, base, over);
  root.append(el("div", { class: "gv-scroll gv-sheet" }, stack));
  let m = null, box = null, cell = null;

  // model: {columns: [text], rows: [text] | null, at(r, c) → number | null, shade(r, c, x) → [token, 0..1] | null,
  //         text(x), high: [least, most] height of a row, mark: column | null, gaps: [rows that stand apart], start: [r, c]}
  function layout(width) {
    const R = m.count, C = m.columns.length, [least, most] = m.high;
    const left = m.rows ? Math.min(110, 14 + 7.6 * Math.max(...m.rows.map((t) => t.length))) : 2;
    const wide = Math.max(7, Math.min(62, Math.floor((width - left - 40) / C)));
    const named = wide >= 13;
    const top = named ? Math.min(96, 16 + 6.6 * Math.max(...m.columns.map((t) => cut(t).length))) : 22;
    const high = Math.max(least, Math.min(most, wide));
    const y = (r) => top + r * high + m.gaps.filter((g) => g <= r).length * 8;
    return { R, C, left, top, wide, high, named, y, width: left + C * wide + 40, height: y(R - 1) + high + 4 };
  }
  const cut = (text) => text.length > 12 ? text.slice(0, 11) + "…" : text;

  function draw(model) {
    m = { gaps: [], mark: null, text: () => "", ...model };
    box = layout(root.clientWidth || 320);
    const c = gptviz.canvas(base, box.width, box.height), { R, C, left, wide, high, y } = box;
    const gap = wide >= 13 && high >= 13 ? 1.5 : 0.5;
    const ramps = new Map();
    c.font = `${wide >= 46 ? 12 : 11}px ${css("--mono")}`; c.textAlign = "center"; c.textBaseline = "middle";
    for (let r = 0; r < R; r++) for (let k = 0; k < C; k++) {
      const x = m.at(r, k);
      if (x === null) continue;
      const shade = m.shade(r, k, x), px = left + k * wide, py = y(r);
      c.fillStyle = shade ? gptviz.mix("--grid", shade[0], shade[1]) : css("--void");
      c.fillRect(px, py, wide - gap, high - gap);
      if (!shade) { c.strokeStyle = css("--rule"); c.lineWidth = 1; if (gap > 1) c.strokeRect(px + 0.5, py + 0.5, wide - gap - 1, high - gap - 1); }
      const text = wide >= 34 && high >= 17 ? m.text(x) : wide >= 17 && high >= 17 && x === 0 ? "0" : "";
      if (text) { c.fillStyle = !shade ? css("--soft") : shade[1] > 0.55 ? css("--paper") : css("--ink"); c.fillText(text, px + (wide - gap) / 2, py + high / 2); }
    }
    names(c);
    if (!cell || cell[0] >= R || cell[1] >= C || m.at(...cell) === null) cell = m.start;
    mark();
    return box;
  }

  function names(c) {
    const { left, top, wide, named, R, C, y, high } = box;
    c.fillStyle = css("--soft"); c.font = `${named ? Math.min(13, Math.max(10.5, wide * 0.5)) : 11}px ${css("--mono")}`;
    if (m.rows) { c.textAlign = "right"; for (let r = 0; r < R; r++) if (high >= 12 || r % 5 === 0) c.fillText(m.rows[r], left - 8, y(r) + high / 2); }
    for (let k = 0; k < C; k++) {
      c.fillStyle = css(k === m.mark ? "--warn" : "--soft");
      if (named) {
        c.save(); c.translate(left + (k + 0.5) * wide, top - 8); c.rotate(-Math.PI / 3.4); c.textAlign = "left";
        c.fillText(cut(m.columns[k]), 0, 0); c.restore();
      } else if (k % 10 === 0) { c.textAlign = "center"; c.fillText(String(k), left + (k + 0.5) * wide, top - 9); }
    }
  }

  function mark() {
    const { left, wide, high, y, R, width, height } = box, c = gptviz.canvas(over, width, height), [r, k] = cell;
    if (m.mark !== null) { // the column that was touched
      c.strokeStyle = css("--warn"); c.lineWidth = 1.5; c.setLineDash([4, 3]);
      c.strokeRect(left + m.mark * wide - 1.5, y(0) - 2, wide + 1, y(R - 1) + high - y(0) + 3);
      c.setLineDash([]);
    }
    c.strokeStyle = css("--ink"); c.lineWidth = 2;
    c.strokeRect(left + k * wide - 1, y(r) - 1, wide + 1, high + 1);
    onmove(r, k, m.at(r, k));
  }
  function to(r, k) {
    const a = Math.max(0, Math.min(box.R - 1, r)), b = Math.max(0, Math.min(box.C - 1, k));
    if ((a !== cell[0] || b !== cell[1]) && m.at(a, b) !== null) { cell = [a, b]; mark(); }
  }
  function find(event) {
    const r = over.getBoundingClientRect(), s = box.width / r.width;
    const px = (event.clientX - r.left) * s, py = (event.clientY - r.top) * s;
    let row = -1;
    for (let k = 0; k < box.R; k++) if (py >= box.y(k)) row = k;
    return [row, Math.floor((px - box.left) / box.wide)];
  }
  over.addEventListener("pointermove", (e) => { if (!box) return; const [r, k] = find(e); if (r >= 0 && k >= 0 && k < box.C) to(r, k); });
  over.addEventListener("click", (e) => {
    if (!box) return;
    const [r, k] = find(e);
    if (k < 0 || k >= box.C) return;
    if (r >= 0) to(r, k);
    if (onpick) onpick(k);
  });
  over.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!box) return;
    if (e.key === "Enter" && onpick) { onpick(cell[1]); return; }
    if (!step) return;
    e.preventDefault();
    to(cell[0] + step[0], cell[1] + step[1]);
  });
  return { draw, to, canvas: () => base, cell: () => cell };
};

// A share of the colour ramp for a number that spans orders of magnitude; what is not zero is never drawn as zero.
gptviz.logShade = function (low, high) {
  const a = Math.log10(low), span = Math.max(1e-9, Math.log10(high) - a);
  return (x) => 0.22 + 0.78 * Math.max(0, Math.min(1, (Math.log10(x) - a) / span));
};
// A number for a cell: as few characters as say its size.
gptviz.short = function (x) {
  if (x === 0) return "0";
  if (x >= 9.95) return x >= 9999.5 ? x.toExponential(0).replace("e+", "e") : String(Math.round(x));
  if (x >= 0.0995) return x.toFixed(1);
  if (x >= 0.00995) return x.toFixed(2).slice(1);
  return x.toExponential(0).replace("e-", "e−");
};

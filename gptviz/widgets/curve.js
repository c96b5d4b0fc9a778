// A small line chart with a readout: hover, touch or arrow keys move a marker; every value can be read as text.
"use strict";
gptviz.curve = function (root, { label, height = 220, onmove }) {
  const { el, css, number } = gptviz;
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": label });
  const legend = el("div", { class: "gv-curve-key" });
  root.append(legend, canvas);
  let m = null, box = null, at = null;

  // model: {xs, series: [{name, ys, token, dash, dots}], x, y: axis names, level?: {value, name}, from?: lowest y}
  function draw(model) {
    const following = m === null || at === null || at === m.xs.length - 1; // the marker stays at the end of a growing curve
    m = model;
    const width = Math.max(240, root.clientWidth || 320);
    const every = m.series.flatMap((s) => s.ys).concat(m.level ? [m.level.value] : []);
    let low = m.from ?? Math.min(...every), high = Math.max(...every);
    if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
    high += (high - low) * 0.06; if (m.from === undefined) low -= (high - low) * 0.06;
    box = { width, left: 46, right: width - 10, top: 10, bottom: height - 34, low, high };
    if (following || at >= m.xs.length) at = m.xs.length - 1;
    paint();
    legend.textContent = "";
    for (const s of m.series) legend.append(el("span", {}, swatch(s), s.name));
    if (m.level) legend.append(el("span", {}, swatch({ token: "--soft", dash: [3, 4] }), m.level.name));
  }
  function swatch(s) {
    const line = el("i");
    line.style.borderTop = `2px ${s.dash ? "dashed" : "solid"} var(${s.token})`;
    return line;
  }
  const x = (k) => {
    const first = m.xs[0], span = m.xs[m.xs.length - 1] - first || 1;
    return box.left + (m.xs[k] - first) / span * (box.right - box.left);
  };
  const y = (v) => box.bottom - (v - box.low) / (box.high - box.low) * (box.bottom - box.top);

  function paint() {
    const c = gptviz.canvas(canvas, box.width, height);
    axes(c);
    if (m.level) stroke(c, [[box.left, y(m.level.value)], [box.right, y(m.level.value)]], "--soft", [3, 4], 1.2);
    for (const s of m.series) {
      stroke(c, s.ys.map((v, k) => [x(k), y(v)]), s.token, s.dash || [], 2);
      c.fillStyle = css(s.token);
      if (s.dots || m.xs.length === 1) s.ys.forEach((v, k) => { c.beginPath(); c.arc(x(k), y(v), 3.2, 0, 7); c.fill(); });
    }
    c.strokeStyle = css("--warn"); c.lineWidth = 1; c.setLineDash([]);
    c.beginPath(); c.moveTo(x(at), box.top); c.lineTo(x(at), box.bottom); c.stroke();
    for (const s of m.series) { c.fillStyle = css(s.token); c.beginPath(); c.arc(x(at), y(s.ys[at]), 4.2, 0, 7); c.fill(); }
    if (onmove) onmove(at, m);
  }
  function stroke(c, points, token, dash, width) {
    c.strokeStyle = css(token); c.lineWidth = width; c.setLineDash(dash); c.lineJoin = "round";
    c.beginPath(); points.forEach(([a, b], k) => k ? c.lineTo(a, b) : c.moveTo(a, b)); c.stroke(); c.setLineDash([]);
  }
  function axes(c) {
    c.font = `11.5px ${css("--mono")}`; c.fillStyle = css("--soft"); c.strokeStyle = css("--rule"); c.lineWidth = 1;
    c.textAlign = "right"; c.textBaseline = "middle";
    const step = nice((box.high - box.low) / 4);
    for (let v = Math.ceil(box.low / step) * step; v <= box.high; v += step) {
      c.beginPath(); c.moveTo(box.left, y(v)); c.lineTo(box.right, y(v)); c.stroke();
      c.fillText(step < 0.095 ? v.toFixed(2) : step < 0.95 ? v.toFixed(1) : gptviz.whole(v), box.left - 7, y(v));
    }
    c.textAlign = "center"; c.textBaseline = "top";
    const stepX = Math.max(1, nice((m.xs[m.xs.length - 1] - m.xs[0]) / Math.max(2, (box.right - box.left) / 90)));
    let last = -1e9;
    m.xs.forEach((v, k) => {
      const wanted = m.dots || m.xs.length <= 8 || v % stepX === 0;
      if (wanted && x(k) - last > 26) { c.fillText(gptviz.whole(v), x(k), box.bottom + 5); last = x(k); }
    });
    c.font = `12px ${css("--sans")}`; c.textAlign = "right"; c.fillText(m.x, box.right, box.bottom + 19);
  }
  function nice(raw) {
    const power = 10 ** Math.floor(Math.log10(raw || 1)), r = raw / power;
    return power * (r <= 1 ? 1 : r <= 2 ? 2 : r <= 5 ? 5 : 10);
  }
  function to(k) {
    const now = Math.max(0, Math.min(m.xs.length - 1, k));
    if (now !== at) { at = now; paint(); }
  }
  function nearest(event) {
    const px = (event.clientX - canvas.getBoundingClientRect().left);
    let best = 0;
    m.xs.forEach((_, k) => { if (Math.abs(x(k) - px) < Math.abs(x(best) - px)) best = k; });
    to(best);
  }
  canvas.addEventListener("pointermove", (e) => { if (m) nearest(e); });
  canvas.addEventListener("pointerdown", (e) => { if (m) nearest(e); });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
    if (!step || !m) return;
    e.preventDefault(); to(at + step * (e.shiftKey ? 10 : 1));
  });
  return { draw, at: () => at, number };
};

// A T × T picture: rows are queries, columns are keys. Drawn once, a light overlay follows the pointer and the arrow keys.
"use strict";
gptviz.matrix = function (root, { onmove, label }) {
  const { el, rgb, css } = gptviz;
  const base = el("canvas"), over = el("canvas", { class: "gv-over", tabindex: "0", role: "img", "aria-label": label || "matrix" });
  const stack = el("div", { class: "gv-stack" }, base, over);
  root.append(el("div", { class: "gv-scroll gv-matrix" }, stack));
  let m = null, box = null, cell = null;

  // Sizes: labels while a row is at least 13 px high, numbered ticks below that.
  function layout(T, width) {
    const labelled = (width - 96) / T >= 13;
    const left = labelled ? Math.min(110, 14 + 8.2 * Math.max(...m.tokens.map((t) => Math.min(t.length, 12)))) : 40;
    const top = labelled ? left * 0.87 : 22;
    const side = Math.max(1, Math.min(m.most || 44, Math.floor((width - left - 6) / T * (T > 300 ? 1 : 100)) / (T > 300 ? 1 : 100)));
    return { T, labelled, left, top, side, width: left + T * side + 6, height: top + T * side + 6 };
  }

  // model: {tokens, at(i, j) → number | null, shade(i, j, value) → [token, 0..1] | null, text(value), most}
  function draw(model) {
    m = model;
    const width = root.clientWidth || 320;
    box = layout(m.tokens.length, width);
    const c = gptviz.canvas(base, box.width, box.height);
    cells(c);
    box.labelled ? names(c) : ticks(c);
    if (!cell || cell[0] >= box.T || cell[1] >= box.T) cell = m.start || [box.T - 1, 0];
    mark();
    return base;
  }

  function cells(c) {
    const { T, left, top, side } = box;
    const image = new ImageData(T, T), pixels = new Uint32Array(image.data.buffer), ramps = new Map();
    const nothing = rgb("--void"), blank = (255 << 24 | nothing[2] << 16 | nothing[1] << 8 | nothing[0]) >>> 0;
    for (let i = 0; i < T; i++) for (let j = 0; j < T; j++) {
      const shade = m.shade(i, j, m.at(i, j));
      if (!shade) { pixels[i * T + j] = blank; continue; }
      if (!ramps.has(shade[0])) ramps.set(shade[0], gptviz.ramp("--grid", shade[0]));
      pixels[i * T + j] = ramps.get(shade[0])[Math.max(0, Math.min(255, Math.round(255 * shade[1])))];
    }
    const small = document.createElement("canvas");
    small.width = small.height = T;
    small.getContext("2d").putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, left, top, T * side, T * side);
    if (side >= 9) { // gaps between cells, so that one can be told from the next
      c.fillStyle = css("--card");
      const gap = side >= 20 ? 1.5 : 0.75;
      for (let k = 1; k <= T; k++) { c.fillRect(left + k * side - gap, top, gap, T * side); c.fillRect(left, top + k * side - gap, T * side, gap); }
    }
    if (side >= 27 && m.text) figures(c);
  }

  function figures(c) {
    const { T, left, top, side } = box;
    c.font = `${side >= 36 ? 12 : 10.5}px ${css("--mono")}`; c.textAlign = "center"; c.textBaseline = "middle";
    for (let i = 0; i < T; i++) for (let j = 0; j < T; j++) {
      const value = m.at(i, j), shade = m.shade(i, j, value), text = m.text(value);
      if (!shade || !text) continue;
      c.fillStyle = shade[1] > 0.55 ? css("--paper") : css("--ink");
      c.fillText(text, left + (j + 0.5) * side - 0.5, top + (i + 0.5) * side);
    }
  }

  const cut = (text) => text.length > 12 ? text.slice(0, 11) + "…" : text;
  function names(c) {
    const { T, left, top, side } = box;
    c.font = `${Math.min(13, Math.max(10.5, side * 0.55))}px ${css("--mono")}`; c.textBaseline = "middle";
    for (let k = 0; k < T; k++) {
      c.fillStyle = css("--soft"); c.textAlign = "right";
      c.fillText(cut(m.tokens[k]), left - 8, top + (k + 0.5) * side);
      c.save(); c.translate(left + (k + 0.5) * side, top - 8); c.rotate(-Math.PI / 3); c.textAlign = "left";
      c.fillText(cut(m.tokens[k]), 0, 0); c.restore();
    }
  }
  function ticks(c) {
    const { T, left, top, side } = box, step = [5, 10, 20, 50, 100, 200, 500].find((s) => s * side >= 46) || 500;
    c.font = `11px ${css("--mono")}`; c.fillStyle = css("--soft"); c.textBaseline = "middle";
    for (let k = 0; k < T; k += step) {
      c.textAlign = "right"; c.fillText(String(k), left - 8, top + (k + 0.5) * side);
      c.textAlign = "center"; c.fillText(String(k), left + (k + 0.5) * side, top - 9);
    }
  }

  function mark() {
    const { left, top, side, T } = box, c = gptviz.canvas(over, box.width, box.height), [i, j] = cell;
    c.fillStyle = css("--warn"); c.globalAlpha = side < 9 ? 0.25 : 0.10;
    if (side < 9) { c.fillRect(left, top + i * side, T * side, Math.max(1, side)); c.fillRect(left + j * side, top, Math.max(1, side), T * side); }
    else { c.fillRect(left - 4, top + i * side, (j + 1) * side + 4, side); c.fillRect(left + j * side, top - 4, side, (i + 1) * side + 4); }
    c.globalAlpha = 1; c.strokeStyle = css("--warn"); c.lineWidth = 2;
    c.strokeRect(left + j * side - 1, top + i * side - 1, Math.max(3, side + 1), Math.max(3, side + 1));
    onmove(i, j, m.at(i, j));
  }
  function to(i, j) {
    const T = box.T, a = Math.max(0, Math.min(T - 1, i)), b = Math.max(0, Math.min(T - 1, j));
    if (a !== cell[0] || b !== cell[1]) { cell = [a, b]; mark(); }
  }
  function at(event) {
    const r = over.getBoundingClientRect(), s = box.width / r.width;
    const j = Math.floor(((event.clientX - r.left) * s - box.left) / box.side), i = Math.floor(((event.clientY - r.top) * s - box.top) / box.side);
    if (i >= 0 && i < box.T && j >= 0 && j < box.T) to(i, j); else if (i >= 0 && i < box.T && j < 0) to(i, cell[1]);
  }
  over.addEventListener("pointermove", (e) => { if (box) at(e); });
  over.addEventListener("pointerdown", (e) => { if (box) at(e); });
  over.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!step || !box) return;
    e.preventDefault();
    const by = e.shiftKey ? 10 : 1;
    to(cell[0] + step[0] * by, cell[1] + step[1] * by);
    over.parentElement.parentElement.scrollTo?.({ left: cell[1] * box.side - 200, top: cell[0] * box.side - 200 });
  });
  return { draw, to, canvas: () => base, cell: () => cell };
};

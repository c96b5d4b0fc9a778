// All heads at once: layers down, heads across, each a small picture of its weights. Click or arrow keys choose one.
"use strict";
gptviz.KINDS = ["induction", "previous", "first", "broad", "local", "mixed"];
gptviz.KIND_NAMES = {
  induction: "induction", previous: "previous token", first: "first token", local: "nearby", broad: "broad", mixed: "mixed",
};
gptviz.headGrid = function (root, { onpick }) {
  const { el, css } = gptviz;
  const canvas = el("canvas", { tabindex: "0", role: "grid", "aria-label": "All heads; arrow keys move, Home goes to the first" });
  const tip = el("div", { class: "gv-cap gv-heads-tip", "aria-live": "off" });
  root.append(el("div", { class: "gv-scroll" }, canvas), tip);
  let v = null, box = null, picked = [0, 0], filter = null, hover = null;

  function layout(width) {
    const gap = 4, left = 26, top = 20;
    const fit = Math.floor(Math.min((width - left) / v.heads, 960 / v.layers)) - gap;
    const thumb = Math.max(16, Math.min(58, fit));
    return { gap, left, top, thumb, pitch: thumb + gap, width: left + v.heads * (thumb + gap), height: top + v.layers * (thumb + gap) };
  }

  // value: {layers, heads, side, square, bytes: Uint8Array, stats: [[kind, …]], leak?: [L][h]}
  function draw(value, width) {
    const fresh = value !== v;
    v = value;
    if (fresh && (picked[0] >= v.layers || picked[1] >= v.heads)) picked = [0, 0];
    box = layout(width);
    const c = gptviz.canvas(canvas, box.width, box.height);
    const sheet = pictures();
    c.font = `11px ${css("--mono")}`; c.textBaseline = "middle"; c.fillStyle = css("--soft");
    const every = box.thumb < 22 ? 2 : 1;
    c.textAlign = "center";
    for (let h = 0; h < v.heads; h += every) c.fillText(h, box.left + h * box.pitch + box.thumb / 2, 9);
    c.textAlign = "right";
    for (let l = 0; l < v.layers; l += every) c.fillText(l, box.left - 7, box.top + l * box.pitch + box.thumb / 2);
    c.imageSmoothingEnabled = v.side > box.thumb;
    for (let l = 0; l < v.layers; l++) for (let h = 0; h < v.heads; h++) {
      const x = box.left + h * box.pitch, y = box.top + l * box.pitch, k = l * v.heads + h;
      c.globalAlpha = filter && v.stats[k][0] !== filter ? 0.13 : 1;
      c.drawImage(sheet, 0, k * v.side, v.side, v.side, x, y, box.thumb, box.thumb);
    }
    c.globalAlpha = 1;
    frame(c, picked, css("--warn"), 2);
    if (hover) frame(c, hover, css("--soft"), 1);
  }
  function frame(c, [l, h], colour, width) {
    c.strokeStyle = colour; c.lineWidth = width;
    c.strokeRect(box.left + h * box.pitch - 1, box.top + l * box.pitch - 1, box.thumb + 2, box.thumb + 2);
  }

  // One tall sheet of S × S pictures; cells above the diagonal are drawn in the warning colour where they hold weight.
  let sheetOf = null, sheetTheme = "";
  function pictures() {
    const theme = css("--key") + css("--grid");
    if (sheetOf && sheetOf.bytes === v.bytes && sheetTheme === theme) return sheetOf.sheet;
    const S = v.side, n = v.layers * v.heads, image = new ImageData(S, S * n), pixels = new Uint32Array(image.data.buffer);
    const key = gptviz.ramp("--grid", "--key"), warn = gptviz.ramp("--grid", "--warn"), none = gptviz.ramp("--void", "--void")[0];
    let at = 0;
    for (let k = 0; k < n; k++) for (let i = 0; i < S; i++) {
      const to = (k * S + i) * S;
      for (let j = 0; j < S; j++) {
        if (!v.square && j > i) { pixels[to + j] = none; continue; }
        const b = v.bytes[at++];
        pixels[to + j] = j > i ? (b ? warn[b] : none) : key[b];
      }
    }
    const sheet = document.createElement("canvas");
    sheet.width = S; sheet.height = S * n;
    sheet.getContext("2d").putImageData(image, 0, 0);
    sheetOf = { bytes: v.bytes, sheet }; sheetTheme = theme;
    return sheet;
  }

  function at(event) {
    const r = canvas.getBoundingClientRect(), s = box.width / r.width;
    const h = Math.floor(((event.clientX - r.left) * s - box.left) / box.pitch), l = Math.floor(((event.clientY - r.top) * s - box.top) / box.pitch);
    return l >= 0 && l < v.layers && h >= 0 && h < v.heads ? [l, h] : null;
  }
  const same = (a, b) => a && b && a[0] === b[0] && a[1] === b[1];
  function describe([l, h]) {
    const [kind] = v.stats[l * v.heads + h];
    tip.textContent = `layer ${l}, head ${h}: ${v.leak ? gptviz.percent(v.leak[l][h]) + " of its weight on later tokens" : gptviz.KIND_NAMES[kind]}`;
  }
  function pick(where) {
    picked = where; describe(where); draw(v, box.width);
    onpick(...where);
  }
  canvas.addEventListener("pointermove", (e) => {
    const now = v && at(e);
    if (now && !same(now, hover)) { hover = now; describe(now); draw(v, box.width); }
  });
  canvas.addEventListener("pointerleave", () => { if (v && hover) { hover = null; describe(picked); draw(v, box.width); } });
  canvas.addEventListener("click", (e) => { const now = v && at(e); if (now) pick(now); });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!v || (!step && e.key !== "Home")) return;
    e.preventDefault();
    pick(step ? [Math.max(0, Math.min(v.layers - 1, picked[0] + step[0])), Math.max(0, Math.min(v.heads - 1, picked[1] + step[1]))] : [0, 0]);
  });
  return {
    draw, picked: () => picked, choose: (l, h) => { picked = [l, h]; },
    filter: (kind) => { filter = kind; if (v) draw(v, box.width); }, describe: () => v && describe(picked),
  };
};

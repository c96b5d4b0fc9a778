// What every widget shares: mounting, tokens of colour, numbers from the server, small elements. No framework.
"use strict";
window.gptviz = (function () {
  const mount = {};
  const redraws = new Set(); // widgets to draw again when the theme or a font changes

  // Called by each gr.HTML once: finds the mount function, draws now and on every new value from Python.
  function start(name, element, props, trigger, watch, server, fixed) {
    const root = element.querySelector(".gv-widget");
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", fixed.label);
    const io = { props, server, trigger, fixed };
    const draw = mount[name](root, io) || (() => {});
    const paint = () => { if (root.isConnected) draw(given(props.value)); else redraws.delete(paint); };
    redraws.add(paint);
    watch("value", paint);
    let width = 0;
    new ResizeObserver((entries) => {
      const now = Math.round(entries[0].contentRect.width);
      if (now && now !== width) { const first = width === 0; width = now; if (!first) requestAnimationFrame(paint); }
    }).observe(root);
    paint();
  }

  // A widget mounted while its answer is still coming can hold Gradio's own mark for "nothing new": that is no value.
  function given(value) {
    const only = value && value.__type__ === "update" && Object.keys(value).every((key) => key === "__type__" || key === "props");
    return only ? null : value ?? null;
  }

  const repaint = () => redraws.forEach((paint) => paint());
  new MutationObserver((list) => { if (list.some((m) => m.attributeName === "class")) { palette.clear(); repaint(); } })
    .observe(document.documentElement, { attributes: true, subtree: false });
  // Gradio may put this script in after the document is complete.
  const ready = (fn) => document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", fn) : fn();
  ready(() => {
    new MutationObserver(() => { palette.clear(); repaint(); }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    if (document.fonts) document.fonts.ready.then(repaint);
  });

  // Colour tokens as [r, g, b], read from the stylesheet and kept until the theme changes.
  const palette = new Map();
  function css(name) { return getComputedStyle(document.body).getPropertyValue(name).trim(); }
  function rgb(name) {
    if (!palette.has(name)) {
      const hex = css(name).replace("#", "");
      palette.set(name, [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    }
    return palette.get(name);
  }
  // A colour between two tokens; t from 0 to 1.
  function mix(from, to, t) {
    const a = rgb(from), b = rgb(to);
    return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * t)).join(",")})`;
  }
  // 256 steps between two tokens as one Uint32 per pixel (little-endian RGBA), for ImageData.
  function ramp(from, to) {
    const a = rgb(from), b = rgb(to), out = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      const [r, g, c] = a.map((v, k) => Math.round(v + (b[k] - v) * i / 255));
      out[i] = (255 << 24 | c << 16 | g << 8 | r) >>> 0;
    }
    return out;
  }

  // Elements: text goes in as text, never as HTML.
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "class") node.className = value;
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  }
  // Fill a node with strings and <em>-like parts: say(node, "a ", em("b"), " c").
  function say(node, ...parts) { node.textContent = ""; node.append(...parts); return node; }
  const em = (text, kind) => el("em", kind ? { class: kind } : {}, text);
  // One of several choices: buttons with aria-pressed; pick(value) is called on a click.
  function segment(label, options, value, pick) {
    const box = el("div", { class: "gv-seg", role: "group", "aria-label": label });
    const set = (now) => [...box.children].forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === String(now))));
    for (const [key, text] of options) {
      box.append(el("button", { type: "button", "data-value": key, onclick: () => { set(key); pick(key); } }, text));
    }
    set(value);
    return { box, set };
  }

  // A canvas sharp on any screen; returns its 2D context scaled to CSS pixels.
  function canvas(node, width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (node.width !== w) node.width = w;
    if (node.height !== h) node.height = h;
    node.style.width = width + "px"; node.style.height = height + "px";
    const context = node.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  // Numbers sent as base64.
  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }
  const floats = (text) => new Float32Array(bytes(text).buffer);

  // Numbers for people.
  function percent(p) {
    if (p === 0) return "0\u00a0%";
    if (p < 0.001) return (100 * p).toExponential(1).replace("-", "−") + "\u00a0%";
    return (100 * p).toFixed(p < 0.0995 ? 2 : 1) + "\u00a0%";
  }
  function number(x, digits = 3) {
    if (x === null || x === undefined || !Number.isFinite(x)) return "−∞";
    if (x === 0) return "0";
    return (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5 ? x.toExponential(1) : x.toFixed(digits)).replace("-", "−");
  }
  const whole = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");

  // Files made in the page: a canvas as PNG, text as CSV or JSON.
  function save(name, data) {
    const url = URL.createObjectURL(data), link = el("a", { href: url, download: name });
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  function savePicture(node, name) {
    const copy = el("canvas", { width: node.width, height: node.height }), c = copy.getContext("2d");
    c.fillStyle = css("--card"); c.fillRect(0, 0, copy.width, copy.height); c.drawImage(node, 0, 0);
    copy.toBlob((blob) => save(name, blob), "image/png");
  }
  const saveText = (text, name, type) => save(name, new Blob([text], { type: type || "text/plain" }));
  // A CSV field; a leading = + - @ is defused, because spreadsheets run it.
  function csv(value) {
    const text = String(value), safe = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }

  return { mount, start, ready, css, rgb, mix, ramp, el, say, em, segment, canvas, bytes, floats, percent, number, whole, save, savePicture, saveText, csv };
})();

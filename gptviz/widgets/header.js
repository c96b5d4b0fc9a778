// The top line: which model runs, on what, and where its weights came from; and how a download stands.
"use strict";
gptviz.mount.header = function (root, io) {
  const { el } = gptviz;
  const facts = el("div", { class: "gv-facts", "aria-live": "polite" }), bar = el("div", { class: "gv-load" });
  const theme = el("button", { type: "button", class: "gv-btn", onclick: () => {
    const dark = document.body.classList.toggle("dark");
    try { localStorage.setItem("gptviz-theme", dark ? "dark" : "light"); } catch { /* a browser without storage */ }
  } }, "Light / dark");
  const link = el("button", { type: "button", class: "gv-btn", onclick: copy }, "Copy link");
  root.append(el("div", { class: "gv-header" }, el("span", { class: "gv-brand" }, "gptviz"), facts, el("span", { class: "gv-push" }), link, theme), bar);

  function copy() {
    const text = gptviz.shareLink();
    const done = (word) => { link.textContent = word; setTimeout(() => { link.textContent = "Copy link"; }, 1600); };
    const fallback = () => { const box = el("textarea", {}, text); document.body.append(box); box.select(); document.execCommand("copy"); box.remove(); done("Copied"); };
    navigator.clipboard ? navigator.clipboard.writeText(text).then(() => done("Copied"), fallback) : fallback();
  }
  return function draw(value) {
    if (!value) return;
    facts.textContent = "";
    const m = value.model;
    facts.append(el("b", {}, m.name), ` · ${(m.parameters / 1e6).toFixed(1)} M parameters · ${m.layers} × ${m.heads} heads · ${m.device} · ${m.dtype} · ${m.source}`);
    bar.textContent = "";
    if (value.loading) {
      bar.append(el("span", { class: "gv-cap" }, value.sentence), value.fraction === null ? el("progress", {}) : el("progress", { max: "1", value: String(value.fraction) }));
    } else if (value.notes.length) {
      bar.append(el("details", { class: "gv-cap" }, el("summary", {}, "Why this model?"), ...value.notes.map((n) => el("div", {}, n))));
    }
  };
};
// A link that opens this page with this prompt: it carries inputs only, which the server checks like typed ones.
gptviz.shareLink = function () {
  const url = new URL(location.href.split("#")[0]), box = document.querySelector(".gv-prompt textarea");
  const tab = document.querySelector(".tab-container button[role=tab][aria-selected=true]");
  url.search = "";
  if (box) url.searchParams.set("prompt", box.value);
  if (tab && tab.id) url.searchParams.set("lesson", tab.id.replace(/-button$/, "").replace(/^page-/, ""));
  return url.href;
};
// Modes asked for in the address, and the theme chosen last.
(function () {
  const ask = new URLSearchParams(location.search);
  gptviz.ready(() => {
    if (ask.has("embed")) document.documentElement.classList.add("gv-embed");
    if (ask.has("projector")) document.documentElement.classList.add("gv-projector");
    let kept = null;
    try { kept = localStorage.getItem("gptviz-theme"); } catch { /* a browser without storage */ }
    if (kept && !ask.has("__theme")) {
      const apply = () => document.body.classList.toggle("dark", kept === "dark");
      apply(); setTimeout(apply, 300); setTimeout(apply, 1500); // Gradio sets the system's theme while it mounts
    }
  });
})();

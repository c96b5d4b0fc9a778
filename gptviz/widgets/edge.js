// The end of the context: how far a text came, and the position that does not exist.
"use strict";
gptviz.mount.edge = function (root, io) {
  const { el, whole } = gptviz;
  let last = null;
  return function draw(v) {
    if (!v) return;
    last = v;
    root.textContent = "";
    const state = el("span", { class: "gv-cap", "aria-live": "polite" });
    const go = el("button", { type: "button", class: "gv-btn", onclick: () => { go.disabled = true; state.textContent = "Writing."; io.trigger("act", {}); setTimeout(() => { if (last === v) go.disabled = false; }, 15000); } }, v.button);
    const box = el("section", { class: "gv-fig" }, v.note ? el("p", { class: "gv-note" }, v.note) : null, v.lede ? el("p", {}, v.lede) : null, v.button ? el("p", {}, go, " ", state) : null);
    if (v.said) {
      const part = (kind, share, title) => { const i = el("i", { class: kind, title }); i.style.flex = `${share} 0 0`; return i; };
      box.append(
        el("div", { class: "gv-edge-line", role: "img", "aria-label": `${v.prompt} positions of prompt, ${v.written.length} written, then the end` },
          part("p", v.prompt, `${whole(v.prompt)} tokens of prompt`), part("n", v.written.length, `${v.written.length} written`), part("x", v.context * 0.06, `no position ${v.context}`)),
        el("p", { class: "gv-cap" }, `${whole(v.prompt)} tokens of prompt, then `, el("span", { class: "gv-edge-text" }, v.written.join("")), `, then nothing: there is no position ${whole(v.context)}.`),
        ...v.said.map((text, i) => el("p", { class: i ? "gv-note" : "gv-say", "aria-live": "polite" }, text)));
    }
    root.append(box);
  };
};

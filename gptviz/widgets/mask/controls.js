// Which masks are open, and what an open one lets a token read; for the map the token that is replaced.
import { el, fill, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

/** @param {any} app */
export function createControls(app) {
  const which = segment(text("mask.which"), [["", text("mask.all_closed")], ["one", text("mask.one_open")], ["all", text("mask.all_open")]], pick);
  const layer = el("select", { class: "gv-in", "aria-label": text("mask.open_layer"), onchange: () => app.set({ open: layer.value }) });
  const way = segment(text("mask.way"), [["none", text("mask.way_none")], ["wrong_way", text("mask.way_wrong")]], (d) => app.set({ direction: d }));
  const by = el("input", { class: "gv-in", type: "text", size: 9, maxlength: 40, spellcheck: "false", "aria-label": text("mask.by"),
    onchange: () => app.set({ by: by.value }) }); // prettier-ignore
  const old = el("span", { class: "gv-token" });
  const swap = el("label", { class: "gv-swap" }, old, " → ", by);
  const reads = el("span", { class: "gv-wide gv-soft" }, text("mask.reads"));
  const root = el("div", { class: "gv-bar gv-maskbar" }, el("span", { class: "gv-wide gv-soft" }, text("mask.masks")), which.box, layer, reads, way.box, swap);
  let now = { open: new Set(), direction: "none" };
  let layers = 0;

  /** @param {string} value */
  function pick(value) {
    app.set({ open: value === "one" ? layer.value || String(layers >> 1) : value });
  }

  return {
    root,
    /** One layer's mask off, or on again. @param {number} l */
    toggle(l) {
      const open = new Set(now.open);
      open.has(l) ? open.delete(l) : open.add(l);
      const list = [...open].sort((a, b) => Number(a) - Number(b));
      app.set({ open: list.length === layers ? "all" : list.join() });
    },
    /** @param {any} view @param {any} next @param {string[]} tokens @param {any} reach */
    set(view, next, tokens, reach) {
      now = next;
      const count = app.model() ? app.model().layers : 0;
      if (count !== layers) {
        layers = count;
        fill(layer, ...Array.from({ length: layers }, (_, l) => el("option", { value: l }, text("mask.layer", { l }))));
      }
      const open = next.open;
      layer.value = String(open.size === 1 ? [...open][0] : layers >> 1);
      which.set(view.open === "all" ? "all" : open.size === 0 ? "" : open.size === 1 ? "one" : null);
      for (const box of [which.box, way.box]) box.classList.toggle("gv-hot", open.size > 0);
      way.set(next.direction);
      for (const part of [reads, way.box]) part.classList.toggle("gv-off", open.size === 0);
      root.hidden = view.show === "ways";
      layer.hidden = open.size !== 1;
      swap.hidden = !reach;
      if (!reach) return;
      fill(old, tokens[reach.position]);
      if (document.activeElement !== by) by.value = view.by;
    },
  };
}

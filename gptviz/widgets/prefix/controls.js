// The faulty mask that is compared with the model's own, and what becomes of the end of the text.
import { el, fill, segment } from "../kit/dom.js";
import { text } from "../kit/words.js";

/** @param {any} app */
export function createControls(app) {
  const fault = segment(text("prefix.fault"), [["off", text("prefix.fault_off")], ["one", text("prefix.fault_one")], ["wrong_way", text("prefix.fault_wrong")], ["blocks", text("prefix.fault_blocks")]], pick);
  fault.box.classList.add("gv-hot");
  const layer = el("select", { class: "gv-in", "aria-label": text("prefix.open_layer"), onchange: () => app.set({ open: layer.value }) });
  const method = segment(text("prefix.method"), [["edit", text("prefix.method_edit")], ["truncate", text("prefix.method_cut")]], (m) => app.set({ method: m }));
  const ending = el("input", { class: "gv-in", type: "text", size: 12, maxlength: 200, spellcheck: "false", "aria-label": text("prefix.ending"), placeholder: text("prefix.ending_hint"),
    onchange: () => app.set({ by: ending.value }) }); // prettier-ignore
  const root = el("div", { class: "gv-bar" }, el("span", { class: "gv-wide gv-soft" }, text("prefix.faulty")), fault.box, layer, el("span", { class: "gv-push" }), method.box, ending);
  let layers = 0;

  /** @param {string} value */
  function pick(value) {
    if (value === "one") app.set({ open: String(layers >> 1), direction: "none" });
    else app.set({ open: "all", direction: value === "off" ? "none" : value });
  }

  return {
    root,
    /** @param {any} view @param {any} now @param {any} checks */
    set(view, now, checks) {
      root.hidden = view.show === "toy";
      const count = app.model() ? app.model().layers : 0;
      if (count !== layers) {
        layers = count;
        fill(layer, ...Array.from({ length: layers }, (_, l) => el("option", { value: l }, text("prefix.layer", { l }))));
      }
      const one = now.open.size === 1 && view.open !== "all";
      fault.set(one && view.direction === "none" ? "one" : now.open.size < layers ? null : view.direction === "none" ? "off" : view.direction);
      layer.hidden = !one;
      if (one) layer.value = String([...now.open][0]);
      method.set(view.method);
      ending.hidden = view.method !== "edit" || view.show === "all" || !checks;
      if (document.activeElement !== ending) ending.value = view.by;
    },
  };
}

// Buttons that open a small panel: one open at a time, closed by Escape, by a click elsewhere and by moving on.
import { el } from "./dom.js";

/** @type {{ button: HTMLElement, panel: HTMLElement } | null} */
let open = null;

/**
 * @param {HTMLElement} button
 * @param {HTMLElement} panel
 * @param {() => void} [before] called before it opens, to fill it
 */
export function popover(button, panel, before) {
  panel.hidden = true;
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    const again = open !== null && open.button === button;
    close();
    if (again) return;
    if (before) before();
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    open = { button, panel };
  });
  return el("div", { class: "gv-has" }, button, panel);
}

/** @param {boolean} [focus] give the focus back to the button */
export function close(focus = false) {
  if (!open) return;
  open.panel.hidden = true;
  open.button.setAttribute("aria-expanded", "false");
  if (focus) open.button.focus();
  open = null;
}

export function watchMenus() {
  document.addEventListener("pointerdown", (event) => {
    const target = /** @type {Node} */ (event.target);
    if (open && !open.panel.contains(target) && !open.button.contains(target)) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      close(true);
    }
  });
  document.addEventListener("focusin", (event) => {
    const target = /** @type {Node} */ (event.target);
    if (open && !open.panel.contains(target) && !open.button.contains(target)) close();
  });
}

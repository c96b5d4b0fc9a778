// The focus of who works by keyboard: it is not lost where something is drawn anew, and a row of links is one tab stop.

// not words: a selector
const STOPS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** @param {Element} root @returns {HTMLElement[]} */
const stops = (root) => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(STOPS)]);

/** What an element is to a reader, to find it again after it was made anew. @param {HTMLElement} node */
const name = (node) =>
  [node.tagName, node.ariaLabel || node.dataset.value || node.textContent || node.className].join();

/**
 * Remember what has the focus in `root`; the function that comes back gives it to the same thing, if lost by then:
 * to the one of that name, else to `last`, else to `root`.
 * @param {HTMLElement} root
 * @param {() => HTMLElement | null} [last]
 * @returns {() => void}
 */
export function remember(root, last) {
  const had = /** @type {HTMLElement | null} */ (document.activeElement);
  if (!had || had === root || !root.contains(had)) return () => {};
  const place = stops(root).indexOf(had);
  const called = name(had);
  return () => {
    if (document.activeElement !== document.body && document.activeElement?.isConnected) return;
    const now = stops(root).filter((node) => node.checkVisibility() && !node.matches(":disabled"));
    const same = now.filter((node) => name(node) === called);
    for (const node of [same.find((each) => stops(root)[place] === each) || same[0], last && last(), root]) {
      if (!node) continue;
      node.focus({ preventScroll: true });
      if (document.activeElement === node) return;
    }
  };
}

/**
 * One tab stop for all links or buttons of a row; left and right, Home and End walk along it.
 * @param {HTMLElement} row
 */
export function roving(row) {
  row.addEventListener("keydown", (event) => {
    const all = stops(row);
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const node = all[Math.min(all.length - 1, Math.max(0, to))];
    rove(row, node);
    node.focus();
  });
}

/** @param {HTMLElement} row @param {Element | null} chosen the one that Tab comes to */
export function rove(row, chosen) {
  for (const node of stops(row)) node.tabIndex = node === chosen ? 0 : -1;
}

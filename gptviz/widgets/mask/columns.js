// One column a token: all of them up to about forty, above that a window round a chosen one.

const LEAST = 20; // px at unit 1
const WIDEST = 130;

/**
 * Which columns are drawn, and how wide one is.
 * @param {number} count all columns @param {number} room px @param {number} unit
 * @param {number} focus a column that must be among them
 * @param {number | null} wanted the first one, if the reader moved the window
 * @param {number} least the least width of one
 */
export function windowOf(count, room, unit, focus, wanted = null, least = LEAST) {
  const most = Math.max(6, Math.floor(room / (least * unit)));
  const shown = Math.min(count, most);
  const middle = Math.round(focus - shown / 2);
  const from = Math.max(0, Math.min(count - shown, wanted === null ? middle : wanted));
  return { from, shown, width: Math.min(WIDEST * unit, room / shown), all: shown === count };
}

/**
 * A token's text cut to a width in px.
 * @param {string} token @param {number} width @param {number} size font size in px, of a monospaced face
 */
export function fit(token, width, size) {
  const most = Math.max(1, Math.floor(width / (size * 0.602)));
  const letters = [...token];
  return letters.length <= most ? token : `${letters.slice(0, Math.max(1, most - 1)).join("")}…`;
}

/**
 * How the labels under columns stand: level where a short word fits, else upright, and thinned where those would touch.
 * @param {number} width of a column @param {number} size font size
 */
export function labelling(width, size) {
  const level = width >= size * 0.602 * 4.6;
  return { level, every: level ? 1 : Math.max(1, Math.ceil((size * 1.12) / width)) };
}

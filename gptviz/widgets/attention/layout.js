// Where things stand: which rows and columns of a long text are drawn, and how many heads go beside each other.

const ALL = 11.5; // px at unit 1: cells may shrink to this as long as the whole text fits
const WINDOWED = 19; // px at unit 1: cells of a window into a longer text
const LARGEST = 64;

/**
 * Rows and columns that are drawn. A long text shows a window: the rows up to the asking one, and the first column,
 * those
 * round the one that is looked at, and the asking token's own.
 * @param {number} T @param {number} at the asking row @param {number} centre @param {number} width @param {number}
 * height
 * @param {number} unit
 */
export function framed(T, at, centre, width, height, unit) {
  const fit = Math.min(width, height) / T;
  if (fit >= ALL * unit || T <= 2) {
    const every = Array.from({ length: T }, (_, i) => i);
    return { rows: every, cols: every, cell: Math.floor(Math.min(fit, LARGEST * unit)), whole: true };
  }
  const small = Math.min(WINDOWED * unit, Math.min(width, height) / 5);
  const across = Math.max(3, Math.min(T, Math.floor(width / small)));
  const down = Math.max(2, Math.min(T, Math.floor(height / small)));
  const start = Math.max(0, Math.min(T - down, at - down + 1));
  const rows = Array.from({ length: down }, (_, i) => start + i);
  const cell = Math.floor(Math.min(width / across, height / down));
  return { rows, cols: columns(T, at, centre, across), cell, whole: false };
}

/** The first column, those round `centre`, and the asking token's own. */
function columns(
  /** @type {number} */ T,
  /** @type {number} */ at,
  /** @type {number} */ centre,
  /** @type {number} */ n,
) {
  const inner = n - 2;
  const from = Math.max(1, Math.min(T - inner, centre - Math.floor(inner / 2)));
  const near = Array.from({ length: Math.min(inner, T - from) }, (_, i) => from + i);
  return [...new Set([0, ...near, at])].sort((a, b) => a - b);
}

/**
 * Bands of small pictures, as square as the room allows: layers down (heads across), or layers across (heads down).
 * @param {number} L @param {number} H @param {number} width @param {number} height @param {number} unit
 */
export function bands(L, H, width, height, unit) {
  const left = 24 * unit;
  const top = 15 * unit;
  const gap = 9 * unit;
  let best = null;
  for (const across of [false, true]) {
    for (let n = 1; n <= Math.min(8, L); n++) {
      const per = Math.ceil(L / n);
      const w = across ? (width - left) / per : (width - n * left - (n - 1) * gap) / (n * H);
      const h = across ? (height - n * top - (n - 1) * gap) / (n * H) : (height - top) / per;
      const side = Math.min(w, h, LARGEST * unit);
      if (!best || side > best.side * 1.04)
        best = { across, n, per, side, w: Math.min(w, side * 1.3), h: Math.min(h, side * 1.3) };
    }
  }
  const found = /** @type {NonNullable<typeof best>} */ (best);
  return { ...found, left, top, gap, place: placer(found, H, left, top, gap) };
}

/**
 * @param {{across: boolean, per: number, w: number, h: number}} b @param {number} H @param {number} left
 * @param {number} top @param {number} gap
 */
function placer({ across, per, w, h }, H, left, top, gap) {
  return (/** @type {number} */ layer, /** @type {number} */ head) => {
    const band = Math.floor(layer / per);
    const within = layer % per;
    return across
      ? { x: left + within * w, y: band * (H * h + top + gap) + top + head * h, w, h }
      : { x: band * (H * w + left + gap) + left + head * w, y: top + within * h, w, h };
  };
}

// A tint that a number can be read on: between light and dark there are tones on which neither ink nor paper will do.
import { contrast, luminance, rgb } from "../kit/colour.js";

const ENOUGH = 4.55; // WCAG asks for 4.5 : 1, and colours are rounded

/** The share itself, or the next lower one that is legible. @param {string} colour @param {number} share */
export function legible(colour, share) {
  const [card, full, ink] = [rgb("--card"), rgb(colour), luminance(rgb("--ink"))];
  for (let s = share; s > 0.05; s -= 0.02) {
    const ground = luminance(card.map((v, i) => v + (full[i] - v) * s));
    if (Math.max(contrast(ink, ground), contrast(luminance(card), ground)) >= ENOUGH) return s;
  }
  return 0.05;
}

"""Words in a picture against what they stand on, from the colours used: canvas and SVG, every step, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from gptviz.lessons import PAGES
from gptviz.lessons.steps import read

Opener = Callable[..., Page]
THEME = "dark => { if (document.body.classList.contains('dark') !== dark) gptviz.app.theme(); }"

SCALE = """
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const linear = (v) => (v <= 10.31 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const numbers = (colour) => {
  const found = (colour.match(/[\\d.]+/g) || []).map(Number);
  return colour.startsWith('color(') ? found.map((v, i) => (i < 3 ? 255 * v : v)) : found;
};
const over = (top, alpha, below) => below.map((v, i) => top[i] * alpha + v * (1 - alpha));
const needed = (size, weight) => (size >= 24 || (size >= 18.66 && weight >= 700) ? 3 : 4.5);
"""

CANVAS = (
    SCALE
    + """
const faint = (window.faint = new Map()); // what was drawn too faintly, by its words
const draw = CanvasRenderingContext2D.prototype.fillText;
const paper = () => numbers(getComputedStyle(document.body).getPropertyValue('--card').trim()
  .replace(/^#(..)(..)(..)$/, (_, r, g, b) => [r, g, b].map((h) => parseInt(h, 16)).join()));
CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...rest) {
  const at = this.getTransform().transformPoint({ x, y });
  const [px, py] = [Math.round(at.x), Math.round(at.y)];
  if (String(words).trim() && px >= 0 && py >= 0 && px < this.canvas.width && py < this.canvas.height) {
    const [r, g, b, a] = this.getImageData(px, py, 1, 1).data;
    const ground = over([r, g, b], a / 255, paper());
    const probe = document.createElement('canvas').getContext('2d');
    probe.fillStyle = this.fillStyle;
    probe.fillRect(0, 0, 1, 1);
    const ink = over([...probe.getImageData(0, 0, 1, 1).data].slice(0, 3), this.globalAlpha, ground);
    const by = contrast(luminance(ink), luminance(ground));
    const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]);
    if (by < needed(size, 400) - 0.05) faint.set(`${words} on ${ground.map(Math.round)}`, by.toFixed(2));
  }
  return draw.call(this, words, x, y, ...rest);
};
"""
)

SVG = (
    "() => {"
    + SCALE
    + """
  const style = document.createElement('style');
  style.textContent = '.gv-fig svg * { pointer-events: all !important }';
  document.head.append(style);
  const colour = (n, property) => {
    const s = getComputedStyle(n);
    const found = numbers(s[property]);
    const opacity = Number(s[`${property}Opacity`] ?? 1) * Number(s.opacity);
    return { rgb: found.slice(0, 3), alpha: (found[3] ?? 1) * opacity };
  };
  const under = (text, x, y) => {
    const stack = document.elementsFromPoint(x, y).filter((n) => n !== text && !n.closest('text, .gv-skip'));
    let ground = null;
    const layers = [];
    for (const n of stack) {
      const shape = n instanceof SVGGeometryElement && n.tagName !== 'line' && n.tagName !== 'path';
      if (!shape && n instanceof SVGElement) continue;
      const fill = getComputedStyle(n)[shape ? 'fill' : 'backgroundColor'];
      if (fill === 'none' || fill.startsWith('url') || !fill) continue;
      const { rgb, alpha } = colour(n, shape ? 'fill' : 'backgroundColor');
      if (rgb.length < 3 || !alpha) continue;
      layers.push([rgb, alpha]);
      if (alpha === 1) break;
    }
    ground = [255, 255, 255];
    for (const [rgb, alpha] of layers.reverse()) ground = over(rgb, alpha, ground);
    return ground;
  };
  const wrong = [];
  for (const text of document.querySelectorAll('.gv-fig svg text')) {
    const box = text.getBoundingClientRect();
    const seen = text.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!text.textContent.trim() || !box.width || !seen) continue;
    const s = getComputedStyle(text);
    if (s.paintOrder.startsWith('stroke') && parseFloat(s.strokeWidth) >= 2) continue; // on a halo of the paper
    const ground = under(text, box.x + box.width / 2, box.y + box.height / 2);
    const { rgb, alpha } = colour(text, 'fill');
    const by = contrast(luminance(over(rgb, alpha, ground)), luminance(ground));
    if (by < needed(parseFloat(s.fontSize), Number(s.fontWeight)) - 0.05)
      wrong.push(`“${text.textContent}” ${by.toFixed(2)} : 1, ${rgb} on ${ground.map(Math.round)}`);
  }
  style.remove();
  return wrong;
}"""
)


@pytest.mark.parametrize("key", [page.KEY for page in PAGES])
def test_words_in_a_picture_are_read_on_what_they_stand_on(open_page: Opener, key: str) -> None:
    page = open_page(key, guesses=0)
    page.add_init_script(CANVAS)
    page.emulate_media(reduced_motion="reduce")  # no colour on its way to another
    fields = next(lesson.FIELDS for lesson in PAGES if key == lesson.KEY)
    wrong: set[str] = set()
    page.reload()
    for number in range(1, len(read(key, fields).steps) + 1):
        if number > 1:
            page.evaluate("step => gptviz.app.step(step)", number)
        page.wait_for_selector(f'.gv-app[data-shown="{key}/{number}/live"]')
        for dark in (False, True):
            page.evaluate(THEME, dark)
            page.wait_for_timeout(60)
            found = page.evaluate(SVG) + page.evaluate("[...faint].map(([words, by]) => `canvas: ${words}, ${by} : 1`)")
            wrong |= {f"step {number}, {'dark' if dark else 'light'}: {line}" for line in found}
            page.evaluate("faint.clear()")
    assert not wrong, "\n".join(sorted(wrong))

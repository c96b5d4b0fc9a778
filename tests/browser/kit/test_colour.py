"""A label on a colour: ink, paper, black or white, and always read; every ramp between two tokens, light and dark."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from gptviz import widgets

TOKENS = Path(widgets.__file__).with_name("kit").joinpath("tokens.css").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"(--[a-z-]+): *#", TOKENS)))
LABELS = """async ({ names, dark, css }) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets = [sheet];
  document.body.classList.toggle("dark", dark);
  const { label, mix } = await import(`/kit/colour.js?dark=${dark}`); // read anew: it remembers the tokens' colours
  const shades = Array.from({ length: 257 }, (_, i) => i / 256);
  return names.map(([from, to]) => shades.map((t) => [mix(from, to, t), label(from, to, t)]));
}"""


def luminance(colour: str) -> float:
    """As WCAG 2.2 defines it."""
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_a_label_is_read_on_every_value_of_every_ramp(kit: Page, dark: bool) -> None:
    pairs = list(itertools.permutations(NAMES, 2))
    assert len(pairs) > 100
    found = kit.evaluate(LABELS, {"names": pairs, "dark": dark, "css": TOKENS})
    for pair, ramp in zip(pairs, found, strict=True):
        low = min(ramp, key=lambda both: contrast(*both))
        assert contrast(*low) >= 4.5, (pair, low)
    assert {ink for ramp in found for _, ink in ramp} > {"rgb(0,0,0)"}, "somewhere neither ink nor paper will do"

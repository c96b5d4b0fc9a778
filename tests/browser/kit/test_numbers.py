"""Numbers are said alike in Python and in the browser, in several languages, from the tiniest to the largest."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page

from gptviz.numbers import Numbers

WORDS = Path(__file__).parents[3] / "assets" / "lessons" / "en" / "words" / "numbers.toml"
TEXTS = tomllib.loads(WORDS.read_text(encoding="utf-8"))
LANGUAGES = ["en", "de", "fr", "tr", "hi", "cs"]  # own separators, signs, groups and plurals each
PLAIN = [
    "percent",
    "chance",
    "exact",
    "delta",
    "number",
    "whole",
    "times",
    "bytes",
    "bytes_exact",
    "seconds",
]
IN_THE_BROWSER = """async ([language, texts, calls]) => {
  const numbers = await import("/kit/numbers.js");
  numbers.setNumbers(language, texts);
  return calls.map(([name, args]) => numbers[name](...args));
}"""


def values(count: int) -> Iterator[float]:
    """Edges of every rule and their neighbours, halves that no binary number holds, and `count` × 3 of any size."""
    edges = [0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.00995, 0.0995, 0.995, 0.9995, 1.0, 1.095, 9.95, 59.5, 99.95, 999.5]
    edges += [1000.0, 3599.5, 3600.0, 1e6, 1e15, 1e21, 1e22, 1e23, 2.0**53, 5e-324, 1.7976931348623157e308, math.inf]
    edges += [0.285, 1.005, 2.675, 0.00285, 0.125, 0.5, 1.5, 2.5, 0.045, 8.345, 0.00001249, 123456.785, 0.1 + 0.2]
    edges += [9.96e-7, 9.95e-7, 9.996e20, 0.30000001192092896, 1.1754943508222875e-38, 0.12345678901234568]
    for edge in edges:
        yield from (edge, -edge, math.nextafter(edge, 0.0), math.nextafter(edge, math.inf))
    yield math.nan
    draw = random.Random(0)
    for _ in range(count):
        yield draw.choice([1.0, -1.0]) * 10 ** draw.uniform(-14, 24)
        yield draw.random() * 10 ** draw.uniform(-8, 0)
        yield round(draw.random(), draw.randint(1, 6))  # short decimals: where halves happen


def in_the_browser(kit: Page, language: str, calls: list[tuple[str, list[object]]]) -> list[object]:
    camel = {"bytes_exact": "bytesExact", "percent_list": "percentList"}
    return kit.evaluate(IN_THE_BROWSER, [language, TEXTS, [[camel.get(name, name), args] for name, args in calls]])


def same(kit: Page, language: str, calls: list[tuple[str, list[object]]]) -> None:
    numbers = Numbers(language, TEXTS)
    here = [getattr(numbers, name)(*args) for name, args in calls]
    there = in_the_browser(kit, language, calls)
    different = [(call, a, b) for call, a, b in zip(calls, here, there, strict=True) if a != b]
    assert not different, f"{len(different)} of {len(calls)}: {different[:8]}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_python_and_the_browser_say_the_same(kit: Page, language: str) -> None:
    given = list(values(800 if language == "en" else 100))
    calls: list[tuple[str, list[object]]] = [(name, [x]) for name in PLAIN for x in given]
    calls += [("decimal", [x, digits]) for x in given for digits in (0, 1, 3)]
    same(kit, language, calls)


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_and_lists_are_the_same(kit: Page, language: str) -> None:
    draw = random.Random(1)
    lists = [[10 ** draw.uniform(low, 0) for _ in range(8)] for low in (-3, -5, -6, -12) for _ in range(50)]
    calls: list[tuple[str, list[object]]] = [("ordinal", [n]) for n in range(1, 1200)]
    calls += [("percent_list", [ps]) for ps in [*lists, [], [0.0, 1.0], [1e-20, 0.5], [0.00995, 1e-5]]]
    calls += [("plural", [n]) for n in [*range(130), 1000, 1_000_000, 1.5, 0.1]]
    same(kit, language, calls)


def test_no_probability_goes_up_when_it_goes_down(kit: Page) -> None:
    """Read back, a smaller probability is never said to be larger: the rules' edges fit each other."""
    ps = sorted(p for p in values(1000) if 1e-9 < p < 0.9995)
    said = [
        str(s).replace("\u00a0", "").replace(",", "") for s in in_the_browser(kit, "en", [("percent", [p]) for p in ps])
    ]
    read = [1 / float(s.removeprefix("1in")) if s.startswith("1in") else float(s.removesuffix("%")) / 100 for s in said]
    assert all(a <= b for a, b in pairwise(read))
    assert all(abs(r - p) <= 0.5 * p for r, p in zip(read, ps, strict=True))

"""The KV-cache page as a student uses it, and its formulas against Python's."""

from __future__ import annotations

import random
import re

import pytest

from gptviz.lab.writing.cache_memory import memory
from gptviz.lessons.kv_cache import models

PROMPT = "When Mary and John went to the store, John gave a drink to"
SENTENCE = ".gv-race-say"
DONE = ".gv-curves .js-plotly-plot"


@pytest.fixture
def page(open_page):
    page = open_page("kv_cache", PROMPT)
    page.wait_for_selector(".gv-race-table tbody tr")
    return page


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("−", "-")


def rows(page) -> dict[str, list[str]]:
    """The table of work: line → without, with, factor."""
    cells = [plain(text).split("\t") for text in page.locator(".gv-race-table tbody tr").all_inner_texts()]
    return {line[0]: line[1:] for line in cells}


def finish(page) -> None:
    page.wait_for_function("() => !document.querySelector('.gv-race-go').disabled")


def test_the_course_race_ends_at_390_against_29(page):
    page.get_by_role("button", name="The course's example").click()
    page.wait_for_selector(DONE)
    finish(page)
    assert plain(page.locator(SENTENCE).inner_text()).startswith(
        "390 positions without the cache, 29 with it: 13 times"
    )
    found = rows(page)
    assert found["positions run"] == ["390", "29", "× 13.4"]
    assert found["K/V rows computed"] == ["1,560", "116", "× 13.4"]  # four layers
    assert found["K/V rows reused"][:2] == ["0", f"{4 * (390 - 20 - 9):,}"]
    assert re.fullmatch(r"[\d.]+ m?s", found["time, measured"][0])
    assert "20 of 20 times both lanes chose the same token" in page.locator(".gv-race-more").inner_text()
    assert "29 tokens × 2,048 bytes = 59,392 bytes. The tensors hold 59,392 bytes: the same." in plain(
        page.locator(".gv-race-more").inner_text()
    )
    assert page.locator(".gv-race-text .new").count() == 20


def test_the_curves_hold_the_running_sums(page):
    page.get_by_role("button", name="The course's example").click()
    page.wait_for_selector(DONE)
    page.wait_for_function("() => document.querySelectorAll('.gv-curves .js-plotly-plot').length === 2")
    counted, measured = (
        dict(figure)
        for figure in page.evaluate(
            """() => [...document.querySelectorAll('.gv-curves .js-plotly-plot')]
              .map((p) => p.data.map((t) => [t.name, Array.from(t.y)]))"""
        )
    )
    assert counted["without a cache"] == [sum(10 + k for k in range(n + 1)) for n in range(20)]
    assert counted["with the cache"] == [10 + n for n in range(20)]
    for lane in measured.values():
        assert len(lane) == 20
        assert lane == sorted(lane)
        assert lane[0] > 0
    assert all(p["height"] > 200 for p in page.evaluate(
        "() => [...document.querySelectorAll('.gv-curves .js-plotly-plot')].map((p) => ({height: p.clientHeight}))"
    ))  # fmt: skip


def test_one_more_token_saves_nothing_and_the_page_says_so(page):
    page.get_by_role("button", name="One token more").click()
    page.wait_for_function("() => document.querySelector('.gv-race-table tbody td').innerText === '14'")
    finish(page)
    assert rows(page)["positions run"] == ["14", "14", "× 1.0"]
    assert "nothing to save yet" in page.locator(SENTENCE).inner_text()
    page.get_by_role("button", name="Hardly helps").click()
    page.wait_for_function("() => document.querySelector('.gv-race-table tbody td').innerText === '3'")
    assert rows(page)["positions run"] == ["3", "2", "× 1.5"]


def test_numbers_out_of_range_are_named_not_sent(page):
    page.get_by_label("prompt tokens", exact=True).fill("15")
    page.get_by_role("button", name="Start the race").click()
    assert "choose from 1 to 14" in page.locator(".gv-race-controls").inner_text()
    page.get_by_label("prompt tokens", exact=True).fill("3")
    page.get_by_label("new tokens", exact=True).fill("1000")
    page.get_by_role("button", name="Start the race").click()
    assert "from 1 to 200" in page.locator(".gv-race-controls").inner_text()


def test_stop_ends_the_race_and_another_can_start(page):
    page.get_by_label("new tokens", exact=True).fill("200")
    page.get_by_role("button", name="Start the race").click()
    page.evaluate(
        """() => new Promise((done) => { const look = () => {
          if (document.querySelectorAll('.gv-race-text .new').length < 1) return requestAnimationFrame(look);
          [...document.querySelectorAll('.gv-race-controls button')].find((b) => b.innerText === 'Stop').click();
          done();
        }; look(); })"""
    )
    assert re.search(r"Stopped after \d+ of 200 tokens", page.locator(".gv-race-controls").inner_text())
    written = page.locator(".gv-race-text .new").count()
    page.wait_for_timeout(600)
    assert page.locator(".gv-race-text .new").count() == written < 200
    page.get_by_role("button", name="Hardly helps").click()
    page.wait_for_function("() => document.querySelector('.gv-race-table tbody td').innerText === '3'")


def test_a_cell_says_what_it_is(page):
    page.get_by_role("button", name="The course's example").click()
    finish(page)
    first = page.locator(".gv-race-cells").nth(0)
    box = first.bounding_box()
    cell = box["width"] / 29, box["height"] / 20
    first.hover(position={"x": cell[0] * 2.5, "y": cell[1] * 4.5})
    assert "Step 5 computes K and V of" in page.locator(SENTENCE).inner_text()
    assert "(position 2) again: the 5th time" in page.locator(SENTENCE).inner_text()
    page.locator(".gv-race-cells").nth(1).hover(position={"x": cell[0] * 2.5, "y": cell[1] * 4.5})
    assert "from the cache" in page.locator(SENTENCE).inner_text()


def test_the_guess_knows_the_prompt(page):
    ask = page.locator(".gv-w-predict:visible").first
    assert "14 tokens" in ask.inner_text()
    ask.get_by_role("button", name="470", exact=True).click()
    assert "As you guessed" in ask.inner_text()
    assert "14 + 15 + … + 33 = 470" in ask.inner_text()


def test_the_rows_are_shown_to_be_equal(page):
    text = plain(page.locator(".block.gv-w-kept").inner_text())
    assert "Layer 3, K and V of the first 7 tokens, 896 numbers" in text
    assert "they differ by exactly 0" in text
    numbers = [re.findall(r"-?\d\.\d{6}", line) for line in text.splitlines() if re.search(r"\d\.\d{6}", line)]
    assert len(numbers) == 3
    assert len(numbers[0]) == 6
    assert numbers[0] == numbers[2]


def test_the_calculators_formulas_are_pythons(page):
    rng = random.Random(5)
    for spec in models():
        context, batch, dtype = rng.randint(1, 200_000), rng.randint(1, 300), rng.choice(["float32", "bfloat16"])
        mine = page.evaluate(
            "([spec, T, B, e]) => gptviz.cacheSize(spec, T, B, e)",
            [spec, context, batch, 4 if dtype == "float32" else 2],
        )
        right = memory(spec[0], context, batch, dtype)
        assert mine == {
            "each": right.per_token,
            "cache": right.cache,
            "weights": right.weights,
            "crossing": right.crossing,
            "multi": right.cache_multi_head,
        }


def test_the_calculator_shows_the_course_numbers(page):
    box = page.locator(".block.gv-w-cachesize")
    text = plain(box.inner_text())
    assert "= 131,072 B per token" in text
    assert "17.2 GB, more than the weights" in text
    assert "From 122,533 tokens on" in text
    box.get_by_label("Model", exact=True).select_option(label="gpt2")
    box.get_by_label("context", exact=True).fill("10")
    box.get_by_role("button", name="32-bit").click()
    text = plain(box.inner_text())
    assert "73,728 B per token" in text
    assert "75.5 MB" in text


def test_at_the_edge_it_stops_and_says_why(page):
    page.get_by_role("button", name="Write up to the edge").click()
    page.wait_for_selector(".gv-edge-line")
    text = page.locator(".block.gv-w-edge").inner_text()
    assert "Asked for 8 tokens, got 3" in text
    assert "nano has positions 0 to 255" in text
    assert "learned one vector for each of its 256 positions" in text


def test_without_a_card_the_page_says_so_and_with_one_it_lists_the_figures(page):
    assert "there is no card to watch" in page.locator(".block.gv-w-card").inner_text()
    drawn = page.evaluate(
        """() => { const root = document.createElement('div'), figures = {allocated: 5e8, peak: 6e8, reserved: 7e8,
          free: 1.4e11, total: 1.5e11}; gptviz.mount.card(root, {})({said: 'live', figures});
          return root.innerText; }"""
    )
    for number in ("live", "0.500", "0.600", "0.700", "140.000", "150.000"):
        assert number in drawn


def test_a_race_into_the_edge_explains_itself(open_page):
    page = open_page("kv_cache", "the cat " * 125)
    page.wait_for_selector(".gv-race-table tbody tr")
    page.get_by_label("new tokens", exact=True).fill("60")
    page.get_by_role("button", name="Start the race").click()
    page.wait_for_selector(".gv-race-said p")
    assert "The context is full. 256 positions exist" in page.locator(".gv-race-said").inner_text()


@pytest.mark.parametrize("width", [390, 1920])
def test_nothing_sticks_out(open_page, width):
    page = open_page("kv_cache", PROMPT, width=width, dark=width == 1920)
    page.get_by_role("button", name="A longer answer").click()
    if width == 390:
        page.wait_for_selector(DONE)
    else:
        finish(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    for canvas in page.locator(".gv-race-cells").all():
        box = canvas.bounding_box()
        assert 150 < box["width"] <= width

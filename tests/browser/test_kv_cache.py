"""The KV-cache page as a student uses it, and its formulas against Python's."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gptviz.decoder.decoder import Decoder
from gptviz.lab.writing.cache_memory import memory
from gptviz.lab.writing.cost import cost
from gptviz.lab.writing.speculative import Speculation, repeats
from gptviz.lessons.kv_cache import models

Opener = Callable[..., Page]
SAY = ".gv-say"
LIVE = ".gv-app[data-shown$=live]"


@pytest.fixture(scope="module")
def page(open_pages: Opener) -> Page:
    """One page for all tests; each opens the state it looks at."""
    return open_pages("kv_cache")


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("−", "-")


def opened(page: Page, **state: object) -> Page:
    """The page in this state, as a link would open it."""
    search = "?lesson=kv_cache&" + "&".join(f"{name}={value}" for name, value in state.items())
    page.evaluate(
        "(search) => { document.querySelector('.gv-app').dataset.shown = ''; gptviz.app.open(search); }", search
    )
    page.wait_for_selector(LIVE)
    return page


def said(page: Page, sentence: str) -> None:
    expect(page.locator(SAY)).to_contain_text(sentence)


def lanes(page: Page) -> list[str]:
    return [plain(text) for text in page.locator(".gv-kv-bignumber").all_inner_texts()]


def test_it_opens_on_its_answer(page: Page) -> None:
    opened(page, step=1)
    said(page, "For 20 new tokens: 470 readings if all is read again, 33 if what was read is kept.")
    assert lanes(page) == ["470", "33"]
    assert page.locator(".gv-kv-sum").all_inner_texts() == ["14 + 15 + … + 33", "14 once, then 19 × 1"]
    kinds = " ".join(page.locator(".gv-kv-cellkinds").all_inner_texts())
    assert re.findall(r"\d+", kinds) == ["33", "437", "33", "437"]
    expect(page.locator(".gv-kv-lookcost")).to_contain_text("384 times")  # 2 · 196,608 weights against 4 · 4 · 4 · 16


def test_the_bill_leads_to_guesses_read_at_once(page: Page, nano: Decoder) -> None:
    """The counts and every token are those of the passes; the address has the picture, the link leads back."""
    opened(page, step=2)
    page.get_by_role("button", name="guesses ahead").click()
    ids = nano.tokenizer.encode("When Mary and John went to the store, John gave a drink to")
    state = Speculation(nano, ids, 60, repeats)
    for _ in state:
        pass
    said(page, f"60 tokens in {len(state.passes)} passes, and the text is the very same")
    said(page, f"{state.accepted} of {state.drafted} guesses were right")
    own = [token.shown for token in nano.tokenizer.tokens([each.own for each in state.passes])]
    assert page.locator(".gv-kv-pass i").all_inner_texts() == own
    assert page.locator(".gv-kv-pass b").count() == state.accepted
    assert page.locator(".gv-kv-pass s").count() == state.drafted - state.accepted
    page.wait_for_function("new URLSearchParams(location.search).get('show') === 'draft'")
    page.get_by_role("button", name="Back to the bill").click()
    expect(page.locator(".gv-kv-bill")).to_be_visible()


def test_the_courses_example_is_390_against_29(page: Page) -> None:
    opened(page, first=10, new=20)
    said(page, "390 readings if all is read again, 29 if what was read is kept")


def test_one_token_more_saves_nothing_and_the_page_says_so(page: Page) -> None:
    opened(page, new=1)
    said(page, "all 14 are read once either way. There is nothing to save yet.")
    assert lanes(page) == ["14", "14"]
    expect(page.locator(".gv-kv-lookcost")).to_contain_text("Nothing to look up yet")


def test_the_slider_walks_through_the_rows_and_the_address_follows(page: Page) -> None:
    opened(page, step=1)
    page.locator(".gv-kv-racebar input").fill("3")
    said(page, "For 3 new tokens: 45 readings")
    assert page.locator(".gv-kv-sum").all_inner_texts() == ["14 + 15 + … + 16", "14 once, then 2 × 1"]
    page.wait_for_function("new URLSearchParams(location.search).get('written') === '3'")
    page.locator(".gv-kv-racebar input").fill("20")
    page.wait_for_function("!new URLSearchParams(location.search).has('written')")


def test_a_race_is_run_measured_and_shown_at_its_own_pace(page: Page) -> None:
    opened(page, step=1, new=5)
    page.evaluate("gptviz.seen = []")
    page.evaluate(
        """() => new MutationObserver(() => gptviz.seen.push(document.querySelector('.gv-kv-race').dataset.rows))
          .observe(document.querySelector('.gv-kv-race'), {attributes: true, attributeFilter: ['data-rows']})"""
    )
    page.get_by_role("button", name="Race", exact=True).click()
    page.wait_for_function("gptviz.seen.filter((rows) => rows !== '5 5').length > 3 && gptviz.seen.at(-1) === '5 5'")
    moments = [tuple(map(int, rows.split())) for rows in page.evaluate("gptviz.seen")]
    assert min(moments) < (5, 5)
    assert lanes(page) == ["80", "18"]


def test_the_bill_has_four_measures_and_times_itself(page: Page) -> None:
    opened(page, step=2, new=5)
    said(page, "80 readings took")
    cells = [plain(text).split("\n") for text in page.locator(".gv-kv-measure").all_inner_texts()]
    assert [cell[0] for cell in cells] == ["Readings", "Arithmetic", "Bytes moved", "Seconds"]
    assert cells[0][1:] == ["4.4 times less", "80", "18"]
    assert all(re.fullmatch(r"[\d.]+ (ms|s)", number) for number in cells[3][2:])
    body = page.locator(".gv-cur .gv-body").inner_text()
    assert "4.44 times fewer readings" in body
    seconds = page.evaluate("gptviz.app.known.seconds_ratio")
    assert ("so small that the clock sees little" in body) == (seconds <= 1.1)


def test_a_cell_says_what_it_is_by_pointer_and_by_keys(page: Page) -> None:
    opened(page, step=1)
    box = page.locator(".gv-kv-cells").nth(0)
    box.hover(position={"x": 25, "y": 90})
    said(page, "again, for the")
    page.locator(".gv-kv-cells").nth(1).hover(position={"x": 25, "y": 90})
    said(page, "it is not read again")
    page.mouse.move(5, 5)
    said(page, "470 readings")
    page.locator(".gv-kv-lanes").focus()
    page.keyboard.press("ArrowRight")
    said(page, "Row 1 reads When for the first time")
    page.keyboard.press("ArrowDown")
    said(page, "Row 2 reads When again, for the 2nd time, with the same result.")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    said(page, "470 readings")


def test_the_rows_are_shown_to_be_equal(page: Page) -> None:
    opened(page, step=3)
    said(page, "the 7 tokens before them move by exactly 0")
    colours = page.evaluate(
        """() => [...document.querySelectorAll('.gv-kv-vector')].map((v) => [...v.children].map((c) =>
          c.style.background).join())"""
    )
    assert len(colours) == 3
    assert colours[0] == colours[1]
    page.get_by_role("button", name="cut off", exact=True).click()
    said(page, "which is rounding")
    box = page.locator(".gv-kv-rowmap").bounding_box()
    assert box is not None
    page.locator(".gv-kv-rowmap").click(position={"x": 3.5 * box["width"] / 14, "y": 20})
    page.wait_for_function("new URLSearchParams(location.search).get('keep') === '3'")
    page.evaluate("gptviz.app.open('?lesson=kv_cache&step=3&prompt=Hello')")
    expect(page.locator(".gv-fail")).to_contain_text("text has 1 token")


def test_heads_that_share_cost_less(page: Page) -> None:
    opened(page, step=4)
    said(page, "Each of the 4 heads has a key and a value of its own: 2.05 kB a token.")
    page.get_by_role("button", name="2 key-value heads").click()
    said(page, "If 2 heads shared one key and value, a token would take 1.02 kB instead of 2.05 kB.")
    assert page.locator(".gv-kv-headpic .gv-kv-k").count() == 2
    assert page.locator(".gv-kv-headpic .gv-kv-share").count() == 4


def test_the_calculators_formulas_are_pythons(page: Page) -> None:
    rng = random.Random(5)
    for model in models():
        context, batch, dtype = rng.randint(1, 200_000), rng.randint(1, 300), rng.choice(["float32", "bfloat16"])
        mine = page.evaluate(
            """async ([model, T, B, bits]) => {
              const src = performance.getEntriesByType('resource').map((r) => r.name)
                .find((name) => name.endsWith('/kv_cache/page.js'));
              const { memory } = await import(src.replace('page.js', 'memory.js'));
              return memory(model, T, B, bits); }""",
            [model, context, batch, 32 if dtype == "float32" else 16],
        )
        right = memory(model["name"], context, batch, dtype)
        assert mine["each"] == right.per_token
        assert mine["cache"] == right.cache
        assert mine["weights"] == right.weights
        assert mine["crossing"] == right.crossing
        assert mine["multi"] == right.cache_multi_head


def test_the_calculator_shows_the_course_numbers(page: Page) -> None:
    opened(page, step=5)
    said(page, "Llama-3-8B reads 8,192 tokens. At 131,072 its cache would take 17.2 GB, its weights 16.1 GB.")
    page.get_by_role("button", name="Llama 3.1", exact=True).click()
    said(page, "131,072 tokens take 17.2 GB of cache, more than the 16.1 GB of its weights")
    page.get_by_role("button", name="Mistral 7B").click()
    said(page, "Mistral-7B reads 4,096 tokens back")
    page.get_by_label("Model", exact=True).select_option("gpt2")
    page.get_by_label("Tokens in a text").fill("10")
    page.get_by_role("group", name="Bits a number").get_by_text("32").click()
    said(page, "gpt2: 1,024 tokens take 75.5 MB of cache")


def test_at_the_end_it_stops_and_says_what_going_on_costs(page: Page) -> None:
    opened(page, step=6)
    said(page, "Asked for 8 tokens, 3 had a place. Going on costs 256 readings for each token instead of 1.")
    rows = [plain(text) for text in page.locator(".gv-kv-croprow b").all_inner_texts()]
    assert rows == ["253 readings", "1 reading", "1 reading", "1 reading", *["256 readings"] * 4]
    expect(page.locator(".gv-kv-place").last).to_have_text(re.compile("no place256"))


def test_cost_against_length_is_a_figure_in_the_pages_colours(page: Page, nano) -> None:
    opened(page, step=7)
    page.wait_for_selector(".gv-kv-plot .main-svg")
    found = cost(nano)
    said(page, f"From {found.reading} tokens on, attention outweighs the matrices")
    data = page.evaluate(
        """() => document.querySelector('.gv-kv-plot').data.map((t) => ({name: t.name, y: [...t.y],
          colour: t.line.color, text: t.text.at(-1)}))"""
    )
    assert [line["name"] for line in data] == ["matrices", "attention"]
    assert data[1]["y"] == [row.flops["attention"] for row in found.rows]
    assert data[0]["text"] == "51.5 billion"
    assert data[0]["colour"] == page.evaluate(
        """() => { const p = document.createElement('p'); p.style.color = 'var(--key)'; document.body.append(p);
          const c = getComputedStyle(p).color; p.remove(); return c.replaceAll(' ', ''); }"""
    )
    page.get_by_role("button", name="this race", exact=True).click()
    said(page, "470 readings if all is read again, 33 if it is kept")
    sums = page.wait_for_function(
        """() => { const d = document.querySelector('.gv-kv-plot').data;
          return d[0].name.startsWith('all') || d[1].name.startsWith('all') ? d.map((t) => [...t.y]) : null; }"""
    ).json_value()
    assert sorted(sums) == [[14 + n for n in range(20)], [sum(14 + k for k in range(n + 1)) for n in range(20)]]


def test_the_figures_library_comes_only_with_its_step(open_page: Opener) -> None:
    page = open_page("kv_cache")
    loaded = "performance.getEntriesByType('resource').filter((r) => r.name.endsWith('plotly.min.js')).length"
    assert page.evaluate(loaded) == 0
    opened(page, step=7)
    page.wait_for_selector(".gv-kv-plot .main-svg")
    assert page.evaluate(loaded) == 1


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (1920, 1080)])
def test_nothing_sticks_out_for_any_length(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    for prompt, new in (("Hello", 20), ("the cat " * 110, 20), ("Once upon a time", 200)):
        opened(page, prompt=prompt.replace(" ", "+"), new=new)
        page.wait_for_function(f"document.querySelector('.gv-kv-race').dataset.rows === '{new} {new}'")
        for box in page.locator(".gv-kv-cells").all():
            canvas, room = box.locator("canvas").bounding_box(), box.bounding_box()
            assert canvas is not None
            assert room is not None
            assert canvas["height"] == pytest.approx(room["height"], abs=1)
            assert canvas["x"] + canvas["width"] <= width
    page.set_viewport_size({"width": 1280, "height": 800})


def test_a_race_into_the_end_explains_itself(page: Page) -> None:
    opened(page, prompt="the+cat+" * 125, new=60)
    said(page, "The context is full: 256 places,")


def test_a_race_can_be_stopped_and_run_again(open_page: Opener) -> None:
    page = open_page("kv_cache", new=200)
    go = page.locator(".gv-kv-racego")
    go.click()
    expect(go).to_contain_text("Stop")
    go.click()
    expect(go).to_have_text("Race")
    expect(page.locator(".gv-say")).not_to_contain_text("Both lanes run")

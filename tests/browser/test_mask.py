"""The mask page: what its picture shows is what the lab computes, and every control, pointer and key moves it."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import Page, expect

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.lab.masking import leak
from gptviz.service import Service
from gptviz.shell import build
from tests.odd import folders

PROMPT = "When Mary and John went to the store, John gave a drink to"
KINDS = """column => [...document.querySelectorAll(`.gv-g-cells rect[data-column="${column}"]`)]
    .map((r) => r.dataset.kind).reverse()"""
FRAME = "html => document.documentElement.scrollWidth"


@pytest.fixture
def mask(open_page) -> Page:
    return open_page("mask", prompt=PROMPT)


@pytest.fixture
def reach(open_page) -> Page:
    return open_page("mask", prompt=PROMPT, step=3, at=9, guesses=0)


def painted(page: Page, state: str) -> None:
    """Wait until the picture stands for this state: view, open layers, direction."""
    expect(page.locator(f'.gv-mask[data-painted="{state}"]')).to_be_attached()


def sentence(page: Page):
    return page.locator(".gv-say")


def heights(page: Page, name: str) -> list[float]:
    return [float(bar.get_attribute("height")) for bar in page.locator(f".gv-board .gv-{name}").all()]


def test_the_first_screen_counts_the_guesses_and_its_bars_are_the_labs_probabilities(mask, nano):
    ids = nano.tokenizer.encode(PROMPT)
    found = leak.true_next(nano, ids, MaskRule("none"))
    expect(sentence(mask)).to_contain_text(f"{found.rises} of {len(ids) - 1} guesses get better")
    closed, changed = heights(mask, "closed"), heights(mask, "changed")
    assert len(closed) == len(changed) == len(ids) - 1
    whole = max(found.causal.max(), found.changed.max())
    tallest = max(closed + changed)
    for bars, chances in ((closed, found.causal), (changed, found.changed)):
        drawn = torch.tensor(bars) / tallest
        assert torch.allclose(drawn, (chances / whole).float(), atol=0.01)
    body = mask.locator(".gv-body:visible")
    expect(body).to_contain_text(
        f"rises from {found.loss_causal:.2f} to {found.loss_changed:.2f}"
    )  # dearer on this text


def test_the_layer_in_the_middle_has_its_own_guesses(open_page, nano):
    page = open_page("mask", prompt=PROMPT, step=4, guesses=0)  # the step names no number: "middle"
    painted(page, "reach 2 none")
    ids = nano.tokenizer.encode(PROMPT)
    found = leak.true_next(nano, ids, MaskRule("none", frozenset({2})))
    assert abs(found.loss_changed - found.loss_causal) > 0.01
    expect(page.locator(".gv-board")).to_contain_text(f"loss {found.loss_changed:.2f}")
    tallest = max(heights(page, "closed") + heights(page, "changed"))
    drawn = torch.tensor(heights(page, "changed")) / tallest
    whole = max(found.causal.max(), found.changed.max())
    assert torch.allclose(drawn, (found.changed / whole).float(), atol=0.02)


def test_bars_stand_over_the_tokens_they_guess(mask):
    bar = mask.locator('.gv-board .gv-closed[data-column="3"]').bounding_box()
    other = mask.locator('.gv-board .gv-changed[data-column="3"]').bounding_box()
    word = mask.locator(".gv-board text.gv-tok", has_text="·John").first.bounding_box()
    middle = (bar["x"] + other["x"] + other["width"]) / 2
    assert abs(middle - (word["x"] + word["width"] / 2)) < 2


def test_a_closed_mask_leaves_exact_zeros_left_of_the_replaced_token(reach):
    expect(sentence(reach)).to_contain_text("all 45 cells left of it move by exactly 0")
    assert reach.evaluate(KINDS, 8) == ["zero"] * 5
    assert reach.evaluate(KINDS, 10)[1:] == ["key"] * 4


def test_pressing_one_layer_floods_it_and_all_above_and_a_second_one_goes_with_it(reach):
    reach.locator('.gv-lay[data-layer="2"] .gv-lock').click()
    painted(reach, "reach 2 none")
    assert reach.evaluate(KINDS, 3) == ["zero", "zero", "zero", "warn", "warn"]
    expect(sentence(reach)).to_contain_text("Only layer 2 is open, and 18 cells left of")
    assert "open=2" in reach.url or reach.wait_for_url(re.compile("open=2")) is None
    reach.locator('.gv-lay[data-layer="1"] .gv-lock').click()
    painted(reach, "reach 1,2 none")
    assert reach.evaluate(KINDS, 3) == ["zero", "zero", "warn", "warn", "warn"]


def test_the_map_is_the_labs_measured_contamination(reach, nano):
    reach.get_by_role("button", name="all open", exact=True).click()
    painted(reach, "reach 0,1,2,3 none")
    ids = nano.tokenizer.encode(PROMPT)
    found = leak.contamination(nano, ids, 9, leak.one_token(nano, " the"), MaskRule("none")).change  # [L+1, T]
    for column in (0, 8, 9, 13):
        kinds = [("zero" if x == 0 else "warn" if column < 9 else "key") for x in found[:, column].tolist()]
        assert reach.evaluate(KINDS, column) == kinds
    cell = reach.locator('.gv-g-cells rect[data-row="4"][data-column="8"]')
    cell.hover()
    shown = re.search(r"moved by ([\d.]+)", sentence(reach).inner_text())
    assert float(shown.group(1)) == pytest.approx(float(found[4, 8]), rel=0.02)


def test_another_token_and_another_word_are_replaced_and_a_bad_one_is_one_sentence(reach):
    reach.locator('.gv-g-cells rect[data-row="2"][data-column="4"]').click()
    expect(sentence(reach)).to_contain_text("all 20 cells left of it")
    box = reach.get_by_label("The word that replaces it")
    box.fill("dog")
    box.press("Enter")
    expect(sentence(reach)).to_contain_text("·went becomes ·dog")
    box.fill("green ideas")
    box.press("Enter")
    expect(reach.locator(".gv-fail")).to_contain_text('replacement is " green ideas", which is 2 tokens')


def test_the_wrong_way_mirrors_the_map(open_page):
    page = open_page("mask", prompt=PROMPT, step=5, at=6)
    assert page.evaluate(KINDS, 2)[1:] == ["warn"] * 4
    assert page.evaluate(KINDS, 9) == ["zero"] * 5


def test_the_guess_waits_with_the_picture_and_the_answer_gives_the_reason(open_page):
    page = open_page("mask", prompt=PROMPT, step=4, at=9)
    assert page.evaluate(KINDS, 3) == ["zero"] * 5  # still closed
    page.get_by_role("button", name="only that row").click()
    painted(page, "reach 2 none")
    expect(page.locator(".gv-ask")).to_contain_text("Not quite.")
    expect(page.locator(".gv-ask")).to_contain_text("2 of 5 rows")


def test_the_grid_is_the_mask_that_the_weights_obey(open_page):
    page = open_page("mask", prompt=PROMPT, step=2)
    blocks = page.locator(".gv-gridblock")
    forbidden = [(q, k) for q in range(4) for k in range(4) if k > q]
    cells = blocks.nth(1).locator("td:not(:empty)")
    expect(cells).to_have_count(16)
    signs = cells.all_inner_texts()
    assert [signs[4 * q + k] for q, k in forbidden] == ["−∞"] * 6
    weights = blocks.nth(2).locator("td:not(:empty)").all_inner_texts()
    assert [weights[4 * q + k] for q, k in forbidden] == ["0"] * 6
    page.get_by_role("button", name="the triangle turned over").click()
    painted(page, "grid 0,1,2,3 wrong_way")
    assert blocks.nth(1).locator("td:not(:empty)").all_inner_texts()[4] == "−∞"


def test_the_three_ways_run_on_the_chosen_layer(open_page):
    page = open_page("mask", prompt=PROMPT, step=6)
    expect(page.locator(".gv-waylist pre")).to_have_count(4)
    expect(page.locator(".gv-wayresult td").first).to_have_text("exactly 0")
    expect(page.locator(".gv-waylist pre").nth(1)).to_contain_text('float("-inf")')
    before = page.locator(".gv-wayresult td").all_inner_texts()
    page.get_by_label("Layer whose queries").select_option("0")
    painted(page, "ways 0 none")
    assert page.locator(".gv-wayresult td").all_inner_texts() != before


def test_influence_streams_into_a_triangle_and_one_open_layer_fills_it(open_page):
    page = open_page("mask", prompt=PROMPT, step=7)
    expect(page.locator(".gv-tally")).to_have_text("0 of 91 pairs right of the diagonal moved")
    kinds = page.evaluate("[...document.querySelectorAll('.gv-square [data-kind]')].map((r) => r.dataset.kind)")
    assert [kinds[14 * i + j] for i in range(14) for j in range(i + 1, 14)] == ["zero"] * 91
    assert "zero" not in [kinds[14 * i + j] for i in range(14) for j in range(i + 1)]
    page.get_by_role("button", name="One open layer").click()
    expect(page.locator(".gv-tally")).to_contain_text("91 of 91 pairs")


def test_a_long_run_can_be_stopped_and_more_than_64_tokens_are_refused_in_words(open_page):
    page = open_page("mask", prompt="the cat sat on a red mat and " * 7, step=7)
    run = page.get_by_role("button", name=re.compile(r"Run \d+ prompts"))
    expect(run).to_be_visible()
    run.click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name=re.compile(r"Run \d+ prompts"))).to_be_enabled()
    page = open_page("mask", prompt="the cat sat on a red mat and " * 10, step=7)
    expect(sentence(page)).to_contain_text("at most 64 tokens")


def test_by_keyboard_alone(reach):
    board = reach.locator(".gv-board")
    board.focus()
    for key in ("ArrowDown", "ArrowRight"):
        board.press(key)
    expect(sentence(reach)).to_contain_text("After layer 3, ·Mary moved by exactly 0")
    board.press("Enter")
    expect(sentence(reach)).to_contain_text("After layer 3, ·Mary moved by")
    for _ in range(2):
        board.press("ArrowLeft")
    expect(sentence(reach)).to_contain_text("Layer 3: its mask is closed")
    board.press("Enter")
    painted(reach, "reach 3 none")


def test_a_long_text_shows_a_window_and_its_overview(open_page):
    page = open_page("mask", prompt="the cat sat on a red mat and the dog ran " * 10)
    drawn = page.locator('.gv-g-cells rect[data-row="0"]').count()
    assert 20 < drawn < 60
    expect(page.locator(".gv-overview")).to_be_visible()
    board = page.locator(".gv-board")
    board.focus()
    for _ in range(drawn + 3):
        board.press("ArrowRight")
    last = page.locator('.gv-g-cells rect[data-row="0"]').last.get_attribute("data-column")
    assert int(last) >= drawn + 2


@pytest.mark.parametrize(
    ("step", "width", "height", "dark"),
    [(1, 390, 844, True), (4, 390, 844, False), (2, 1280, 800, True), (7, 1920, 1080, False), (1, 360, 300, False)],
)
def test_the_picture_stays_in_its_box(open_page, step, width, height, dark):
    view = {"embed": 1} if width == 360 else {"present": 1} if width == 1920 else {}
    page = open_page("mask", prompt=PROMPT, step=step, guesses=0, width=width, height=height, dark=dark, **view)
    assert page.evaluate(FRAME) <= width
    stage = page.locator(".gv-stage").bounding_box()
    picture = page.locator(".gv-boardbox, .gv-grids, .gv-influence").locator("visible=true").first.bounding_box()
    assert picture["y"] + picture["height"] <= stage["y"] + stage["height"] + 1


def test_a_single_token_and_hostile_text_stay_text(open_page):
    page = open_page("mask", prompt="Hi")
    expect(sentence(page)).to_contain_text("stands alone")
    hostile = open_page("mask", prompt="<img src=x onerror=document.title='owned'> ${1+1} {{value}}")
    assert hostile.locator(".gv-mask img").count() == 0
    assert "owned" not in hostile.title()


def test_the_table_has_the_pictures_numbers(open_page, nano):
    page = open_page("mask", prompt=PROMPT, table=1)
    rows = page.locator(".gv-table tbody tr")
    expect(rows).to_have_count(13)
    expect(rows.nth(1)).to_contain_text("·and")


def test_an_opened_layer_that_keeps_its_window_says_so(chromium, tmp_path):
    folder = folders.make(tmp_path, "qwen2, window 5")  # all but its first layer have the window
    service = Service()
    service.add(Decoder.load(folder))
    app = build(service)
    _, address, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    try:
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{address}?lesson=mask&prompt=a+text+longer+than+five+tokens")
        said = page.locator(".gv-windows")
        expect(said).to_have_text("2 of 3 open layers keep their window of 5 tokens, ahead as well")
        page.goto(f"{address}?lesson=mask&prompt=a+b")  # no longer than the window: nothing to say
        painted(page, "answers 0,1,2 none")
        expect(said).to_have_count(0)
        page.close()
    finally:
        app.demo.close()

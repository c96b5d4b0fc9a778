"""The prefix check page: verdicts, the cut by pointer and key, the planted leak, and evidence that can be run again."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from gptviz.decoder.attention import MaskRule
from gptviz.lab.masking import evidence, prefix

PROMPT = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture
def check(open_page) -> Page:
    return open_page("prefix", prompt=PROMPT)


def sentence(page: Page):
    return page.locator(".gv-say")


def painted(page: Page, state: str) -> None:
    """Wait until the picture stands for this state: view, cut, method, open layers, direction."""
    expect(page.locator(f'.gv-prefix[data-painted="{state}"]')).to_be_attached()


def bars(page: Page, panel: str) -> list[str]:
    found = page.locator(f'.gv-checkboard rect[data-side="{panel}"]').all()
    return [bar.get_attribute("class") or "" for bar in found]


def test_the_first_screen_gives_the_verdict_and_the_labs_numbers(check, nano):
    expect(sentence(check)).to_contain_text("the 4 guesses up to it move by exactly 0")
    assert bars(check, "own") == ["gv-good"] * 4
    assert bars(check, "faulty") == ["gv-bad"] * 4
    found = prefix.check(nano, nano.tokenizer.encode(PROMPT), 4, MaskRule("none"), "edit")
    drawn = [float(b.get_attribute("height")) for b in check.locator('rect[data-side="faulty"]').all()]
    shares = found.guesses.moved.tolist()
    assert [h / max(drawn) for h in drawn] == pytest.approx([s / max(shares) for s in shares], abs=0.02)
    expect(check.locator(".gv-checkboard:visible")).to_contain_text(f"{round(100 * shares[1])} %")


def test_one_open_layer_is_enough_and_the_address_says_which(check):
    check.get_by_role("button", name="one layer open").click()
    painted(check, "check 4 edit 2 none")
    assert bars(check, "own") == ["gv-good"] * 4
    assert bars(check, "faulty") == ["gv-bad"] * 4
    check.get_by_label("The open layer").select_option("3")
    painted(check, "check 4 edit 3 none")
    check.wait_for_url(re.compile("open=3"))


def test_the_cut_moves_by_a_press_on_a_token_by_keys_and_by_dragging(check):
    check.locator('.gv-tile[data-column="6"]').first.click()
    painted(check, "check 7 edit 0,1,2,3 none")
    handle = check.get_by_role("slider", name="The cut")
    handle.focus()
    handle.press("ArrowRight")
    painted(check, "check 8 edit 0,1,2,3 none")
    expect(handle).to_be_focused()
    box = handle.bounding_box()
    tile = check.locator('.gv-tile[data-column="2"]').first.bounding_box()
    check.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    check.mouse.down()
    check.mouse.move(tile["x"] + tile["width"], tile["y"], steps=6)
    check.mouse.up()
    painted(check, "check 3 edit 0,1,2,3 none")
    expect(sentence(check)).to_contain_text("the 3 guesses up to it")


def test_another_ending_is_typed_and_the_old_one_is_refused_in_words(check):
    box = check.get_by_label("The new ending")
    box.fill("saw a dog")
    box.press("Enter")
    expect(check.locator(".gv-tok.gv-on-other", has_text="·dog").first).to_be_visible()
    expect(sentence(check)).to_contain_text("exactly 0")
    box.fill(PROMPT[len("When Mary and John ") :])
    box.press("Enter")
    expect(check.locator(".gv-fail")).to_contain_text("ending is the old one")


def test_cutting_off_states_the_noise_and_the_tolerance(open_page, nano):
    page = open_page("prefix", prompt=PROMPT, step=5)
    found = prefix.check(nano, nano.tokenizer.encode(PROMPT), 4, method="truncate")
    expect(sentence(page)).to_contain_text("stay within rounding")
    expect(page.locator(".gv-body:visible")).to_contain_text(f"{found.tolerance:.5f}")
    assert bars(page, "own") == ["gv-good"] * 4
    assert page.locator(".gv-tile.gv-nothing").count() == 10


def test_the_toy_is_exact_with_the_mask_and_moves_without(open_page):
    page = open_page("prefix", step=2)
    moved = page.locator(".gv-toy td:last-child")
    toy = prefix.toy(masked=False).deltas.tolist()
    assert [said.replace("\u00a0", " ") for said in moved.all_inner_texts()] == ["exactly 0"] * 3 + [""] + [
        f"{d:.2f}" for d in toy
    ] + [""]


def test_the_planted_leak_escapes_the_cuts_between_its_blocks(open_page):
    page = open_page("prefix", prompt=PROMPT, step=6, guesses=0)
    expect(sentence(page)).to_contain_text("A test that cuts after 4 words passes, and yet this mask leaks")
    expect(page.locator(".gv-caught")).to_have_text("10 of 13")
    escapes = page.locator(".gv-checkboard:visible text", has_text="escapes")
    expect(escapes).to_have_count(3)
    page.locator('rect[data-row="6"][data-column="0"]').click()
    expect(sentence(page)).to_contain_text("Cut after 6 words, and the leak is seen")
    page.get_by_role("button", name="no mask").click()
    expect(page.locator(".gv-caught")).to_have_text("13 of 13")


@pytest.mark.parametrize(("which", "invariant"), [("mask on", True), ("the faulty mask", False)])
def test_the_downloaded_evidence_is_confirmed_from_the_command_line(open_page, tmp_path, capsys, which, invariant):
    page = open_page("prefix", prompt=PROMPT, step=7)
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download: {which}").click()
    path = tmp_path / "evidence.json"
    download.value.save_as(path)
    assert json.loads(path.read_text())["invariant"] == invariant
    if invariant:
        assert path.read_text() == page.locator(".gv-file").text_content()
    assert evidence.main([str(path), "--offline"]) == 0
    assert ("not prefix-invariant" in capsys.readouterr().out) == (not invariant)


def test_by_keyboard_alone(check):
    board = check.locator(".gv-checkboard:visible")
    board.focus()
    expect(sentence(check)).to_contain_text("After When all scores are the same")
    board.press("ArrowDown")
    board.press("ArrowRight")
    expect(sentence(check)).to_contain_text("After ·Mary the model expected")


def test_one_token_is_one_sentence_and_a_long_text_has_a_window(open_page):
    page = open_page("prefix", prompt="Hi", drawn=False)
    expect(page.locator(".gv-fail")).to_contain_text("text has 1 token")
    page = open_page("prefix", prompt="the cat sat on a red mat and the dog ran " * 10)
    assert 15 < page.locator(".gv-tile").count() / 2 < 45
    expect(page.locator(".gv-checkboard:visible")).to_contain_text(re.compile(r"\d+ more"))


@pytest.mark.parametrize(
    ("step", "width", "height", "dark"),
    [(1, 390, 844, True), (2, 390, 844, False), (6, 1280, 800, True), (1, 1920, 1080, False), (1, 360, 300, False)],
)
def test_the_picture_stays_in_its_box(open_page, step, width, height, dark):
    view = {"embed": 1} if width == 360 else {"present": 1} if width == 1920 else {}
    page = open_page("prefix", prompt=PROMPT, step=step, width=width, height=height, dark=dark, **view)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    stage = page.locator(".gv-stage").bounding_box()
    picture = page.locator(".gv-fill, .gv-toy").locator("visible=true").first.bounding_box()
    assert picture["y"] + picture["height"] <= stage["y"] + stage["height"] + 1

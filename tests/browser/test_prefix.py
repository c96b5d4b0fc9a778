"""The prefix check page: the toy, the model, evidence that can be run again, and every prefix at once."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from gptviz.lab.masking import evidence

PROMPT = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture
def check(open_page) -> Page:
    page = open_page("prefix", PROMPT)
    page.wait_for_selector(".gv-col")
    return page


def guessed(page: Page) -> Page:
    page.locator(".gv-w-prefix").get_by_role("button", name="none of them").click()
    return page


def settled(page: Page) -> None:
    page.wait_for_function("!document.querySelector('.gv-board').hasAttribute('aria-busy')")


def test_the_toy_is_exact_with_the_mask_and_moves_without(check):
    toy = check.locator(".gv-w-toy")
    expect(toy.locator(".gv-cover")).to_be_visible()
    toy.get_by_role("button", name="by tenths").click()
    expect(toy.locator(".gv-answer")).to_contain_text("You guessed “by tenths”. The rows differ by exactly 0.")
    expect(toy.locator(".gv-ok")).to_have_text(["exactly 0"] * 3)
    expect(toy.locator(".gv-say")).to_contain_text("differ by exactly 0 (0e+00)")
    toy.get_by_role("button", name="mask off").click()
    expect(toy.locator(".gv-bad")).to_have_count(3)
    assert all(0.1 <= float(text) < 1 for text in toy.locator(".gv-bad").all_inner_texts())


def test_the_model_is_unchanged_with_the_mask_and_red_without(check):
    board = check.locator(".gv-w-prefix")
    expect(board.locator(".gv-col.ok, .gv-col.bad")).to_have_count(0)  # nothing is given away before the guess
    guessed(check)
    expect(board.locator(".gv-answer")).to_contain_text("As you guessed. With every mask on, 0 of 9 changed.")
    expect(board.locator(".gv-col.ok")).to_have_count(9)
    expect(board.locator(".gv-verdict")).to_contain_text("All 9 kept outputs are unchanged, bit for bit")
    board.get_by_role("button", name="off", exact=True).click()
    expect(board.locator(".gv-col.bad")).to_have_count(9)
    expect(board.locator(".gv-verdict")).to_contain_text("9 of 9 kept outputs changed")
    board.get_by_role("button", name="one layer open").click()
    board.get_by_label("Open layer").select_option("3")
    settled(check)
    expect(board.locator(".gv-col.bad")).to_have_count(9)


def test_a_new_prompt_keeps_the_mask_as_it_was_set(check):
    guessed(check)
    board = check.locator(".gv-w-prefix")
    board.get_by_role("button", name="off", exact=True).click()
    settled(check)
    check.get_by_test_id("textbox").first.fill("The old man and the sea")
    check.get_by_role("button", name="Run", exact=True).click()
    expect(board.locator(".gv-kept")).to_have_text("keep the first 4 of 6 tokens")
    expect(board.locator(".gv-col.bad")).to_have_count(4)


def test_cutting_the_end_off_states_its_tolerance(check):
    guessed(check)
    board = check.locator(".gv-w-prefix")
    board.get_by_role("button", name="cut it off").click()
    expect(board.locator(".gv-verdict")).to_contain_text("All 9 kept outputs are unchanged")
    expect(board.locator(".gv-note").first).to_contain_text("the noise of float32")
    expect(board.get_by_label("The new ending")).to_be_hidden()


def test_the_prefix_is_chosen_by_a_click_and_the_ending_typed(check):
    guessed(check)
    board = check.locator(".gv-w-prefix")
    board.locator("button.gv-col").nth(3).click()
    expect(board.locator(".gv-kept")).to_have_text("keep the first 4 of 14 tokens")
    expect(board.locator(".gv-col.ok")).to_have_count(4)
    board.get_by_role("button", name="Keep one token more").click()
    expect(board.locator(".gv-col.ok")).to_have_count(5)
    expect(board.get_by_label("The new ending")).to_have_attribute("placeholder", "empty: ·the ·the …")
    board.get_by_label("The new ending").fill(" dog")
    expect(board.locator(".gv-col:not(.in) .two", has_text="dog")).to_have_count(9)
    expect(board.locator(".gv-col.ok")).to_have_count(5)
    board.get_by_label("The new ending").fill(PROMPT[len("When Mary and John went") :])
    expect(board.locator(".gv-verdict")).to_contain_text("The new ending is the old one")


@pytest.mark.parametrize("mask", ["on", "off"])
def test_the_downloaded_evidence_is_confirmed_by_the_command_line_check(check, tmp_path, capsys, mask):
    guessed(check)
    board = check.locator(".gv-w-prefix")
    board.get_by_role("button", name=mask, exact=True).click()
    settled(check)
    with check.expect_download() as download:
        board.get_by_role("button", name="Download the evidence (JSON)").click()
    path = tmp_path / "evidence.json"
    download.value.save_as(path)
    assert json.loads(path.read_text())["invariant"] == (mask == "on")
    assert evidence.main([str(path), "--offline"]) == 0
    assert ("not prefix-invariant" in capsys.readouterr().out) == (mask == "off")


def test_every_prefix_is_checked_on_request(check):
    guessed(check)
    box = check.locator(".gv-w-prefixes")
    box.get_by_role("button", name="Check 91 outputs").click()
    expect(box.locator(".gv-say")).to_have_text("91 outputs checked, none changed, bit for bit.")
    check.locator(".gv-w-prefix").get_by_role("button", name="wrong way").click()
    settled(check)
    expect(box.locator(".gv-count")).to_contain_text("before you changed the settings")
    box.get_by_role("button", name="Check 91 outputs").click()
    expect(box.locator(".gv-say")).to_have_text("91 of 91 outputs changed. The model reads ahead.")


def test_the_leak_inside_blocks_shows_why_one_length_is_not_enough(check):
    box = check.locator(".gv-w-prefixes")
    box.get_by_role("button", name="yes: it reads ahead").click()
    expect(box.locator(".gv-answer")).to_contain_text("Row “first 4” is all zero")


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1920, False)])
def test_nothing_sticks_out_of_the_page(open_page, width, dark):
    page = open_page("prefix", PROMPT, width=width, dark=dark)
    page.wait_for_selector(".gv-col")
    guessed(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_one_token_is_explained(open_page):
    page = open_page("prefix", "Hi")
    expect(page.locator(".gv-w-prefix .gv-verdict")).to_contain_text("This text has one token")

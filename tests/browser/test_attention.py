"""The attention page as a student uses it."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

PROMPT = "the cat and the cat and the cat"
GRID, DETAIL = ".gv-heads canvas", ".gv-head .gv-over"


def heading(page) -> str:
    return page.locator(".gv-head .gv-figtitle span").first.inner_text()


def wait_ready(page) -> None:
    page.wait_for_function("document.querySelector('.gv-head .gv-over').width > 60")
    page.wait_for_function("!document.querySelector('.gv-head').hasAttribute('aria-busy')")


def sentence(page) -> str:
    return page.locator(".gv-head .gv-say").inner_text().replace("\u00a0", " ")


def test_every_head_is_there_and_arrow_keys_choose_one(open_page, nano):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    assert f"All {nano.shape.layers * nano.shape.heads} heads" in page.locator(".gv-heads .gv-figtitle").inner_text()
    page.locator(GRID).focus()
    page.keyboard.press("Home")
    assert heading(page) == "Layer 0, head 0"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert heading(page) == "Layer 1, head 1"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert heading(page) == "Layer 1, head 0"


def test_a_click_opens_the_head_under_the_pointer(open_page):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    box = page.locator(GRID).bounding_box()
    pitch = (box["width"] - 26) / 4
    page.locator(GRID).click(position={"x": 26 + 2.5 * pitch - 2, "y": 20 + 1.5 * pitch - 2})
    assert heading(page) == "Layer 1, head 2"


def test_equal_tokens_keep_their_own_rows_and_columns(open_page, nano):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    ids = nano.tokenizer.encode(PROMPT)
    assert len(rows) == len(ids) + 1
    assert all(len(row) == len(ids) + 2 for row in rows)
    match = re.fullmatch(r"attention-layer(\d+)-head(\d+)-weights\.csv", download.value.suggested_filename)
    layer, head = int(match[1]), int(match[2])
    weights = nano.run(ids, capture=[layer]).attention[layer].weights[head]
    for i, row in enumerate(rows[1:]):
        assert [float(x) for x in row[2:]] == pytest.approx(weights[i].tolist(), abs=1e-6)
        assert all(float(x) == 0 for x in row[3 + i :])


def test_the_sentence_names_query_key_and_value(open_page, nano):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    page.locator(GRID).focus()
    page.keyboard.press("Home")
    wait_ready(page)
    page.locator(DETAIL).focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    weights = nano.run(nano.tokenizer.encode(PROMPT), capture=[0]).attention[0].weights[0]
    said = sentence(page)
    assert said.startswith("·cat (1) gives ")
    assert float(re.search(r"gives ([\d.]+) %", said)[1]) == pytest.approx(100 * float(weights[1, 0]), abs=0.06)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "exactly 0" in sentence(page)


def test_scores_masked_and_weights_tell_the_three_steps(open_page, nano):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    page.locator(GRID).focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="scores QKᵀ/√d_k", exact=True).click()
    wait_ready(page)
    page.locator(DETAIL).focus()
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    assert "which the mask will remove" in sentence(page)
    page.get_by_role("button", name="masked", exact=True).click()
    page.wait_for_function("document.querySelector('.gv-head .gv-say').textContent.includes('−∞')")


def test_a_kind_can_be_singled_out(open_page):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    pixels = """Array.from(document.querySelector('.gv-heads canvas').getContext('2d')
        .getImageData(0, 0, 200, 200).data).reduce((a, b) => a + b)"""
    before = page.evaluate(pixels)
    chip = page.locator(".gv-kinds button").first
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    assert page.evaluate(pixels) != before
    chip.click()
    assert page.evaluate(pixels) == before


def test_a_new_prompt_is_shown_and_a_bad_one_changes_nothing(open_page):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    box = page.locator(".gv-prompt textarea")
    box.fill("One two three four")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("document.querySelectorAll('.gv-tok').length === 4")
    box.fill("")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("text is empty", exact=False).wait_for()
    assert page.locator(".gv-tok").count() == 4
    long = "many words " * 300
    box.fill(long)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("tokens; nano reads at most", exact=False).wait_for()
    assert box.input_value() == long
    assert page.locator(".gv-tok").count() == 4


def test_the_full_context_is_pooled_and_says_so(open_page, nano):
    text = "the cat sat " * 400
    ids = nano.tokenizer.encode(text)[: nano.shape.context]
    page = open_page("attention", nano.tokenizer.decode(ids))
    wait_ready(page)
    note = page.locator(".gv-heads > p.gv-cap").inner_text()
    assert f"32 × 32 cells for {len(ids)} tokens" in note


def test_a_shared_link_opens_the_same_prompt(open_page, url):
    page = open_page("attention", "A green hat")
    wait_ready(page)
    page.locator(".gv-prompt textarea").fill("Two red hats & more")
    link = page.evaluate("gptviz.shareLink()")
    page.goto(link)
    page.wait_for_function("document.querySelectorAll('.gv-tok').length > 3")
    assert page.locator(".gv-prompt textarea").input_value() == "Two red hats & more"


def test_a_broken_link_still_opens_the_page(open_page):
    page = open_page("nowhere", "x" * 5000)
    wait_ready(page)
    assert page.locator(".gv-tok").count() > 3


def test_text_is_never_run_as_code(open_page):
    evil = "<img src=x onerror=alert(1)> ${alert(2)} {{value}} </script><script>alert(3)</script>"
    page = open_page("attention", evil)
    page.on("dialog", lambda dialog: pytest.fail("the prompt ran as code"))
    wait_ready(page)
    shown = page.locator(".gv-strip .gv-tok").all_inner_texts()
    assert "".join(shown).replace("·", " ") == evil
    assert page.locator(".gv-strip img").count() == 0


def test_split_characters_are_joined_in_the_strip(open_page):
    page = open_page("attention", "日 is sun")
    assert page.locator(".gv-joined b").inner_text() == "日"
    assert page.locator(".gv-joined .gv-tok").count() > 1


def test_two_browsers_see_only_their_own(open_page):
    one, two = open_page("attention", "Alice has a cat"), open_page("attention", "Bob has one dog and a bird")
    wait_ready(one)
    wait_ready(two)
    one.get_by_role("button", name="Run", exact=True).click()
    two.get_by_role("button", name="Run", exact=True).click()
    one.wait_for_timeout(500)
    assert "Alice" in one.locator(".gv-strip").inner_text()
    assert "Bob" in two.locator(".gv-strip").inner_text()
    assert one.locator(".gv-prompt textarea").input_value() == "Alice has a cat"


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, True), (1920, False)])
def test_the_page_fits_its_window_in_both_themes(open_page, width, dark):
    page = open_page("attention", PROMPT, width=width, dark=dark)
    wait_ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).getPropertyValue('--paper').trim()")
    assert paper == ("#14161a" if dark else "#fbfaf6")
    detail = page.locator(".gv-head").bounding_box()
    grid = page.locator(".gv-heads").bounding_box()
    assert (detail["y"] < grid["y"]) == (width < 980)  # on a phone the head's picture comes first


def test_memory_stays_flat_over_many_heads(open_page):
    page = open_page("attention", PROMPT)
    wait_ready(page)
    session = page.context.new_cdp_session(page)

    def nodes() -> int:
        session.send("HeapProfiler.collectGarbage")
        return json.loads(json.dumps(session.send("Memory.getDOMCounters")))["nodes"]

    page.locator(GRID).focus()
    page.keyboard.press("Home")
    wait_ready(page)
    before = nodes()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp") * 40:
        page.keyboard.press(key)
    wait_ready(page)
    assert nodes() <= before + 60
    assert heading(page) == "Layer 0, head 0"

"""The attention page: it draws and says what the model computes, and every control, pointer and key moves it."""

from __future__ import annotations

import csv
import io
import re

import pytest
import torch
from playwright.sync_api import Page, expect

from gptviz.decoder.edits import Edits
from gptviz.lab.looking import heads, values

PROMPT = "When Mary and John went to the store, John gave a drink to"
GRID, CELLS, STRIPS = ".gv-grid", ".gv-cells", ".gv-attention .gv-values"
EVERY = "All 16 readers"
INK = """selector => { const c = document.querySelector(selector);
    return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce((a, b) => (a * 31 + b) % 1e9) }"""


@pytest.fixture(scope="module")
def trouble() -> list[str]:
    return []


@pytest.fixture(scope="module")
def tab(url, chromium, trouble):
    """One tab for most tests: opening the page takes longer than most of them."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    page.goto(f"{url}?lesson=attention&guesses=0")
    page.wait_for_selector(".gv-app[data-shown$=live]")
    yield page
    context.close()


@pytest.fixture
def page(tab, trouble):
    """The tab at its first step, with everything as that step has it."""
    step(tab, 2)
    step(tab, 1)
    yield tab
    assert trouble == []


@pytest.fixture(scope="module")
def ids(nano) -> list[int]:
    return nano.tokenizer.encode(PROMPT)


@pytest.fixture(scope="module")
def stats(nano, ids) -> list[heads.HeadStat]:
    return heads.panel(nano, ids, heads.induction_scores(nano)).stats


def step(page: Page, number: int) -> None:
    page.locator(".gv-steps .gv-head").nth(number - 1).click()
    page.wait_for_selector(f'.gv-app[data-shown="attention/{number}/live"]')
    expect(page.locator(".gv-figbox[aria-busy]")).to_have_count(0)


def settle(page: Page) -> None:
    expect(page.locator(".gv-figbox[aria-busy]")).to_have_count(0)


def sentence(page: Page) -> str:
    return page.locator(".gv-say").inner_text().replace("\u00a0", " ")


def per_cent(p: float) -> str:
    return f"{100 * p:.0f} %"


def test_it_opens_on_the_head_that_singles_out_one_earlier_word(page, nano, ids, stats):
    start = max(stats, key=lambda stat: stat.singled)
    expect(page.locator(".gv-who")).to_have_text(f"Layer {start.layer}, head {start.head}")
    row = nano.run(ids, capture=[start.layer]).attention[start.layer].weights[start.head, -1]
    read = int(row[1:-1].argmax()) + 1
    token = nano.tokenizer.token(ids[read]).shown
    assert f"·to looks back: {per_cent(float(row[read]))}" in sentence(page).replace(" ,", ",")
    assert token in sentence(page)
    arc = page.locator(".gv-arc-words").text_content().replace("\u00a0", " ")
    assert arc.startswith("·to looks back at ·John")
    assert arc.endswith(per_cent(float(row[read])))
    assert EVERY in page.locator(".gv-cap").inner_text()


def test_arrow_keys_choose_a_head_and_the_address_follows(page):
    page.locator(GRID).focus()
    page.keyboard.press("Home")
    expect(page.locator(".gv-who")).to_have_text("Layer 0, head 0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-who")).to_have_text("Layer 1, head 1")
    page.wait_for_function("location.search.includes('head=1.1')")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".gv-who")).to_have_text("Layer 1, head 0")


def test_a_click_chooses_the_head_under_the_pointer_and_pointing_previews_it(page):
    settle(page)
    box = page.locator(GRID).bounding_box()
    place = {"x": 24 + 2.5 * (box["width"] - 24) / 4, "y": 15 + 0.5 * (box["width"] - 24) / 4}
    before = page.evaluate(INK, CELLS)
    page.locator(GRID).hover(position=place)
    expect(page.locator(".gv-say")).to_contain_text("Layer 0, head 2")
    assert page.evaluate(INK, CELLS) != before
    page.mouse.move(5, 5)
    assert page.evaluate(INK, CELLS) == before
    page.locator(GRID).click(position=place)
    expect(page.locator(".gv-who")).to_have_text("Layer 0, head 2")


def test_the_file_holds_the_models_weights_and_keeps_equal_tokens_apart(page, nano, ids):
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    match = re.fullmatch(r"attention-layer(\d+)-head(\d+)-weights\.csv", download.value.suggested_filename)
    layer, head = int(match[1]), int(match[2])
    weights = nano.run(ids, capture=[layer]).attention[layer].weights[head]
    assert len(rows) == len(ids) + 1
    for i, row in enumerate(rows[1:]):
        assert [float(x) for x in row[2:]] == pytest.approx(weights[i].tolist(), abs=1e-6)
        assert all(float(x) == 0 for x in row[3 + i :])
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_pointing_at_a_cell_says_its_number_and_a_later_token_weighs_exactly_nothing(page, nano, ids):
    page.locator(CELLS).focus()
    page.keyboard.press("ArrowUp")
    settle(page)
    page.wait_for_function("location.search.includes('at=12')")
    weights = nano.run(ids, capture=[3]).attention[3].weights[1]
    for _ in range(13):
        page.keyboard.press("ArrowLeft")
    said = sentence(page)
    assert said.startswith("·drink gives")
    assert per_cent(float(weights[12, 0])) in said
    for _ in range(13):
        page.keyboard.press("ArrowRight")
    assert "exactly 0" in sentence(page)


def test_scores_mask_and_softmax_are_three_stages_of_one_head(page, nano, ids):
    step(page, 2)
    page.locator(CELLS).focus()
    for _ in range(13):
        page.keyboard.press("ArrowUp")
        settle(page)
    for _ in range(13):
        page.keyboard.press("ArrowRight")
    assert "the mask must take this away" in sentence(page)
    score = float(nano.run(ids, capture=[3]).attention[3].scores[1, 0, 13])
    assert f"{score:.1f}".replace("-", "−") in sentence(page)
    page.get_by_role("button", name="+ mask", exact=True).click()
    expect(page.locator(".gv-say")).to_contain_text(f"sets {len(ids) * (len(ids) - 1) // 2} scores to −∞")
    page.locator(CELLS).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-say")).to_contain_text("−∞")
    page.get_by_role("button", name="weights", exact=True).click()
    expect(page.locator('.gv-seg button[data-value="weights"]')).to_have_attribute("aria-pressed", "true")


def test_the_row_is_carried_on_through_the_values(page, nano, ids):
    step(page, 3)
    found = values.carried(nano, ids, 3, 1, -1)
    expect(page.locator(".gv-say")).to_contain_text(f"length {found.output_norm:.2f} to the {found.stream_norm:.1f}")
    bars = page.locator(".gv-vbar")
    assert bars.count() == 3 * len(ids)
    drawn = torch.tensor([float(bar.get_attribute("height")) for bar in bars.all()]).reshape(3, -1)
    for row, numbers in zip(drawn, (found.weights, found.value_norms, found.contributions), strict=True):
        assert torch.allclose(row / row.max(), numbers / numbers.max(), atol=0.02)
    page.locator(STRIPS).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-say")).to_contain_text("When")
    assert f"{float(found.contributions[0]):.2g}" in sentence(page)


def test_without_the_first_column_the_rest_is_scaled_up(page, nano, ids, stats):
    step(page, 4)
    parked = max(stats, key=lambda stat: stat.parked)
    row = nano.run(ids, capture=[parked.layer]).attention[parked.layer].weights[parked.head, -1]
    best = float(row[1:].max() / (1 - row[0]))
    assert f"Without the first token ({per_cent(float(row[0]))})" in sentence(page)
    assert per_cent(best) in sentence(page)
    toggle = page.get_by_role("switch")
    expect(toggle).to_have_attribute("aria-checked", "true")
    toggle.click()
    expect(toggle).to_have_attribute("aria-checked", "false")
    expect(page.locator(".gv-say")).to_contain_text("looks back")


def test_a_kind_opens_its_clearest_head_and_says_why(page, stats):
    step(page, 5)
    for kind, label in (("previous", "previous"), ("broad", "broad"), ("induction", "induction")):
        members = [stat for stat in stats if stat.kind == kind]
        best = max(members, key=lambda stat: stat.measure)
        chip = page.locator(".gv-kind", has_text=label)
        expect(chip).to_have_text(f"{label} {len(members)}")
        if chip.get_attribute("aria-pressed") != "true":
            chip.click()
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".gv-who")).to_have_text(f"Layer {best.layer}, head {best.head}")
        expect(page.locator(".gv-why")).to_contain_text(per_cent(best.measure).replace(" ", "\u00a0"))


def test_two_heads_copy_and_the_second_fails_without_the_first(page, nano):
    step(page, 6)
    ids = nano.tokenizer.encode("The quick brown fox met a lazy dog. The quick brown fox")
    run = nano.run(ids, capture=[1], edits=Edits(frozenset({(0, 2)})))
    left = float(run.attention[1].weights[2, -1, 4])
    expect(page.locator(".gv-say")).to_contain_text("looks right there")
    expect(page.locator(".gv-arc-words.gv-first")).to_contain_text("·met noted what stood before it")
    proof = page.locator(".gv-proof").inner_text().replace("\u00a0", " ")
    assert f"{100 * left:.2f} %" in proof


def test_a_head_that_is_off_changes_the_bars_and_comes_back(page, nano, ids):
    step(page, 7)
    before = nano.run(ids).logits[-1].softmax(-1)
    after = nano.run(ids, edits=Edits(frozenset({(3, 1)}))).logits[-1].softmax(-1)
    best = int(before.argmax())
    row = page.locator(".gv-offrow").first
    expect(row.locator(".gv-token")).to_have_text(nano.tokenizer.token(best).shown)
    shown = row.locator(".gv-offn").inner_text().replace("\u00a0", " ").split("\n")
    assert shown == [per_cent(float(before[best])), f"{100 * float(after[best]):.1f} %"]
    page.get_by_role("button", name="Keep off").click()
    page.wait_for_function("location.search.includes('off=3.1')")
    page.locator(GRID).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('head=3.2')")
    settle(page)
    both = nano.run(ids, edits=Edits(frozenset({(3, 1), (3, 2)}))).logits[-1].softmax(-1)
    expect(row.locator(".gv-offn b")).to_have_text(re.compile(rf"^{100 * float(both[best]):.1f}"))
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Switch on again").click()
    expect(page.locator(".gv-off")).to_be_hidden()


@pytest.mark.parametrize("step_", range(1, 8))
def test_every_step_is_spoken_without_a_gap(page, step_):
    step(page, step_)
    said = sentence(page) + page.locator(".gv-body:visible").inner_text() + page.locator(".gv-why").inner_text()
    assert "…" not in said
    assert not re.search(r"attention\.[a-z]", said)  # a key without its text
    assert "{" not in said
    assert page.evaluate("document.documentElement.scrollHeight") <= 800


def test_a_long_text_has_a_window_and_an_overview(open_page, nano):
    text = nano.tokenizer.decode(nano.tokenizer.encode("the cat sat on the mat and " * 80)[: nano.shape.context])
    page = open_page("attention", prompt=text)
    strip = page.locator(".gv-overview")
    expect(strip).to_be_visible()
    before = page.evaluate(INK, CELLS)
    strip.click(position={"x": 200, "y": 8})
    assert page.evaluate(INK, CELLS) != before
    page.locator(".gv-steps .gv-head").nth(2).click()
    expect(page.locator(STRIPS)).to_be_visible()


@pytest.mark.parametrize("prompt", ["Hello", "Hello there", "日 is sun", "<img src=x onerror=alert(1)> {p} **x** `y`"])
def test_any_text_is_shown_and_never_run(open_page, prompt):
    page = open_page("attention", prompt=prompt)
    page.on("dialog", lambda dialog: pytest.fail("the prompt ran as code"))
    expect(page.locator(".gv-say")).not_to_be_empty()
    assert page.locator(".gv-attention img").count() == 0


@pytest.mark.parametrize(("width", "height", "dark"), [(390, 844, True), (1280, 800, True), (1920, 1080, False)])
def test_the_page_fits_its_window(open_page, width, height, dark):
    page = open_page("attention", width=width, height=height, dark=dark, step=7, guesses=0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    stage, cells, off = (page.locator(s).bounding_box() for s in (".gv-stage", CELLS, ".gv-off"))
    for box in (cells, off):
        assert box["y"] + box["height"] <= stage["y"] + stage["height"]
        assert box["x"] + box["width"] <= stage["x"] + stage["width"]


def test_embedded_it_keeps_to_its_frame(open_page):
    page = open_page("attention", width=360, height=300, embed=1)
    cells, stage = page.locator(CELLS).bounding_box(), page.locator(".gv-stage").bounding_box()
    assert cells["y"] + cells["height"] <= stage["y"] + stage["height"] <= 300


def test_a_bad_head_in_a_link_gives_way_to_the_measured_one(open_page):
    page = open_page("attention", head="99.99", off="77.1", prompt=PROMPT)
    expect(page.locator(".gv-who")).to_have_text("Layer 3, head 1")
    expect(page.locator(".gv-off")).to_be_hidden()


def test_a_guess_gives_nothing_away_until_it_is_answered(open_page):
    page = open_page("attention", step=7)
    expect(page.locator(".gv-who")).to_have_text("Layer 3, head 1")
    expect(page.locator(".gv-off")).to_be_hidden()
    page.locator(".gv-ask .gv-chip").first.click()
    expect(page.locator(".gv-off")).to_be_visible()
    expect(page.locator(".gv-ask")).to_contain_text("not the same as voting for it")
    page.locator(".gv-steps .gv-head").nth(3).click()
    expect(page.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    expect(page.locator(".gv-ask")).to_contain_text("Why?")

"""The training page as a student uses it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from gptviz.lab.teaching import teacher_forcing

PROMPT = "Once upon a time there was a small cat. The cat sat on the mat."


@pytest.fixture(scope="module")
def scored(nano):
    return teacher_forcing.score(nano.run(nano.tokenizer.encode(PROMPT)))


def opened(open_page, prompt=PROMPT, **options):
    page = open_page("training", prompt, **options)
    page.wait_for_selector(".gv-forced .gv-fcol")
    return page


def guess_box(page, nth):
    return page.locator(".gv-ask:visible").nth(nth)


def said(locator) -> str:
    return locator.inner_text().replace("\u00a0", " ")


def test_the_strip_pairs_each_token_with_the_next_and_hides_the_loss(open_page, nano, scored):
    page = opened(open_page)
    shown = [token.shown for token in nano.tokenizer.tokens(nano.tokenizer.encode(PROMPT))]
    columns = page.locator(".gv-fcol")
    assert columns.locator(".gv-given").all_inner_texts() == shown[:-1]
    assert columns.locator(".gv-target").all_inner_texts() == shown[1:]
    assert set(columns.locator(".gv-price").all_inner_texts()) == {"·"}
    assert "?" in said(page.locator(".gv-totals"))


def test_a_guess_uncovers_the_loss_and_stands_beside_it(open_page, nano, scored):
    page = opened(open_page)
    dearest = max(scored.predictions, key=lambda x: x.nats)
    box = guess_box(page, 0)
    right = box.locator(".gv-chip", has_text=f"({dearest.position + 1})")
    right.click()
    expect(box.locator(".gv-answer")).to_contain_text("As you guessed")
    expect(page.locator(".gv-totals")).to_contain_text(f"{scored.loss:.3f}")
    totals = said(page.locator(".gv-totals"))
    assert str(len(scored.predictions)) in totals
    assert f"{scored.perplexity:.1f}" in totals
    prices = page.locator(".gv-price").all_inner_texts()
    assert prices == [f"{x.nats:.1f}" for x in scored.predictions]


def test_arrow_keys_walk_through_the_predictions(open_page, nano, scored):
    page = opened(open_page)
    page.get_by_role("button", name="Show what it said", exact=True).click()
    page.locator(".gv-forced").focus()
    page.keyboard.press("Home")
    for prediction in scored.predictions[:3]:
        text = said(page.locator(".gv-lossstrip .gv-say").first)
        assert nano.tokenizer.token(prediction.target).shown in text
        loss = float(re.search(r"(\S+) nats", text.replace("−", "-"))[1])
        assert loss == pytest.approx(prediction.nats, rel=0.05, abs=0.006)
        best = page.locator(".gv-guess .gv-tok").first.inner_text()
        assert best == nano.tokenizer.token(prediction.guesses[0].id).shown
        page.keyboard.press("ArrowRight")


def test_the_mistakes_are_measured_on_the_readers_text(open_page, nano, scored):
    ids = nano.tokenizer.encode(PROMPT)
    page = opened(open_page)
    button = page.get_by_role("button", name="Show without guessing", exact=True)
    expect(button).to_be_visible()
    for place in (".gv-w-mistakes:visible", ".gv-w-quiz:visible", ".gv-totals"):  # the loss is asked for first
        assert f"{scored.loss:.2f}" not in said(page.locator(place).first)
    button.click()
    page.wait_for_selector(".gv-mistakes .gv-row")
    expect(page.locator(".gv-totals")).to_contain_text(f"{scored.loss:.3f}")
    expect(page.locator(".gv-w-quiz:visible").first).to_contain_text(f"The loss of your text is {scored.loss:.2f} nats")
    rows = page.locator(".gv-mistakes .gv-row .n").all_inner_texts()
    masks = teacher_forcing.mask_losses(nano, ids)
    expected = [scored.loss, teacher_forcing.unshifted_loss(nano, ids), *masks.values()]
    assert [float(x) for x in rows] == pytest.approx(expected, abs=6e-4)
    pads = teacher_forcing.padding(nano, ids)
    caption = page.locator(".gv-mistakes .gv-cap")
    expect(caption).to_contain_text(f"{pads.counted[24]:.3f}")
    page.locator(".gv-mistakes canvas").focus()
    page.keyboard.press("Home")
    expect(caption).to_contain_text("With 0 ×")
    page.keyboard.press("ArrowRight")
    expect(caption).to_contain_text(f"{pads.counted[1]:.3f}")
    expect(caption).to_contain_text(f"{pads.ignored[1]:.3f}")


def test_a_copier_and_an_honest_model_train_while_one_watches(open_page):
    page = opened(open_page)
    guess_box(page, 1).get_by_role("button", name="only the unshifted one falls", exact=True).click()
    page.get_by_role("button", name="Train both", exact=True).click()
    answer = guess_box(page, 1).locator(".gv-answer")
    expect(answer).to_contain_text("As you guessed", timeout=90_000)
    expect(answer).to_contain_text("chance costs 2.77")
    expect(page.locator(".gv-w-copier .gv-say")).to_contain_text("Step 150")


def test_the_model_reads_its_own_text(open_page, nano):
    ids = nano.tokenizer.encode(PROMPT)
    found = teacher_forcing.exposure(nano, ids)
    page = opened(open_page)
    page.get_by_role("button", name="Let it read itself", exact=True).click()
    sentence = page.locator(".gv-w-exposure .gv-say")
    expect(sentence).to_contain_text(f"{found.rows[-1].loss:.3f}")
    own = page.locator(".gv-fed .gv-own").all_inner_texts()
    assert own == [token.shown for token in nano.tokenizer.tokens(found.rows[-1].own)]
    page.locator(".gv-w-exposure canvas").focus()
    page.keyboard.press("Home")
    expect(sentence).to_contain_text(f"{found.rows[0].loss:.3f}")
    assert page.locator(".gv-fed .gv-own").count() == 0


def test_targets_are_counted_for_both_kinds(open_page, nano):
    found = teacher_forcing.signal(len(nano.tokenizer.encode(PROMPT)))
    page = opened(open_page)
    decoder, encoder = page.locator(".gv-signal .gv-fig").all()
    assert decoder.locator(".gv-asked").count() == found.decoder_targets
    assert encoder.locator(".gv-asked").count() == len(found.masked)
    text = said(encoder)
    assert f"{len(found.masked)} tokens masked in each pass): after {found.passes} passes" in text
    assert "The picture shows the first 8 tokens." in text


def test_the_questions_check_what_is_typed(open_page, scored):
    page = opened(open_page)
    first = page.locator(".gv-w-quiz:visible .gv-quiz").first
    first.locator("input").fill("1")
    first.get_by_role("button", name="Check", exact=True).click()
    assert "Not quite" in said(first.locator(".gv-answer"))
    first.locator("input").fill(str(len(scored.predictions)))
    first.locator("input").press("Enter")
    assert "Right" in said(first.locator(".gv-answer"))


def test_a_text_of_one_token_is_explained(open_page):
    page = open_page("training", "a")
    expect(page.locator(".gv-w-lossstrip > * .gv-say").last).to_contain_text("at least 2 are needed")
    assert page.locator(".gv-forced:visible").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_runs_over_the_edge_of_a_phone(open_page, dark):
    page = opened(open_page, width=390, dark=dark)
    page.get_by_role("button", name="Show what it said", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390

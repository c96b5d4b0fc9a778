"""The training page as a student uses it: every number on the screen against the lab's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from gptviz.decoder.decoder import Decoder
from gptviz.lab.teaching import one_step, teacher_forcing
from gptviz.lessons import training
from gptviz.places import ASSETS

PROMPT = "Once upon a time there was a small cat. The cat sat on the mat."
Opener = Callable[..., Page]


def said(where: Locator) -> str:
    return (where.text_content() or "").replace("\u00a0", " ")


def figures(page: Page, kind: str) -> list[str]:
    return page.locator(f".gv-strip text.gv-trnum.gv-is-{kind}").all_text_contents()


def written(nats: float) -> str:
    return "<0.01" if nats < 0.005 else f"{nats:.{2 if nats < 9.95 else 1}f}"


@pytest.fixture(scope="module")
def page(open_pages: Opener) -> Page:
    return open_pages("training", prompt=PROMPT, guesses=0)


def step(page: Page, number: int) -> None:
    page.locator(".gv-steps li").nth(number - 1).locator(".gv-head").click()
    page.wait_for_selector(f'.gv-app[data-shown="training/{number}/live"]')


def test_one_step_of_learning_is_real(page: Page, nano: Decoder) -> None:
    step(page, 1)
    ids = nano.tokenizer.encode(PROMPT)
    found = one_step.learn(nano, ids, training.USUAL_RATE)
    assert figures(page, "before") == [written(x) for x in found.before]
    assert figures(page, "after") == [written(x) for x in found.after]
    means = [sum(x) / len(x) for x in (found.before, found.after)]
    assert re.findall(r"\d+\.\d+", said(page.locator(".gv-say"))) == [written(x) for x in reversed(means)]
    page.get_by_role("group", name="Learning rate").get_by_role("button", name="0.05", exact=True).click()
    far = one_step.learn(nano, ids, 0.05).after
    expect(page.locator(".gv-say")).to_contain_text(written(sum(far) / len(far)))


def test_the_columns_pair_each_token_with_the_next(page: Page, nano: Decoder) -> None:
    step(page, 1)
    shown = [token.shown for token in nano.tokenizer.tokens(nano.tokenizer.encode(PROMPT))]
    for kind, tokens in (("read", shown[:-1]), ("asked", shown[1:])):
        texts = page.locator(f".gv-strip text.gv-tr{kind}").all_text_contents()
        cut = [a.removesuffix("…") for a in texts]
        assert len(cut) == len(tokens)
        assert all(full.startswith(part) for part, full in zip(cut, tokens, strict=True))


def test_arrow_keys_say_each_question(page: Page, nano: Decoder) -> None:
    step(page, 2)
    scored = teacher_forcing.score(nano.run(nano.tokenizer.encode(PROMPT)))
    page.locator(".gv-trsvg").focus()
    for prediction in scored.predictions[:3]:
        page.keyboard.press("ArrowRight")
        sentence = said(page.locator(".gv-say"))
        assert nano.tokenizer.token(prediction.target).shown in sentence
        assert nano.tokenizer.token(prediction.guesses[0].id).shown in sentence
        assert f"a surprise of {written(prediction.nats)}" in sentence
    assert f"{scored.loss:.2f}" in said(page.locator(".gv-strip text.gv-trvalue"))


def test_each_mistake_keeps_the_right_bars_beside_it(page: Page, nano: Decoder) -> None:
    step(page, 3)
    wrong = teacher_forcing.mistakes(nano, nano.tokenizer.encode(PROMPT))
    for name, button in (("unshifted", "no shift"), ("none", "mask off"), ("wrong_way", "mask turned")):
        page.get_by_role("group", name="The mistake").get_by_role("button", name=button, exact=True).click()
        mean = written(sum(wrong[name]) / len(wrong[name]))
        expect(page.locator(".gv-strip text.gv-trvalue.gv-is-wrong")).to_have_text(mean)
        assert figures(page, "wrong") == [written(x) for x in wrong[name]]
        bars = page.locator(".gv-trbars rect")
        assert bars.count() == 2 * len(wrong[name])


def test_padding_counts_and_the_texts_own_mean_stays(page: Page, nano: Decoder) -> None:
    step(page, 4)
    pads = teacher_forcing.padding(nano, nano.tokenizer.encode(PROMPT))
    for count in (0, 1, 7, 24):
        page.get_by_label("Padding tokens").fill(str(count))
        expect(page.locator(".gv-strip text.gv-trvalue.gv-is-wrong")).to_have_text(written(pads.counted[count]))
        assert said(page.locator(".gv-strip text.gv-trvalue.gv-is-right")) == written(pads.ignored[0])


def test_own_words_stand_beside_a_control(page: Page) -> None:
    step(page, 5)
    expect(page.locator(".gv-owndot.gv-own-own")).to_have_count(len(training.true_texts()))
    expect(page.locator(".gv-owndot.gv-own-other")).to_have_count(len(training.true_texts()))
    page.locator(".gv-ownsvg").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-say")).to_contain_text("the ending costs")


def test_an_encoder_is_asked_for_the_selected_tokens_alone(page: Page, nano: Decoder) -> None:
    step(page, 6)
    found = teacher_forcing.signal(len(nano.tokenizer.encode(PROMPT)))
    counts = [said(each) for each in page.locator(".gv-encount").all()]
    assert counts == [f"{found.decoder_targets} questions a pass", f"{len(found.masked)} questions a pass"]
    assert page.locator(".gv-en-decoder .gv-chip-tail").count() == found.decoder_targets
    assert page.locator(".gv-en-encoder .gv-chip-replaced").count() == len(found.masked)
    assert page.locator(".gv-enpasses span:not(.gv-enwhole, .gv-engap)").count() == found.passes


def test_the_copier_trains_while_one_watches(page: Page) -> None:
    step(page, 7)
    expect(page.locator(".gv-say")).to_contain_text("copied", timeout=90_000)
    values = [float(x) for x in page.locator(".gv-copysvg text.gv-trvalue").all_text_contents()]
    assert values[0] == pytest.approx(2.77, abs=0.1)
    assert values[1] < 0.1


def test_a_long_text_shows_a_window_and_the_whole(open_page: Opener) -> None:
    page = open_page("training", prompt="The cat sat on the mat. " * 30, step=2, at=0)
    columns = page.locator(".gv-strip rect.gv-trasked").count()
    assert 8 <= columns < 60
    page.locator(".gv-trsvg").focus()
    page.keyboard.press("End")
    page.wait_for_function("new URLSearchParams(location.search).get('at') > 100")
    assert page.locator(".gv-strip rect.gv-trasked").count() == columns


def test_a_text_of_one_token_is_one_sentence(open_page: Opener, url: str, chromium: Any) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{url}?lesson=training&prompt=a")
    expect(page.locator(".gv-fail")).to_contain_text("at least 2 are needed")
    expect(page.locator(".gv-strip")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("number", [1, 5, 6])
def test_it_fits_a_phone(open_page: Opener, number: int) -> None:
    page = open_page("training", prompt=PROMPT, step=number, width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_recorded_training_walks_through_its_steps(open_page: Callable[..., Page]) -> None:
    """Every number is the recording's; the step's link leads there and back."""
    run = json.loads((ASSETS / "nano" / "training.json").read_text(encoding="utf-8"))
    looks = {look["step"]: look for look in run["looks"]}
    page = open_page("training", step=2, guesses=0)
    page.get_by_role("button", name="Watch 2,000 steps of it").click()
    say = page.locator(".gv-say")
    expect(say).to_contain_text("After 2,000 steps")
    expect(say).to_contain_text(f"{looks[2000]['loss']:.2f} nats")
    expect(page.locator(".gv-cur .gv-body")).to_contain_text("Between steps 600 and 800")
    page.locator(".gv-hisbar").get_by_role("button", name="200", exact=True).click()
    expect(say).to_contain_text("After 200 steps")
    expect(page.locator(".gv-hissaid p").first).to_have_text(run["prompts"][0] + looks[200]["texts"][0])
    expect(page.locator(".gv-hisbar .gv-recorded")).to_be_visible()
    page.locator(".gv-hisbar input").focus()
    page.keyboard.press("Home")
    expect(say).to_contain_text(f"{looks[0]['loss']:.1f} nats")
    page.get_by_role("button", name="Back to the mean").click()
    expect(page.locator(".gv-history")).to_be_hidden()

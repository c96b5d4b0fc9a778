"""The frame: how a larger model takes over, the theme, the modes of the page, and what a wait looks like."""

from __future__ import annotations

import pytest
from gptviz.lessons.page import lines, prose

from gptviz.service import Service
from gptviz.service.service import Status
from gptviz.shell import _example, build, launch_options


@pytest.fixture
def loading(nano):
    """An app whose larger model is still on its way."""
    service = Service()
    service.add(nano)
    service.status = Status(loading=True, sentence="Fetching the model: 40 of 100 MB.", fraction=0.4)
    demo = build(service)
    _, address, _ = demo.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, **launch_options())
    yield service, address
    demo.close()


def test_the_page_works_while_a_model_loads_and_the_model_takes_over(loading, chromium, tiny_gpt2):
    service, address = loading
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address)
    page.wait_for_selector(".gv-tok")
    page.get_by_text("Fetching the model: 40 of 100 MB.").wait_for()
    assert page.locator(".gv-load progress").get_attribute("value") == "0.4"
    assert "nano" in page.locator(".gv-facts").inner_text()
    page.locator(".gv-prompt textarea").fill("typed but not run yet")
    service.add(tiny_gpt2)
    service.status = Status(notes=["The Hub cannot be reached."])
    page.wait_for_function("document.querySelector('.gv-facts').textContent.includes('tiny-gpt2')")
    page.wait_for_function("document.querySelector('.gv-load').textContent.includes('The Hub cannot be reached.')")
    page.wait_for_function("document.querySelector('.gv-model input').value === 'tiny-gpt2'")
    assert page.locator(".gv-prompt textarea").input_value() == "typed but not run yet"
    assert page.locator(".gv-load progress").count() == 0
    page.context.close()


def test_a_model_that_was_ready_before_the_page_opened_stays_the_chosen_one(loading, chromium, tiny_gpt2):
    service, address = loading
    service.add(tiny_gpt2)
    service.status = Status()
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address + "?lesson=kv_cache")
    page.wait_for_selector(".gv-tok")
    page.wait_for_timeout(2500)  # two ticks of the timer that looks for a new model
    assert "tiny-gpt2" in page.locator(".gv-facts").inner_text()
    assert page.locator(".gv-model input").input_value() == "tiny-gpt2"
    page.context.close()


def test_a_model_can_be_chosen(loading, chromium, tiny_gpt2):
    service, address = loading
    service.add(tiny_gpt2, first=False)
    service.status = Status()
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(address)
    page.wait_for_selector(".gv-tok")
    page.locator(".gv-model input").click()
    page.get_by_role("option", name="tiny-gpt2").click()
    page.wait_for_function("document.querySelector('.gv-facts').textContent.includes('tiny-gpt2')")
    page.context.close()


def test_the_theme_button_switches_and_is_remembered(open_page):
    page = open_page()
    paper = "getComputedStyle(document.body).getPropertyValue('--paper').trim()"
    assert page.evaluate(paper) == "#fbfaf6"
    page.get_by_role("button", name="Light / dark").click()
    assert page.evaluate(paper) == "#14161a"
    page.reload()
    page.wait_for_selector(".gv-tok")
    page.wait_for_function(f"{paper} === '#14161a'")


def test_embed_and_projector_modes(open_page, url):
    page = open_page()
    page.goto(url + "?embed=1")
    page.wait_for_selector(".gv-tok")
    assert not page.locator(".gv-header").is_visible()
    page.goto(url + "?projector=1")
    page.wait_for_selector(".gv-tok")
    assert float(page.evaluate("getComputedStyle(document.documentElement).zoom")) == pytest.approx(1.3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


def test_examples_fill_the_prompt_and_run(open_page):
    page = open_page()
    page.wait_for_selector(".gv-tok")
    examples = [_example(line) for line in lines(prose("shell")["examples"])]
    assert page.locator(".gv-examples button").all_inner_texts() == [name for name, _, _ in examples]
    for name, _, _ in examples:  # faster than the answers come: the last one asked for must win
        page.locator(".gv-examples").get_by_role("button", name=name, exact=True).click()
    last = examples[-1][1]
    page.wait_for_function("(t) => document.querySelector('.gv-prompt textarea').value === t", arg=last)
    strip = "document.querySelector('.gv-strip').textContent.replaceAll('·', ' ')"
    page.wait_for_function(f"(t) => {strip} === t", arg=last)


def test_every_tab_opens_and_draws_without_an_error(open_page):
    from gptviz.lessons import PAGES

    for module in PAGES:
        page = open_page(module.KEY, "The cat sat on the mat.")
        page.locator(f"#page-{module.KEY} h1").wait_for()
        page.wait_for_timeout(1500)
        assert page.get_by_role("tab", name=module.TAB, exact=True).get_attribute("aria-selected") == "true"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280

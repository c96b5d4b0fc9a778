"""Every page by keyboard alone: what is there is found by looking, not listed, so that a new page is driven too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gptviz.lessons import PAGES
from gptviz.lessons.steps import read

Opener = Callable[..., Page]
STEPS = {page.KEY: read(page.KEY, page.FIELDS).steps for page in PAGES}
BEFORE_THE_STAGE = 12  # tab stops at most
ROUND = 150  # presses of Tab at most, until the focus has gone round a page

WATCH = """
const add = EventTarget.prototype.addEventListener;
const heard = (window.heard = new Set());
EventTarget.prototype.addEventListener = function (kind, ...rest) {
  if (["click", "pointerdown"].includes(kind) && this instanceof Element) heard.add(this);
  return add.call(this, kind, ...rest);
};
"""

TOOLS = r"""
window.driven = (() => {
  const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex="0"], [role=slider], [role=switch]';
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (n) => {
    const box = n.getBoundingClientRect();
    return n.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && box.width > 0 && box.height > 0;
  };
  const usable = (n) => seen(n) && !n.matches(':disabled') && !n.closest('[inert]');
  const words = (n) => n.getAttribute('aria-label') || n.labels?.[0]?.textContent || n.textContent || n.title || '';
  const name = (n) => words(n).trim();
  const short = (n) => `${n.tagName.toLowerCase()}.${n.getAttribute('class') || ''} "${name(n).slice(0, 40)}"`;
  const ids = new Map();
  const id = (n) => ids.get(n) ?? (ids.set(n, ids.size), ids.get(n));
  const look = (n) => {
    const s = getComputedStyle(n);
    return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.borderColor, s.boxShadow, s.stroke].join();
  };
  const bare = new Map(); // how each looked before the focus came
  const remember = () => {
    for (const n of all(`.gv-app :is(${CONTROLS})`)) if (n !== document.activeElement) bare.set(n, look(n));
  };
  const now = () => {
    const n = document.activeElement;
    if (!n || n === document.body || n === document.documentElement) return null;
    const box = n.getBoundingClientRect();
    return {
      id: id(n), what: short(n), name: name(n),
      stage: Boolean(n.closest('#gv-stage')), side: Boolean(n.closest('.gv-side')),
      inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      marked: bare.get(n) === undefined || bare.get(n) !== look(n),
    };
  };
  const controls = () => all(`:is(#gv-stage, .gv-side) :is(${CONTROLS})`).filter(usable).map((n) => [id(n), short(n)]);
  const roved = (n) => n.getAttribute('tabindex') === '-1' && n.parentElement.querySelector(':scope > [tabindex="0"]');
  const alone = (n) => !n.closest(`${CONTROLS}, label, .js-plotly-plot`) && !n.querySelector(CONTROLS) && !roved(n);
  const deaf = () => [...heard].filter((n) => n.closest('#gv-stage') && seen(n) && alone(n)).map(short);
  const pictures = () => all('#gv-stage :is(svg, canvas, [role=application])[tabindex="0"]').filter(seen).map(id);
  const CHOICES = '#gv-stage :is(.gv-seg button, [role=switch], input[type=range])';
  const choices = () => all(CHOICES).filter(usable).map(id);
  const node = (wanted) => [...ids].find(([, i]) => i === wanted)?.[0];
  return { now, remember, controls, deaf, pictures, choices, node, short };
})();
"""


@pytest.fixture
def keys(open_page: Opener) -> Callable[..., Page]:
    """A page whose listeners are watched from the start, with the tools to look at the focus."""

    def opener(lesson: str, **more: Any) -> Page:
        page = open_page(lesson, **more)
        page.add_init_script(WATCH)
        page.reload()
        page.wait_for_selector(".gv-app[data-shown$=live]")
        page.add_script_tag(content=TOOLS)
        return page

    return opener


def settle(page: Page, lesson: str, number: int) -> None:
    page.wait_for_selector(f'.gv-app[data-shown="{lesson}/{number}/live"]')
    page.wait_for_function("!document.querySelector('.gv-figbox').hasAttribute('aria-busy')")


def now(page: Page) -> Any:
    return page.evaluate("driven.now()")


def to_stage(page: Page) -> None:
    """By the skip link, from the address bar."""
    page.evaluate("document.activeElement.blur()")
    page.locator("body").press("Tab")
    for _ in range(BEFORE_THE_STAGE + len(PAGES)):
        if (now(page) or {}).get("what", "").startswith("a.gv-skip"):
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#gv-stage")).to_be_focused()


@pytest.mark.parametrize("key", STEPS)
def test_few_tab_stops_lead_to_the_stage_and_each_is_seen(keys: Opener, key: str) -> None:
    page = keys(key, guesses=0)
    stops: list[str] = []
    page.evaluate("driven.remember()")
    page.locator("body").press("Tab")
    while (at := now(page)) is None or not at["stage"]:
        assert at is not None
        stops.append(at["what"])
        assert at["inside"], at
        assert at["marked"], at
        assert at["name"], at
        assert len(stops) <= BEFORE_THE_STAGE, stops
        page.keyboard.press("Tab")
    to_stage(page)


def test_the_pages_are_one_tab_stop_and_an_arrow_apart(keys: Opener) -> None:
    page = keys(PAGES[-1].KEY)
    here = page.locator(".gv-r2 a[aria-current]")
    here.focus()
    page.keyboard.press("Home")
    expect(page.locator(".gv-r2 a").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".gv-r2 a").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    settle(page, PAGES[1].KEY, 1)
    expect(page.locator(".gv-r2 a").nth(1)).to_be_focused()


@pytest.mark.parametrize("key", STEPS)
def test_menus_open_are_entered_and_give_the_focus_back(keys: Opener, key: str) -> None:
    page = keys(key)
    for button in page.locator(".gv-app [aria-expanded]:visible:enabled").all():
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        if button.evaluate("b => Boolean(b.parentElement.querySelector('.gv-pop'))"):
            page.keyboard.press("Tab")
            assert page.evaluate("Boolean(document.activeElement.closest('.gv-pop, .gv-has'))")
        page.keyboard.press("Escape")
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(button).to_be_focused()


@pytest.mark.parametrize("key", STEPS)
def test_every_step_is_driven_by_keys_alone(keys: Opener, key: str) -> None:
    page = keys(key, guesses=0)
    to_stage(page)
    wrong = []
    for number in range(1, len(STEPS[key]) + 1):
        settle(page, key, number)
        wrong += [f"step {number}: {line}" for line in (*reached(page), *walked(page), *worked(page))]
        if number < len(STEPS[key]):
            page.evaluate("step => gptviz.app.step(step)", number)  # whatever was played with, as the step has it
            to_stage(page)
            page.keyboard.press("ArrowRight")
            settle(page, key, number + 1)
            expect(page.locator("#gv-stage")).to_be_focused()
    assert not wrong, "\n".join(wrong)


def reached(page: Page) -> list[str]:
    """Tab from the stage goes to every control of picture and steps, each with a name, in view and marked."""
    page.evaluate("driven.remember()")
    page.locator("#gv-stage").focus()
    wrong: list[str] = []
    met: set[int | str] = set()
    for _ in range(ROUND):
        page.keyboard.press("Tab")
        at = now(page)
        if at is None or not (at["stage"] or at["side"]):
            break
        met |= {at["id"], at["what"]}
        wrong += [f"{at['what']} has no {what}" for what in ("name", "inside", "marked") if not at[what]]
    wrong += [
        f"{words} is not reached" for number, words in page.evaluate("driven.controls()") if not {number, words} & met
    ]
    return wrong + [f"{words} hears the pointer only" for words in page.evaluate("driven.deaf()")]


def walked(page: Page) -> list[str]:
    """Arrow keys go through every picture that has the focus, and the sentence says where they are."""
    wrong = []
    for number in page.evaluate("driven.pictures()"):
        page.evaluate("n => driven.node(n).focus()", number)
        said = {page.locator(".gv-say").inner_text()}
        for press in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(press)
            page.wait_for_timeout(50)
            page.wait_for_function("!document.querySelector('.gv-figbox').hasAttribute('aria-busy')")
            said.add(page.locator(".gv-say").inner_text())
        if len(said) < 2 or "" in said:
            wrong.append(f"{page.evaluate('n => driven.short(driven.node(n))', number)} says {said}")
    return wrong


def worked(page: Page) -> list[str]:
    """Every choice and slider can be set by keys, and keeps the focus."""
    wrong = []
    for number in page.evaluate("driven.choices()"):
        node = f"driven.node({number})"
        if not page.evaluate(f"Boolean({node}.isConnected && {node}.checkVisibility() && !{node}.disabled)"):
            continue  # another choice has taken it away
        page.evaluate(f"{node}.focus()")
        slider = page.evaluate(f"{node}.matches('input')")
        before = page.evaluate(f"[{node}.value, {node}.ariaPressed, {node}.ariaChecked].join()")
        page.keyboard.press("ArrowLeft" if slider else "Space")
        page.wait_for_function("!document.querySelector('.gv-figbox').hasAttribute('aria-busy')")
        after = page.evaluate(f"[{node}.value, {node}.ariaPressed, {node}.ariaChecked].join()")
        words = page.evaluate(f"driven.short({node})")
        chosen = page.evaluate(f"{node}.ariaPressed === 'true' || {node}.isConnected === false")
        if after == before and not chosen and not slider:
            wrong.append(f"{words} does nothing")
        if now(page) is None:
            wrong.append(f"{words} loses the focus")
    return wrong


@pytest.mark.parametrize("key", [key for key, steps in STEPS.items() if any(step.guess for step in steps)])
def test_a_guess_is_answered_by_keys_and_the_focus_is_on_the_answer(keys: Opener, key: str) -> None:
    number = next(i for i, step in enumerate(STEPS[key], 1) if step.guess)
    page = keys(key, step=number)
    to_stage(page)
    for _ in range(ROUND):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.gv-chip')"):
            break
    page.keyboard.press("Enter")
    settle(page, key, number)
    expect(page.locator(".gv-ask [role=status]")).to_be_focused()
    page.keyboard.press("Tab")
    assert now(page) is not None

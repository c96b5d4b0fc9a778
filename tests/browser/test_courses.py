"""Courses: every stop of every course opens, the way back is the same, and progress is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gptviz.decoder.errors import UserError
from gptviz.lessons import frame
from gptviz.lessons.courses import courses

COURSES = {course["name"]: course for course in frame.manifest("en")["courses"]}


@pytest.mark.parametrize("name", list(COURSES))
def test_every_stop_opens_in_order(open_page: Callable[..., Page], name: str) -> None:
    stops = COURSES[name]["stops"]
    first, step = stops[0]
    page = open_page(first, step=step, course=name, guesses=0)
    for number, (key, step) in enumerate(stops, 1):
        page.wait_for_selector(f'.gv-app[data-shown="{key}/{step}/live"]')
        expect(page.locator(".gv-where")).to_have_text(f"course: {number} of {len(stops)}")
        if number < len(stops):
            page.locator(".gv-go .gv-main").click()
    expect(page.locator(".gv-go .gv-main")).to_be_disabled()


def test_a_course_is_chosen_in_the_menu_and_left_there(open_page: Callable[..., Page]) -> None:
    page = open_page("twins")
    title = COURSES["ten-minutes"]["title"]
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name=title).click()
    page.wait_for_function("new URLSearchParams(location.search).get('course') === 'ten-minutes'")
    expect(page.locator(".gv-where")).to_have_text(f"course: 1 of {len(COURSES['ten-minutes']['stops'])}")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name=title).click()
    page.wait_for_function("!new URLSearchParams(location.search).has('course')")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# A\n- nowhere 1\n", "is no stop"),
        ("# A\n- mask\n", "is no stop"),
        ("# A\n- mask 9\n", "step is 9; mask has steps 1 to 7"),
        ("# A\n", "has no stops"),
    ],
)
def test_a_wrong_stop_is_refused_with_file_and_line(tmp_path, text: str, said: str) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        courses({"mask": 7}, tmp_path)

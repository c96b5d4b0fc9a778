"""What is checked of an argument before anything is computed."""

from __future__ import annotations

import pytest

from gptviz.decoder.errors import UserError
from gptviz.lessons import questions


@pytest.mark.parametrize("value", [True, False, 1.5, "1", None, [], float("nan"), float("inf"), 10**400])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(UserError, match=r"layer is .*; it must be a whole number"):
        questions.integer("layer", value)
    with pytest.raises(UserError, match="layer is "):
        questions.argument("layer", value, int)


@pytest.mark.parametrize(("value", "whole"), [(3, 3), (3.0, 3), (-1, -1), (0, 0)])
def test_a_whole_number_may_come_as_a_float(value, whole):
    assert questions.integer("layer", value) == whole
    assert type(questions.integer("layer", value)) is int


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (True, float),
        ("nan", float),
        ("1", float),
        (1, str),
        (1, bool),
        ("true", bool),
        ([True], list[int]),
        (1, list[int]),
    ],
)
def test_an_argument_of_another_type_is_refused(value, hint):
    with pytest.raises(UserError, match="must be"):
        questions.argument("value", value, hint)

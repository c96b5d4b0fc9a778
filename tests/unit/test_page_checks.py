"""What pages check and compute without a browser."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from gptviz.decoder.errors import UserError
from gptviz.lab.writing.sampling import Settings
from gptviz.lessons import next_token, page
from gptviz.service import Service

TEXT = "Once upon a time"


@pytest.fixture(scope="module")
def service(nano) -> Service:
    service = Service()
    service.add(nano)
    return service


@pytest.mark.parametrize("value", [True, False, 1.5, "1", None, [], float("nan"), float("inf"), 10**400])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(UserError, match=r"layer is .*; it must be a whole number"):
        page.integer("layer", value)
    with pytest.raises(UserError, match="layer is "):
        page.argument("layer", value, int)


@pytest.mark.parametrize(("value", "whole"), [(3, 3), (3.0, 3), (-1, -1), (0, 0)])
def test_a_whole_number_may_come_as_a_float(value, whole):
    assert page.integer("layer", value) == whole
    assert type(page.integer("layer", value)) is int


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
        page.argument("value", value, hint)


def run_on(service: Service, ids: list[int], n: int, seed: int = 3, settings: Settings | None = Settings()):  # noqa: B008
    """What the page's own handler writes: (id, p) token by token, at the end."""
    wanted = (
        None if settings is None else {"temperature": settings.temperature, "topK": 0, "topP": 1, "topPFirst": False}
    )
    event = SimpleNamespace(_data={"run": 1, "ids": ids, "settings": wanted, "seed": seed, "n": n})
    *_, last = next_token.run_on(service)({"text": TEXT, "model": ""}, event)
    return [token[0] for token in json.loads(last["state"])["tokens"]]


@pytest.mark.parametrize("settings", [Settings(), None], ids=["drawn", "greedy"])
def test_running_on_takes_up_the_draws_where_they_were(service, settings):
    whole = run_on(service, [], 8, settings=settings)
    assert len(whole) == 8
    for written in (1, 3, 7):
        assert run_on(service, whole[:written], 8 - written, settings=settings) == whole[written:]


def test_another_seed_draws_other_tokens(service):
    assert run_on(service, [], 8, seed=3) != run_on(service, [], 8, seed=4)

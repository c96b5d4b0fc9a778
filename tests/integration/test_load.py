"""The benchmark of a full class runs, and every question in it is answered; its figures belong to a quiet machine."""

from __future__ import annotations

import json

from bench import load
from tests.loops import finish


def test_a_few_clients_at_once_get_all_their_answers(api_url) -> None:
    found = finish(load.all_of(load.gptviz("nano"), 5, api_url))
    assert set(found) == {"page", "same prompt", "own prompt", "generate"}
    for row in found.values():
        assert row["errors"] == 0, row
        assert 0 < row["p50_s"] <= row["p95_s"] <= row["all_s"]
    json.dumps(found)


def test_a_refusal_counts_as_an_error() -> None:
    async def refused(client, i):
        assert i != 2, "refused"

    found = finish(load.all_of({"x": refused}, 4, "http://127.0.0.1:1"))
    assert found["x"]["errors"] == 1
    assert found["x"]["first_error"].startswith("AssertionError: refused")


def test_no_two_clients_have_the_same_text() -> None:
    assert len({load.own(i, salt) for i in range(100) for salt in (0, 1)}) == 200

"""The rows of breaks.toml still fit the code; whether the named tests notice them, tests/breaks.py finds out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import breaks

ROWS = breaks.table()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_each_break_can_be_made_and_names_tests_that_exist(row: breaks.Break) -> None:
    assert breaks.unfit(row) == ""


def test_names_are_told_apart() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_what_does_not_fit_is_named() -> None:
    row = ROWS[0]
    assert "stands 0 times" in breaks.unfit(replace(row, old="no such text"))
    assert "stands 0 times" in breaks.unfit(replace(row, file="gptviz/gone.py"))
    assert "changes nothing" in breaks.unfit(replace(row, new=row.old))
    for gone in ("tests/unit/test_runs.py::test_gone", "tests/unit/test_gone.py", "tests/unit/test_gone.py::test_x"):
        assert "there is no test" in breaks.unfit(replace(row, tests=gone))

"""Folders and outcomes that the tests here share: each family is loaded and examined once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.odd import compare, folders
from tests.odd.compare import Outcome

Examine = Callable[..., Outcome]


@pytest.fixture(scope="session")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("odd")


@pytest.fixture(scope="session")
def examine(root: Path) -> Examine:
    """`examine(family, layout, text)`: that folder through every endpoint."""
    done: dict[tuple[str, str, str], Outcome] = {}

    def once(family: str, layout: str = "byte-level", text: str = compare.TEXT) -> Outcome:
        asked = (family, layout, text)
        if asked not in done:
            with folders.quiet():
                done[asked] = compare.examine(folders.make(root, family, layout), text)
        return done[asked]

    return once

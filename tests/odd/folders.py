"""Whole checkpoint folders: a family's weights with a layout's tokenizer, as a user would bring them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers.utils import logging

from tests.odd import families
from tests.odd.layouts import LAYOUTS


def make(root: Path, family: str, layout: str = "byte-level", seed: int = 0, **changes: Any) -> Path:
    """A checkpoint folder below `root`, named after what it holds; `changes` go into the configuration."""
    folder = root / f"{family} · {layout}{changes or ''}".replace("/", "_")
    if not folder.exists():
        families.build(family, seed, **changes).save_pretrained(folder)
        LAYOUTS[layout]().save(str(folder / "tokenizer.json"))
    return folder


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's reports on what it loads, which a damaged folder makes long."""
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)

"""What the arguments of an endpoint mean and what its answer holds, and the text it takes where none is given."""

from __future__ import annotations

import functools
import tomllib
from typing import Any

from gptviz.places import LESSONS
from gptviz.words import ENGLISH


@functools.cache
def _read() -> dict[str, Any]:
    return tomllib.loads((LESSONS / ENGLISH / "endpoints.toml").read_text(encoding="utf-8"))


def takes(endpoint: str, parameter: str) -> str:
    """What an argument means: unit, range, what 0 or nothing stands for. Empty where nobody wrote it down."""
    found = _read()
    return str(found["own"].get(endpoint, {}).get(parameter) or found["takes"].get(parameter, ""))


def gives(endpoint: str) -> dict[str, str]:
    """The fields of an answer with their meaning."""
    return dict(_read()["gives"].get(endpoint, {}))


def examples(language: str = ENGLISH) -> list[dict[str, str]]:
    """Prompts worth a look: name, text, why."""
    lines = (LESSONS / language / "examples.md").read_text(encoding="utf-8").splitlines()
    rows = [[part.strip() for part in line[2:].split(" | ")] for line in lines if line.startswith("- ")]
    return [{"name": name, "text": text.replace("\\n", "\n"), "why": why} for name, text, why in rows]


def default_text() -> str:
    """The text an endpoint reads where none is given: the first example."""
    return examples()[0]["text"]

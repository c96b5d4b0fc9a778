"""The one error a user is meant to read."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from gptviz.words import ENGLISH, words

KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")


class UserError(ValueError):
    """A bad value from the user: one sentence naming the parameter, the value and what is allowed.

    `UserError("whole_between", name="layer", value=99, low=0, high=11)` takes its sentence from `errors.whole_between`
    of the words, in any language; `str(error)` is the English one. What was typed is cut short there. A message with
    blanks is the sentence itself.
    """

    def __init__(self, message: str = "", /, **values: Any) -> None:
        self.key = (message if "." in message else f"errors.{message}") if KEY.fullmatch(message) else None
        self.values = {name: _shown(value) for name, value in values.items()}
        super().__init__(words().text(self.key, **self.values) if self.key else message)

    def sentence(self, language: str = ENGLISH) -> str:
        """The sentence in one of the languages that `words.choose` gives."""
        return words(language).text(self.key, **self.values) if self.key else str(self)


def _shown(value: Any) -> Any:
    """Numbers as they are, so that each language can say them; all else cut to what an error may repeat."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return value
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_shown(item) for item in value]
    return brief(value)


MOST_SHOWN = 60  # characters of a bad value that an error repeats


def brief(value: object) -> str:
    """A bad value as an error repeats it: at most 60 characters, and none that cannot be sent."""
    text = str(value)
    cut = text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
    return cut.encode(errors="backslashreplace").decode()

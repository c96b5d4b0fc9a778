"""A training of the twins that a test looks on: how many steps were asked for and made, and that it has ended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gptviz.lab.teaching import twins


class Watched:
    """From now on every state of `twins.train` is counted; `ended` is set when its generator is done or was closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = self.steps = 0
        self.ended = threading.Event()
        self._train = twins.train
        monkeypatch.setattr(twins, "train", self._watched)

    def _watched(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        try:
            for state in self._train(*args, **kwargs):
                self.asked, self.steps = state.steps, state.step
                yield state
        finally:
            self.ended.set()

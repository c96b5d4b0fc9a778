"""Whom work is for: what nobody waits for any more is not begun, and what is begun ends at the next layer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Left(Exception):
    """Nobody waits for this answer any more."""


class Ticket:
    """One request's. `long` work, whose answer comes in several values, lets the others go first."""

    def __init__(self, *, long: bool = False) -> None:
        self.long = long
        self.gone = False
        self._lock = threading.Lock()
        self._ends: dict[int, Callable[[], object]] = {}
        self._next = 0

    def leave(self) -> None:
        """The reader is gone: what waits is taken out of its line, what runs will notice."""
        with self._lock:
            self.gone = True
            ends, self._ends = list(self._ends.values()), {}
        for end in ends:
            end()

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end`, from whichever thread, if the reader leaves meanwhile. Left if it has left already."""
        with self._lock:
            if self.gone:
                raise Left
            self._next += 1
            mine = self._next
            self._ends[mine] = end
        try:
            yield
        finally:
            with self._lock:
                self._ends.pop(mine, None)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whatever is asked of the service from here on, in this context, is for this ticket."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)


_current: ContextVar[Ticket | None] = ContextVar("ticket", default=None)
EVERYBODY = Ticket()  # for work that no request asked for: it is never left


def current() -> Ticket:
    """Whose work this is."""
    return _current.get() or EVERYBODY

"""A cache bounded in bytes, oldest out first; equal requests at the same time wait for one result."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

from torch import Tensor

from gptviz.service.ticket import Left

T = TypeVar("T")
SMALL = 64  # bytes that anything small is taken for


@dataclass
class _Entry:
    value: Any
    offer: Any
    size: int


def _always(offer: Any) -> bool:
    return True


class Cache:
    """Values by key. Under one key there may be values that hold more or less: `offer` says what one holds.

    A value serves whoever asks for less than it offers, those who come while it is being made included.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._kept: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._pending: dict[Hashable, list[tuple[Any, Future[Any]]]] = {}
        self._lock = threading.Lock()

    def get(
        self,
        key: Hashable,
        make: Callable[[], T],
        size: Callable[[T], int | None],
        *,
        offer: Any = None,
        serves: Callable[[Any], bool] = _always,
        may_wait: bool = True,
    ) -> T:
        """What is kept under the key and serves, or what `make` makes. An error is raised to all who wait, not kept.

        What has no `size` (None) serves those who wait for it and is not kept.

        Without `may_wait` a result that another is making is made once more: the worker must never wait for itself.
        """
        while True:
            with self._lock:
                if (entry := self._kept.get(key)) is not None and serves(entry.offer):
                    self._kept.move_to_end(key)
                    return entry.value
                waiting = next((future for found, future in self._pending.get(key, []) if serves(found)), None)
                mine: Future[Any] = Future()
                if waiting is None or not may_wait:
                    self._pending.setdefault(key, []).append((offer, mine))
            if waiting is None or not may_wait:
                return self._make(key, make, size, offer, mine)
            with suppress(Left):  # the one who made it has left: then somebody else makes it
                return waiting.result()

    def peek(self, key: Hashable) -> tuple[Any, Any] | None:
        """(value, offer) of what is kept under the key, without making anything."""
        with self._lock:
            entry = self._kept.get(key)
            return None if entry is None else (entry.value, entry.offer)

    def _make(
        self, key: Hashable, make: Callable[[], T], size: Callable[[T], int | None], offer: Any, future: Future[T]
    ) -> T:
        try:
            value = make()
            cost = size(value)
        except BaseException as error:
            with self._lock:
                self._forget_pending(key, future)
            future.set_exception(error)
            raise
        with self._lock:
            self._forget_pending(key, future)
            if cost is not None:
                self._keep(key, _Entry(value, offer, cost))
        future.set_result(value)
        return value

    def _forget_pending(self, key: Hashable, future: Future[Any]) -> None:
        left = [pair for pair in self._pending.get(key, []) if pair[1] is not future]
        if left:
            self._pending[key] = left
        else:
            self._pending.pop(key, None)

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        if entry.size > self.limit_bytes:
            return
        if (old := self._kept.pop(key, None)) is not None:
            self.bytes -= old.size
        self._kept[key] = entry
        self.bytes += entry.size
        while self.bytes > self.limit_bytes:
            _, gone = self._kept.popitem(last=False)
            self.bytes -= gone.size

    def drop(self, unwanted: Callable[[Hashable], bool]) -> None:
        """Forget what is kept under the keys that are not wanted any more."""
        with self._lock:
            for key in [key for key in self._kept if unwanted(key)]:
                self.bytes -= self._kept.pop(key).size

    def clear(self) -> None:
        """Forget everything."""
        self.drop(lambda key: True)


def frozen(value: Any) -> Hashable:
    """An argument as part of a key: equal only to an argument of the same type and content (1 is not True).

    TypeError for what has no content to compare, such as a function or a tensor: a key must not guess.
    """
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return type(value), value
    if isinstance(value, list | tuple):
        return "sequence", tuple(frozen(item) for item in value)
    if isinstance(value, set | frozenset):
        return "set", frozenset(frozen(item) for item in value)
    if isinstance(value, dict):
        return "dict", frozenset((frozen(key), frozen(item)) for key, item in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(frozen(getattr(value, field.name)) for field in fields(value))
    raise TypeError(f"no key from a value of type {type(value).__name__}")  # not words: a mistake in code


def nbytes(value: Any) -> int:
    """About what keeping a value costs: its tensors exactly, everything else roughly."""
    return sum(_sizes(value))


def _sizes(value: Any) -> Iterator[int]:
    if isinstance(value, Tensor):
        yield value.nbytes
    elif isinstance(value, str | bytes):
        yield SMALL + len(value)
    else:
        yield SMALL
        for part in _parts(value):
            yield from _sizes(part)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return []

"""One thread for all model work, and a shelf that keeps what it made."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()


class Worker:
    """Runs model work on one thread.

    Forward passes use all cores by themselves: two at once would only slow each other down, and a thread pool's
    threads would each open an OpenMP pool of their own.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="gptviz-model")

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, made on the worker."""
        if threading.current_thread().name.startswith("gptviz-model"):
            return work()
        return self._pool.submit(work).result()

    def each(self, items: Iterator[T]) -> Iterator[T]:
        """The items of a generator, each made on the worker, so that other requests run between two of them.

        When the caller stops listening the generator is closed, and the worker is free at once.
        """
        try:
            while (item := self.run(lambda: next(items, _END))) is not _END:
                yield item  # type: ignore[misc]
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                self.run(close)


class Shelf:
    """A cache bounded in bytes, oldest out first; equal requests at the same time wait for one result."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._pending: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under the key, or what `make` makes. An error is raised to all who wait, and not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            future = self._pending.get(key)
            mine = future is None
            if mine:
                future = self._pending[key] = Future()
        assert future is not None
        if mine:
            self._make(key, make, size, future)
        return future.result()

    def _make(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int], future: Future[T]) -> None:
        try:
            value = make()
        except BaseException as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            with self._lock:
                del self._pending[key]
            future.set_exception(error)
            return
        with self._lock:
            del self._pending[key]
            self._keep(key, value, size(value))
        future.set_result(value)

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        if size > self.limit_bytes:
            return
        self._kept[key] = (value, size)
        self.bytes += size
        while self.bytes > self.limit_bytes:
            _, (_, gone) = self._kept.popitem(last=False)
            self.bytes -= gone

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self.bytes = 0

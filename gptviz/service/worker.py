"""One thread for all model work, and a shelf that keeps what it made."""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()
MOST_NESTED = 4


class Worker:
    """Runs model work on one thread.

    Forward passes use all cores by themselves: two at once would only slow each other down, and a thread pool's
    threads would each open an OpenMP pool of their own. A long pass calls `breathe` between two layers, so that
    a class does not wait for the one who pasted a novel.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="gptviz-model", daemon=True)
        self._depth = 0
        self._thread.start()

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, made on the worker."""
        if threading.current_thread() is self._thread:
            return work()
        future: Future[T] = Future()
        self._jobs.put((work, future))
        return future.result()

    def breathe(self) -> None:
        """Called on the worker in the middle of a job: one waiting job runs now, if there is one.

        Jobs share nothing but the model, whose passes carry their own state. Only a few may wait within each other,
        because each holds its memory.
        """
        if threading.current_thread() is self._thread and self._depth < MOST_NESTED and not self._jobs.empty():
            self._do(*self._jobs.get())

    def _serve(self) -> None:
        while True:
            self._do(*self._jobs.get())

    def _do(self, work: Callable[[], Any], future: Future[Any]) -> None:
        self._depth += 1
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the one who waits must hear of it
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            self._depth -= 1

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

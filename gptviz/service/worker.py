"""One thread for all model work."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

import torch

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

    @property
    def is_here(self) -> bool:
        """True on the worker's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, made on the worker."""
        if self.is_here:
            return work()
        future: Future[T] = Future()
        self._jobs.put((work, future))
        return future.result()

    def breathe(self) -> None:
        """Called on the worker in the middle of a job: one waiting job runs now, if there is one.

        Jobs share nothing but the model, whose passes carry their own state. Only a few may wait within each other,
        because each holds its memory.
        """
        if self.is_here and self._depth < MOST_NESTED and not self._jobs.empty():
            self._do(*self._jobs.get())

    def _serve(self) -> None:
        while True:
            self._do(*self._jobs.get())

    def _do(self, work: Callable[[], Any], future: Future[Any]) -> None:
        self._depth += 1
        try:
            # A job that runs in the middle of another must not be run in that one's inference mode: it may train.
            with torch.inference_mode(False), torch.enable_grad():
                result = work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the one who waits must hear of it
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            self._depth -= 1

    def each(self, items: Iterator[T], every: float = 0.0) -> Generator[T]:
        """The states of a generator, each made on the worker, so that other requests run between two of them.

        At most one in `every` seconds is passed on, and always the first and the last: a message for each step of a
        small model would keep a browser busier than the model. When the caller stops listening the generator is
        closed, and the worker is free at once.
        """
        due, held = 0.0, _END
        try:
            while (item := self.run(lambda: next(items, _END))) is not _END:
                held = item
                if time.monotonic() >= due:
                    yield item  # type: ignore[misc]
                    due, held = time.monotonic() + every, _END
            if held is not _END:
                yield held  # type: ignore[misc]
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                self.run(close)

"""One thread for all model work."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from gptviz.service.ticket import Left, Ticket, current

T = TypeVar("T")
_END = object()
MOST_NESTED = 4
QUICK = 3  # jobs with one answer that go before one of a long work, where both wait


@dataclass
class _Job:
    work: Callable[[], Any]
    ticket: Ticket
    future: Future[Any] = field(default_factory=Future)


class _Jobs:
    """Two lines, so that a click does not wait behind every text that is being written."""

    def __init__(self) -> None:
        self._lines: tuple[deque[_Job], deque[_Job]] = deque(), deque()  # one answer; long
        self._some = threading.Condition()
        self._quick = 0  # since the last job of a long work

    def put(self, job: _Job) -> None:
        with self._some:
            self._lines[job.ticket.long].append(job)
            self._some.notify()

    def get(self) -> _Job:
        with self._some:
            while self.empty():
                self._some.wait()
            quick, long = self._lines
            if quick and not (long and self._quick >= QUICK):
                self._quick += 1
                return quick.popleft()
            self._quick = 0
            return long.popleft()

    def __len__(self) -> int:
        return sum(map(len, self._lines))

    def empty(self) -> bool:
        return not len(self)


class Worker:
    """Runs model work on one thread.

    Forward passes use all cores by themselves: two at once would only slow each other down, and a thread pool's
    threads would each open an OpenMP pool of their own. A long pass calls `breathe` between two layers, so that
    a class does not wait for the one who pasted a novel.
    """

    def __init__(self) -> None:
        self._jobs = _Jobs()
        self._thread = threading.Thread(target=self._serve, name="gptviz-model", daemon=True)
        self._running: list[Ticket] = []  # of the jobs that are within each other, the innermost last
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """True on the worker's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._jobs)

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, made on the worker. Left when the one it is for has left meanwhile."""
        if self.is_here:
            return work()
        job = _Job(work, current())
        with job.ticket.ending(job.future.cancel):
            self._jobs.put(job)
            try:
                return job.future.result()
            except CancelledError:
                raise Left from None

    def later(self, work: Callable[[], Any]) -> None:
        """Have `work` done for everybody, after what waits already, as part of a long one; nobody waits for it."""
        self._jobs.put(_Job(work, SHARED))

    def breathe(self) -> None:
        """Called on the worker in the middle of a job: one waiting job runs now, if there is one.

        Jobs share nothing but the model, whose passes carry their own state. Only a few may wait within each other,
        because each holds its memory. Left when nobody waits any more for the job that called.
        """
        if not self.is_here:
            return
        if self._running and self._running[-1].gone:
            raise Left
        if len(self._running) < MOST_NESTED and not self._jobs.empty():
            self._do(self._jobs.get())

    def _serve(self) -> None:
        while True:
            self._do(self._jobs.get())

    def _do(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        self._running.append(job.ticket)
        try:
            # A job that runs in the middle of another must not be run in that one's inference mode: it may train.
            with torch.inference_mode(False), torch.enable_grad():
                result = job.work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the one who waits must hear of it
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
        finally:
            self._running.pop()

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
                with SHARED.held():  # the reader may have left, and the rest has to be put away all the same
                    self.run(close)


SHARED = Ticket(long=True)  # of work that many wait for: it is never left

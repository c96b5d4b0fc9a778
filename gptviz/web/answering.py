"""Answering one question for one reader: in the line, in a thread, and no longer than the reader is there."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import anyio
from starlette.requests import HTTPConnection

from gptviz.lessons.questions import Question
from gptviz.service.ticket import Left, Ticket
from gptviz.web.line import Line, Turns
from gptviz.words import Said

log = logging.getLogger("gptviz")
T = TypeVar("T")
THREADS = 64  # of each kind; what they ask of the model waits its turn there
STALL_S = 60.0  # that a reader may take for one value
TELL_S = 1.0  # between two words about the place in a line
_END = object()


class Place:
    """What a reader hears while others run before: the place in the line, 1 for the next."""

    def __init__(self, place: int) -> None:
        self.place = place


class Answering:
    """All questions, and the line before them."""

    def __init__(self, questions: Iterable[Question], line: Line | None = None) -> None:
        self.questions = {question.name: question for question in questions}
        self.line = line or Line()
        self._limiters: dict[bool, anyio.CapacityLimiter] = {}

    async def once(self, question: Question, client: str, given: Any, write: Callable[[Any], T]) -> T:
        """The answer of a question that has one, written in the thread that made it. UserError, Left."""
        ticket = Ticket()

        def work() -> T:
            with ticket.held():
                return write(question.ask(given))

        with self.line.place(client, question.name, long=False):
            try:
                return await self._in_thread(work, long=False)
            finally:
                ticket.leave()

    def values(self, question: Question, client: str, given: Any) -> AsyncGenerator[Any]:
        """The values of a question that streams, its Places before them. When it is closed its work ends."""
        mine: list[AsyncGenerator[Any]] = []
        mine.append(self._values(question, client, given, Watch(lambda: mine[0].aclose())))
        return mine[0]

    async def _values(self, question: Question, client: str, given: Any, watch: Watch) -> AsyncGenerator[Any]:
        ticket = Ticket(long=True)
        question.checked(given)  # before any waiting
        with self.line.place(client, question.name, long=True):
            turns = self.line.turns(question.name, question.limit)
            async for place in _turn(turns):
                yield place
            values = question.ask(given)
            following = _for(ticket, lambda: _next(values, ticket))
            try:
                while (value := await self._in_thread(following, long=True)) is not _END:
                    with watch.reading():
                        yield value
            finally:
                turns.done()
                ticket.leave()
                await self._close(values)

    async def _close(self, values: Iterator[Any]) -> None:
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(_end, values)

    async def _in_thread(self, work: Callable[[], T], *, long: bool) -> T:
        if long not in self._limiters:
            self._limiters[long] = anyio.CapacityLimiter(THREADS)
        # A reader who leaves does not wait for the thread: it hears of it by its ticket.
        return await anyio.to_thread.run_sync(work, limiter=self._limiters[long], abandon_on_cancel=True)


class Watch:
    """Ends an answer whose reader takes no more of it, though the connection stays: a place is not held for ever."""

    def __init__(self, end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._end = end
        self._ending: asyncio.Task[None] | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While the reader has a value and has not asked for the next."""
        timer = asyncio.get_running_loop().call_later(STALL_S, self._stalled)
        try:
            yield
        finally:
            timer.cancel()

    def _stalled(self) -> None:
        self._ending = asyncio.ensure_future(self._end())


def _next(values: Iterator[Any], ticket: Ticket) -> Any:
    """The next value. Where the reader left while it was made, nobody else could close them: they are closed here."""
    value = next(values, _END)
    if ticket.gone:
        _end(values)
    return value


def _end(values: Iterator[Any]) -> None:
    # ValueError: they are just being run in another thread, which ends them itself, since their ticket has left.
    with suppress(ValueError, Left):
        values.close()  # type: ignore[attr-defined]


async def _turn(turns: Turns) -> AsyncIterator[Place]:
    """Places, until it is this one's turn, which is then taken."""
    if turns.free:
        turns.take()
        return
    mine = turns.wait()
    try:
        while not mine.done():
            yield Place(turns.before(mine))
            await asyncio.wait([mine], timeout=TELL_S)
    except BaseException:
        turns.leave(mine)
        raise


def _for(ticket: Ticket, work: Callable[[], T]) -> Callable[[], T]:
    def run() -> T:
        with ticket.held():
            return work()

    return run


def client_of(connection: HTTPConnection) -> str:
    """Whose address it is, as the gate has found it."""
    return connection.scope.get("gptviz.client") or (connection.client.host if connection.client else "")


def broken(question: str, error: BaseException) -> Said:
    """The sentence for an error of the server's own. The log gets its kind and where it was, never what was asked."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("The question %s failed: %s.\n%s", question, type(error).__name__, frames)  # not words: for the log
    return Said("errors.broken")

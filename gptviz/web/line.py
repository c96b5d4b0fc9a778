"""Who may ask now: bounds for each client, each question and all together, and turns for what runs a long time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gptviz.decoder.errors import UserError

RETRY_S = 2
MINUTE = 60.0
KNOWN = 10_000  # clients whose pace is remembered


@dataclass(frozen=True)
class Bounds:
    """How many questions may be in the house, running or waiting. `long` ones answer in several values."""

    per_client: int = 250  # a class behind one address has all of them
    per_minute: int = 6_000  # questions of one client; 0: any number
    quick: int = 400
    long: int = 160
    per_question: int = 200
    body_bytes: int = 4_000_000  # below it a prompt that is too long is answered with its own sentence

    def most(self, long: bool) -> int:
        return self.long if long else self.quick


class Full(UserError):
    """No room now: a sentence, and the place that the question would have had."""

    def __init__(self, key: str, place: int, status: int = 503) -> None:
        super().__init__(key, place=place, seconds=RETRY_S)
        self.place, self.status = place, status


class Line:
    """The questions in the house. All of it happens on the event loop, so that nothing needs a lock."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.clients: Counter[str] = Counter()
        self.questions: Counter[str] = Counter()
        self.kinds: Counter[bool] = Counter()
        self._turns: dict[str, Turns] = {}
        self._pace: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client: questions left, and when

    @contextmanager
    def place(self, client: str, question: str, *, long: bool) -> Iterator[None]:
        """In the line until it is left. Full when there is no room for this client, this question or this kind."""
        self._check(client, question, long)
        self.clients[client] += 1
        self.questions[question] += 1
        self.kinds[long] += 1
        try:
            yield
        finally:
            self.kinds[long] -= 1
            for counter, key in ((self.clients, client), (self.questions, question)):
                counter[key] -= 1
                if not counter[key]:
                    del counter[key]

    def turns(self, question: str, limit: int | None) -> Turns:
        """The turns of a question of which only so many run at once."""
        if question not in self._turns:
            self._turns[question] = Turns(limit or self.bounds.long)
        return self._turns[question]

    def _check(self, client: str, question: str, long: bool) -> None:
        bounds = self.bounds
        if not self._in_pace(client):
            raise Full("line_pace", bounds.per_minute, 429)
        if (mine := self.clients[client]) >= bounds.per_client:
            raise Full("line_yours", mine + 1)
        if (same := self.questions[question]) >= bounds.per_question:
            raise Full("line_full", same + 1)
        if (all_ := self.kinds[long]) >= bounds.most(long):
            raise Full("line_full", all_ + 1)

    def _in_pace(self, client: str) -> bool:
        most = self.bounds.per_minute
        if not most:
            return True
        now = time.monotonic()
        left, when = self._pace.pop(client, (float(most), now))
        left = min(most, left + (now - when) * most / MINUTE)
        self._pace[client] = (left - 1 if left >= 1 else left, now)
        if len(self._pace) > KNOWN:
            self._pace.popitem(last=False)
        return left >= 1


class Turns:
    """So many at once, the others in the order in which they came."""

    def __init__(self, most: int) -> None:
        self.most, self.running = most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> bool:
        return self.running < self.most and not self._waiting

    def take(self) -> None:
        """One more runs; only where it is free."""
        self.running += 1

    def wait(self) -> asyncio.Future[None]:
        """Done when it is one's turn, which is then taken; cancelling it leaves the line."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        return mine

    def before(self, mine: asyncio.Future[None]) -> int:
        """The place in the line, 1 for the next."""
        return 1 + self._waiting.index(mine) if mine in self._waiting else 1

    def leave(self, mine: asyncio.Future[None]) -> None:
        """Out of the line before its turn; or, if the turn has come meanwhile, done with it."""
        if mine in self._waiting:
            self._waiting.remove(mine)
        elif mine.done() and not mine.cancelled():
            self.done()

    def done(self) -> None:
        """One has ended: the next may run."""
        self.running -= 1
        while self._waiting and self.running < self.most:
            following = self._waiting.popleft()
            if not following.done():
                self.running += 1
                following.set_result(None)

"""Texts of one model that are written at the same time: one step serves them all; each joins and leaves between two.

Only in float32 and for families whose forward is written out (see `decoder.fast_pass`): there a text attends to its
own cache alone, so its neighbours change no more than the order of a product's sums. All others are written alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor

from gptviz.decoder.cache import GrowingCache, cache_bytes
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.experts import Tally
from gptviz.decoder.fast_pass import FastPass
from gptviz.decoder.run import PIECE_S, Step
from gptviz.service.ticket import Left, current
from gptviz.service.worker import Worker

MOST = 32  # texts in one step
JOIN = 4  # prompts that are read between two steps, so that those who write do not wait long
BYTES = 512 * 2**20  # of all caches at their full length; one text alone may take more
_END = object()


@dataclass(eq=False)
class _Text:
    ids: list[int]  # the prompt, then what is written
    choose: Callable[[Tensor], int]
    room: int
    keep_logits: bool
    bytes: int
    cache: GrowingCache
    written: int = 0
    gone: bool = False
    out: SimpleQueue[Any] = field(default_factory=SimpleQueue)  # steps, then an error or the end


class Crowd:
    """The texts of one model. Whoever comes alone is written at once, by the very passes that write one text."""

    def __init__(self, worker: Worker, decoder: Decoder) -> None:
        self._worker, self._decoder = worker, decoder
        self._texts: list[_Text] = []  # the worker's alone
        self._joining: deque[_Text] = deque()
        self._stepping = False
        self._lock = threading.Lock()
        self._position_bytes = sum(rows.bytes for rows in decoder.cache_rows)

    def stream(
        self,
        ids: Sequence[int],
        choose: Callable[[Tensor], int],
        *,
        max_new_tokens: int,
        use_cache: bool = True,
        keep_logits: bool = True,
    ) -> Generator[Step]:
        """The steps of `Decoder.stream`. Not to be asked for on the worker itself, which makes them."""
        prompt = self._decoder.check_ids(ids)
        fast = self._worker.run(lambda: self._decoder.fast)
        if fast is None or not use_cache or self._decoder.dtype is not torch.float32:
            extent = {"max_new_tokens": max_new_tokens, "use_cache": use_cache, "keep_logits": keep_logits}
            yield from self._worker.each(self._decoder.stream(prompt, choose, **extent))  # type: ignore[arg-type]
            return
        room = min(max_new_tokens, self._decoder.shape.context - len(prompt))
        size = (len(prompt) + room) * self._position_bytes
        text = _Text(prompt, choose, room, keep_logits, size, self._decoder.new_cache())
        with current().ending(lambda: text.out.put(Left())):
            try:
                if room > 0:
                    self._join(text)
                    yield from _steps(text)
            finally:
                text.gone = True

    def _join(self, text: _Text) -> None:
        with self._lock:
            self._joining.append(text)
            if self._stepping:
                return
            self._stepping = True
        self._worker.later(self._turn)

    def _turn(self) -> None:
        """Some read their prompts, all write a token, and the next turn goes to the end of the worker's line."""
        fast = self._decoder.fast
        assert fast is not None
        with torch.inference_mode():
            self._texts = [text for text in self._texts if not text.gone]
            before, fresh = list(self._texts), self._admitted()
            for text in fresh:
                _guarded(text, lambda text=text: self._read(fast, text))  # type: ignore[misc]
            if before:
                self._write(fast, before)
        self._texts = [text for text in self._texts if not text.gone]
        with self._lock:
            self._stepping = bool(self._texts or self._joining)
        if self._stepping:
            self._worker.later(self._turn)

    def _admitted(self) -> list[_Text]:
        fresh: list[_Text] = []
        with self._lock:
            while self._joining and len(fresh) < JOIN and self._fits(self._joining[0]):
                text = self._joining.popleft()
                if not text.gone:
                    fresh.append(text)
                    self._texts.append(text)
        return fresh

    def _fits(self, text: _Text) -> bool:
        used = sum(other.bytes for other in self._texts)
        return not self._texts or (len(self._texts) < MOST and used + text.bytes <= BYTES)

    def _read(self, fast: FastPass, text: _Text) -> None:
        begin, spent = time.perf_counter(), 0.0
        for done in self._decoder.pieces(fast, text.ids, text.cache, Tally()):
            if isinstance(done, int) and (piece := time.perf_counter() - begin) >= PIECE_S:
                spent += piece
                self._worker.breathe()
                begin = time.perf_counter()
        assert isinstance(done, Tensor)
        _take(text, done, len(text.ids), spent + time.perf_counter() - begin)

    def _write(self, fast: FastPass, texts: list[_Text]) -> None:
        begin = time.perf_counter()
        try:
            logits = self._logits(fast, texts)
        except Exception as error:  # noqa: BLE001 - whatever it is, all who wait must hear of it
            for text in texts:
                _end(text, error)
            return
        seconds = time.perf_counter() - begin
        for text, row in zip(texts, logits, strict=True):
            _guarded(text, lambda text=text, row=row: _take(text, row, 1, seconds))  # type: ignore[misc]

    def _logits(self, fast: FastPass, texts: list[_Text]) -> Sequence[Tensor]:
        if len(texts) == 1:
            *_, logits = self._decoder.pieces(fast, texts[0].ids[-1:], texts[0].cache, Tally())
            assert isinstance(logits, Tensor)
            return [logits]
        self._decoder.passes += 1
        last = torch.tensor([text.ids[-1] for text in texts], device=self._decoder.device)
        return list(fast.together(last, [text.cache for text in texts]).float().cpu())


def _steps(text: _Text) -> Generator[Step]:
    while (found := text.out.get()) is not _END:
        if isinstance(found, BaseException):
            raise found
        yield found


def _take(text: _Text, logits: Tensor, positions: int, seconds: float) -> None:
    """The next token of a text, told to its reader."""
    chosen = int(text.choose(logits))
    text.ids = [*text.ids, chosen]
    kept = logits if text.keep_logits else None
    text.out.put(Step(text.written, chosen, kept, positions, seconds, cache_bytes(text.cache)))
    text.written += 1
    if text.written >= text.room:
        _end(text, _END)


def _guarded(text: _Text, work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - it ends this text, not those beside it
        _end(text, error)


def _end(text: _Text, last: Any) -> None:
    text.gone = True
    text.out.put(last)

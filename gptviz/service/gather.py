"""Prompts of one model that wait for the worker at the same moment are read as one padded batch.

Nobody waits for a batch to fill: whoever's turn it is takes those along who stand in the line. A row differs from the
same text read alone by rounding only, so this is for those who do not compare bits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.run import Run
from gptviz.service.ticket import Left, current
from gptviz.service.worker import Worker

log = logging.getLogger("gptviz")

MOST = 16  # texts in one batch
MOST_POSITIONS = 2_048  # of the padded batch


@dataclass(eq=False)
class _Slot:
    ids: tuple[int, ...]
    found: Future[Run | None] = field(default_factory=Future)  # None: the batch has failed, and each goes alone


class Gather:
    """The prompts that wait, by model."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: dict[int, list[_Slot]] = {}
        self._lock = threading.Lock()

    def takes(self, decoder: Decoder) -> bool:
        """Whether a row of a batch is the text alone, but for rounding; never for experts, which sort their rows."""
        return decoder.plain_head and not decoder.experts.gathers and not self._worker.is_here

    def run(self, decoder: Decoder, ids: tuple[int, ...], alone: Callable[[], Run]) -> tuple[Run, bool]:
        """A run with the last logits and the stream, and whether it is a row of a batch; `alone` makes another."""
        slot = _Slot(ids)
        with self._lock:
            self._waiting.setdefault(decoder.identity, []).append(slot)
        try:
            made = self._worker.run(lambda: self._serve(decoder, slot, alone))
            if made is not None:
                return made, False
            with current().ending(slot.found.cancel):
                row = slot.found.result()  # of a batch that may be under way just now
        except CancelledError:
            raise Left from None
        finally:
            with self._lock:
                waiting = self._waiting[decoder.identity]
                self._waiting[decoder.identity] = [other for other in waiting if other is not slot]
        return (row, True) if row is not None else (self._worker.run(alone), False)

    def _take(self, decoder: Decoder, slot: _Slot) -> list[_Slot]:
        """Those of a batch with this one, no longer waiting; none where another batch has it."""
        with self._lock:
            waiting = self._waiting.get(decoder.identity, [])
            if slot not in waiting:
                return []
            batch = _some([slot, *(other for other in waiting if other is not slot)])
            self._waiting[decoder.identity] = [other for other in waiting if other not in batch]
            return batch

    def _serve(self, decoder: Decoder, slot: _Slot, alone: Callable[[], Run]) -> Run | None:
        batch = self._take(decoder, slot)
        if not batch:
            return None
        if len(batch) == 1:
            return alone()
        rows: Sequence[Run | None] = [None] * len(batch)
        try:
            rows = decoder.batch_last([each.ids for each in batch])
        except RuntimeError:  # too large for the memory, say: each is made alone
            log.warning("batch of %d texts not made", len(batch))  # not words: for the log
        finally:
            for each, row in zip(batch, rows, strict=True):
                with suppress(InvalidStateError):  # its reader has left
                    each.found.set_result(row)
        return None


def _some(slots: Sequence[_Slot]) -> list[_Slot]:
    """The first one and as many more as a batch holds."""
    taken = [slots[0]]
    for slot in slots[1:]:
        longest = max(len(each.ids) for each in (*taken, slot))
        if len(taken) < MOST and longest * (len(taken) + 1) <= MOST_POSITIONS:
            taken.append(slot)
    return taken

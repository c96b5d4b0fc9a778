"""What the sources of weights say while they work, and how they fail: always one sentence of the words."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gptviz.words import Said


@dataclass(frozen=True)
class Progress:
    """Where a fetch stands: "look", "download", "check", "convert", "save" or "wait".

    Bytes are 0 of 0 where there is nothing to count.
    """

    stage: str
    done_bytes: int
    total_bytes: int
    sentence: Said


FULL = "No space left on device"  # not words: what a system says of a full disk

Report = Callable[[Progress], None]


class Unavailable(Exception):
    """A source cannot give a model; `said` is one sentence for the user, and the next source is tried."""

    def __init__(self, key: str, /, **values: Any) -> None:
        texts = {name: str(v) if isinstance(v, Path) else v for name, v in values.items()}
        self.said = Said(key, **texts)  # not words: the caller's key
        super().__init__(self.said)


class Meter:
    """Counts bytes of one stage and reports them, at most ten times a second and once at the end."""

    def __init__(self, report: Report, stage: str, total_bytes: int, what: Said) -> None:
        self.report, self.stage, self.total, self.what = report, stage, total_bytes, what
        self.done = 0
        self._last = 0.0
        self.at(0)

    def add(self, count: float) -> None:
        """Count more bytes (or fewer, when a transfer starts over)."""
        self.at(self.done + int(count))

    def at(self, done: int) -> None:
        """Say how many bytes are done so far."""
        self.done = max(0, min(done, self.total))
        now = time.monotonic()
        if now - self._last >= 0.1 or self.done == self.total:
            self._last = now
            sentence = Said("loading.bytes_of", what=self.what, done=self.done, total=self.total)
            self.report(Progress(self.stage, self.done, self.total, sentence))


def explain(error: BaseException) -> Said:
    """Why a file operation or a transfer failed, as the end of a sentence without its full stop."""
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Said("loading.disk_full")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return Said("loading.not_allowed", file=_name(error))
        if error.errno is not None and error.strerror:
            return Said("loading.system_says", file=_name(error), words=error.strerror.lower())
    if FULL in str(error):  # safetensors and pip pass the system's words on
        return Said("loading.disk_full")
    if error.args and isinstance(error.args[0], Said):
        return error.args[0]
    first = next(iter(str(error).strip().splitlines()), "").partition(". ")[0]
    return Said("loading.others_say", words=(first or type(error).__name__)[:300].rstrip("."))


def _name(error: OSError) -> str:
    return str(error.filename) if isinstance(error.filename, str | Path) else Said("loading.a_file")

"""What the sources of weights say while they work, and how they fail: always one sentence."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Progress:
    """Where a fetch stands: "look", "download", "check", "convert", "save" or "wait".

    Bytes are 0 of 0 where there is nothing to count.
    """

    stage: str
    done_bytes: int
    total_bytes: int
    sentence: str


Report = Callable[[Progress], None]


class Unavailable(Exception):
    """A source cannot give a model; the message is one sentence for the user, and the next source is tried."""


class Meter:
    """Counts bytes of one stage and reports them, at most ten times a second and once at the end."""

    def __init__(self, report: Report, stage: str, total_bytes: int, what: str) -> None:
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
            sentence = f"{self.what}: {self.done / 1e6:,.0f} of {megabytes(self.total)}."
            self.report(Progress(self.stage, self.done, self.total, sentence))


def megabytes(count: int) -> str:
    """A number of bytes for people: "98 MB", or kB below one MB."""
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def explain(error: BaseException) -> str:
    """Why a file operation or a transfer failed, as the end of a sentence without its full stop."""
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full"
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return f"{_name(error)} may not be written or read by this user"
        if error.errno is not None and error.strerror:
            return f"{_name(error)}: {error.strerror.lower()}"
    if "No space left on device" in str(error):  # safetensors and pip pass the system's words on
        return "the disk is full"
    first = next(iter(str(error).strip().splitlines()), "").partition(". ")[0]
    return (first or type(error).__name__)[:300].rstrip(".")


def _name(error: OSError) -> str:
    return str(error.filename) if isinstance(error.filename, str | Path) else "a file"

"""Loading models at the start: the bundled one now, the wanted one behind it."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import weights
from gptviz.decoder.sources.weights import Located, Progress
from gptviz.words import Said

log = logging.getLogger("gptviz")


@dataclass(frozen=True)
class Options:
    """What the command line decides: which model, where from, on what."""

    model: str = ""
    offline: bool = False
    device: str = "auto"
    dtype: str = "float32"
    cache_mb: int = 512
    max_models: int = 2


@dataclass
class Status:
    """How the loading of the larger model stands, for the header."""

    loading: bool = False
    sentence: str = ""  # empty, or a text by key
    fraction: float | None = None
    notes: list[Said] = field(default_factory=list)


class Loader:
    """Loads the bundled model, then the wanted one on a thread of its own, and says how that stands."""

    def __init__(self, options: Options, add: Callable[[Decoder], None]) -> None:
        self.options, self.add = options, add
        self.status = Status()

    def start(self) -> threading.Thread:
        """Load the bundled model now; the thread that is returned loads the wanted one."""
        bundled = weights.locate("nano")
        self.add(self._load(bundled))
        self.status = Status(loading=True, sentence=Said("loading.looking"))
        thread = threading.Thread(target=self._load_wanted, args=[bundled], name="gptviz-load", daemon=True)
        thread.start()
        return thread

    def _load(self, located: Located) -> Decoder:
        return Decoder.load(
            located.folder,
            name=located.name,
            source=located.source,
            device=self.options.device,
            dtype=self.options.dtype,
        )

    def _load_wanted(self, bundled: Located) -> None:
        notes: list[Said] = []
        try:
            located = weights.locate_default(self.options.model, offline=self.options.offline, progress=self._report)
            notes = list(located.notes)
            if located.folder.resolve() != bundled.folder.resolve():  # a folder called nano is another model
                self._report(Progress("load", 0, 0, Said("loading.loading", model=located.name, source=located.source)))
                self.add(self._load(located))
                log.info(Said("loading.ready", model=located.name))
        except UserError as error:
            notes.append(error.said)
        except Exception as error:  # a thread's error would be lost: the header must say it
            failed = Said("loading.failed", kind=type(error).__name__)
            log.exception(failed)
            notes.append(failed)
        for note in notes:
            log.warning(note)
        home = str(Path.home())  # the page may be seen by a class: it need not name this user's folders
        self.status = Status(notes=[note.each(lambda text: text.replace(home, "~")) for note in notes])

    def _report(self, progress: Progress) -> None:
        known = progress.total_bytes > 0
        fraction = progress.done_bytes / progress.total_bytes if known else None
        self.status = Status(True, progress.sentence, fraction)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{progress.sentence}", end="", file=sys.stderr, flush=True)

"""The loaded models and what may be asked of them."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder, LayerAttention
from gptviz.decoder.errors import UserError, brief
from gptviz.decoder.glyphs import shown
from gptviz.decoder.lost import losses, lost_bytes
from gptviz.decoder.sources import weights
from gptviz.decoder.sources.weights import Progress
from gptviz.lab.looking import heads, readable
from gptviz.service.worker import Shelf, Worker

T = TypeVar("T")
log = logging.getLogger("gptviz")

MAX_CHARACTERS = 40_000  # refused before tokenizing; far above what any context here can hold
MAX_PANEL_TOKENS = 2_048  # T x T matrices of every head: above this a laptop's memory is the limit, not the model
SHELF_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Settings:
    """What the command line decides: which model, where from, on what."""

    model: str = ""
    offline: bool = False
    device: str = "auto"
    dtype: str = "float32"


@dataclass
class Status:
    """How the loading of the larger model stands, for the header."""

    loading: bool = False
    sentence: str = ""
    fraction: float | None = None
    notes: list[str] = field(default_factory=list)


class Service:
    """Models by name, the first one the default; everything a lesson computes goes through here."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.worker = Worker()
        self.shelf = Shelf(SHELF_BYTES)
        self.status = Status()
        self._decoders: dict[str, Decoder] = {}
        self._lock = threading.Lock()

    # Models

    def start(self, *, wait: bool = False) -> None:
        """Load the bundled model now and the wanted one in the background (or now, with `wait`)."""
        self.add(self._load(weights.locate("nano")))
        self.status = Status(loading=True, sentence="Looking for the model.")
        thread = threading.Thread(target=self._load_wanted, name="gptviz-load", daemon=True)
        thread.start()
        if wait:
            thread.join()

    def add(self, decoder: Decoder, *, first: bool = True) -> None:
        """Make a decoder available; `first` makes it the default."""
        decoder.between_layers = self.worker.breathe
        with self._lock:
            others = {name: d for name, d in self._decoders.items() if name != decoder.name}
            mine = {decoder.name: decoder}
            self._decoders = {**mine, **others} if first else {**others, **mine}

    def _load(self, located: weights.Located) -> Decoder:
        return Decoder.load(
            located.folder,
            name=located.name,
            source=located.source,
            device=self.settings.device,
            dtype=self.settings.dtype,
        )

    def _load_wanted(self) -> None:
        notes: list[str] = []
        try:
            located = weights.locate_default(self.settings.model, offline=self.settings.offline, progress=self._report)
            notes = list(located.notes)
            if located.name not in self._decoders:
                self._report(Progress("load", 0, 0, f"Loading {located.name} {located.source}."))
                self.add(self._load(located))
            self.status = Status(notes=notes)
        except UserError as error:
            self.status = Status(notes=[*notes, str(error)])
        except Exception as error:  # a thread's error would be lost: the header must say it
            log.exception("The model could not be loaded.")
            self.status = Status(notes=[*notes, f"The model could not be loaded ({type(error).__name__})."])
        for note in self.status.notes:
            log.warning(note)
        home = str(Path.home())  # the page may be seen by a class: it need not name this user's folders
        self.status.notes = [note.replace(home, "~") for note in self.status.notes]
        log.info("%s is ready.", self.default)

    def _report(self, progress: Progress) -> None:
        known = progress.total_bytes > 0
        fraction = progress.done_bytes / progress.total_bytes if known else None
        self.status = Status(True, progress.sentence, fraction)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{progress.sentence}", end="", file=sys.stderr, flush=True)

    @property
    def default(self) -> str:
        """The name of the default model."""
        return next(iter(self._decoders), "")

    @property
    def names(self) -> list[str]:
        """The models that are ready, the default first."""
        return list(self._decoders)

    def decoder(self, model: str = "") -> Decoder:
        """The decoder of that name, or the default. UserError when it is not loaded."""
        name = model or self.default
        found = self._decoders.get(name)
        if found is None:
            raise UserError(f'model is "{brief(name)}"; the models loaded here are {", ".join(self.names)}.')
        return found

    def models(self) -> list[dict[str, Any]]:
        """What /models answers: one row a loaded model, the default first."""
        return [describe(decoder) for decoder in list(self._decoders.values())]

    # Text

    def encode(self, text: str, model: str = "", *, most: int | None = None) -> tuple[Decoder, list[int]]:
        """The decoder and the text's ids, 1 to C of them. UserError, before any work, for a text it cannot take."""
        decoder = self.decoder(model)
        if not isinstance(text, str):
            raise UserError(f"text is of type {type(text).__name__}; it must be a string.")
        if not text:
            raise UserError("text is empty; type at least one character, since a model continues from a token.")
        if len(text) > MAX_CHARACTERS:
            raise UserError(f"text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read.")
        ids = decoder.tokenizer.encode(text)
        limit = min(decoder.shape.context, most or decoder.shape.context)
        if len(ids) > limit:
            whose = f"{decoder.name} reads" if limit == decoder.shape.context else "this picture shows"
            raise UserError(f"text has {len(ids):,} tokens; {whose} at most {limit:,} at once.")
        return decoder, ids

    def tokens(self, text: str, model: str = "") -> dict[str, Any]:
        """What /tokenize answers, with the groups of tokens that share one character."""
        decoder, ids = self.encode(text, model)
        tokenizer = decoder.tokenizer
        changed = losses(tokenizer, text)
        return {
            "tokens": [token.as_json() for token in tokenizer.tokens(ids)],
            "count": len(ids),
            "context": decoder.shape.context,
            "groups": [[group.start, group.stop, group.shown] for group in tokenizer.groups(ids)],
            "trailing_blank": text != text.rstrip(),
            "lost_bytes": lost_bytes(text, changed),  # unknown to the vocabulary, or dropped by it
            "losses": [
                {
                    **asdict(loss),
                    "was": shown(text[loss.start : loss.stop].encode()),
                    "became": shown(loss.became.encode()),
                }
                for loss in changed
            ],
        }

    # Work

    def compute(self, key: Hashable, work: Callable[[], T], size: Callable[[T], int] = lambda _: 64 * 1024) -> T:
        """The result of model work, from the shelf or made on the worker; equal requests share one run.

        The key must name everything the result depends on, the model included; `size` is in bytes.
        """
        return self.shelf.get(key, lambda: self.worker.run(work), size)

    def stream(self, items: Iterator[T]) -> Iterator[T]:
        """A generator's items, each made on the worker, other requests in between."""
        return self.worker.each(items)

    # Attention

    def panel(self, decoder: Decoder, ids: list[int], *, rule: MaskRule = CAUSAL, size: int = 32) -> heads.Panel:
        """All heads of one run (see `heads.panel`). UserError above MAX_PANEL_TOKENS."""
        if len(ids) > MAX_PANEL_TOKENS:
            raise UserError(f"text has {len(ids):,} tokens; this picture shows at most {MAX_PANEL_TOKENS:,} at once.")
        if not 1 <= size <= 128:
            raise UserError(f"size is {size}; it must be from 1 to 128 cells.")
        induction = self.induction(decoder)
        key = ("panel", decoder.name, tuple(ids), rule, size)
        return self.compute(
            key,
            lambda: heads.panel(decoder, ids, induction, rule=rule, size=size, words=readable.words_of(decoder, ids)),
            lambda panel: panel.nbytes,
        )

    def induction(self, decoder: Decoder) -> Tensor:
        """The induction score of every head [L, h], measured once a model."""
        return self.compute(("induction", decoder.name), lambda: heads.induction_scores(decoder))

    def layer(self, decoder: Decoder, ids: list[int], layer: int, *, rule: MaskRule = CAUSAL) -> LayerAttention:
        """One layer's scores and weights [h, T, T], from the panel when it kept them, else from a run of its own."""
        decoder.check_layer(layer)
        panel = self.panel(decoder, ids, rule=rule)
        if layer in panel.layers:
            return panel.layers[layer]
        key = ("layer", decoder.name, tuple(ids), rule, layer)
        return self.compute(
            key,
            lambda: decoder.run(ids, rule=rule, capture=[layer], last_only=True).attention[layer],
            lambda kept: kept.nbytes,
        )


def describe(decoder: Decoder) -> dict[str, Any]:
    """One row of /models."""
    shape = decoder.shape
    return {
        "name": decoder.name,
        "ready": True,
        "parameters": shape.parameters,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "width": shape.width,
        "context": shape.context,
        "vocabulary": shape.vocabulary,
        "device": device_name(decoder.device),
        "dtype": str(decoder.dtype).removeprefix("torch."),
        "source": decoder.source,
        "tied": shape.tied,
    }


def device_name(device: torch.device) -> str:
    """The device as people call it, with the card's own name on CUDA."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type

"""The loaded models and what may be asked of them."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.glyphs import shown
from gptviz.decoder.lost import losses, lost_bytes
from gptviz.decoder.run import LayerAttention, Run, Runs
from gptviz.lab.looking import heads
from gptviz.lab.writing.writer import Stream
from gptviz.service.cache import Cache, frozen, nbytes
from gptviz.service.crowd import Crowd
from gptviz.service.loading import Loader, Options, Status
from gptviz.service.models import Models, describe
from gptviz.service.runs import LAST, Ask, Keep, Row, RunCache
from gptviz.service.wire import as_json
from gptviz.service.worker import Worker

T = TypeVar("T")

MAX_CHARACTERS = 40_000  # refused before tokenizing; far above what any context here can hold
MAX_PANEL_TOKENS = 2_048  # T x T matrices of every head: above this a laptop's memory is the limit, not the model
TRAININGS = 2  # at once: each takes its turns on the one worker


class Service:
    """The models, the first one the default; everything a lesson computes goes through here."""

    def __init__(self, options: Options | None = None) -> None:
        self.worker = Worker()
        options = options or Options()
        self._cache = Cache(options.cache_mb * 2**20)
        self._runs = RunCache(self.worker, self._cache)
        self._models = Models(options.max_models)
        self._crowds: dict[int, Crowd] = {}
        self._lock = threading.Lock()
        self._training = threading.BoundedSemaphore(TRAININGS)
        self._loader = Loader(options, self.add)

    # Models

    def start(self, *, wait: bool = False) -> None:
        """Load the bundled model now and the wanted one in the background (or now, with `wait`)."""
        thread = self._loader.start()
        if wait:
            thread.join()

    @property
    def status(self) -> Status:
        """How loading stands."""
        return self._loader.status

    @status.setter
    def status(self, status: Status) -> None:
        self._loader.status = status

    def add(self, decoder: Decoder, *, first: bool = True) -> None:
        """Make a decoder available, under a name of its own; `first` makes it the default."""
        decoder.between_layers = self.worker.breathe
        for gone in self._models.add(decoder, first=first):
            self._cache.drop(lambda key, gone=gone: gone.identity in key[1:3])  # type: ignore[misc]
            self._crowds.pop(gone.identity, None)

    @property
    def cache_bytes(self) -> int:
        """The bytes of all that is kept."""
        return self._cache.bytes

    @property
    def default(self) -> str:
        """The name of the default model; empty while there is none."""
        return next((decoder.name for decoder in self._models.all()), "")

    @property
    def names(self) -> list[str]:
        """The names the models are shown under, the default first."""
        return [decoder.name for decoder in self._models.all()]

    def decoder(self, model: str = "") -> Decoder:
        """The decoder of that name, or the default. UserError when it is not loaded."""
        return self._models.find(model)

    def models(self) -> list[dict[str, Any]]:
        """What /models answers: one row a loaded model, the default first."""
        return [describe(decoder) for decoder in self._models.all()]

    # Text

    def encode(self, text: str, model: str = "", *, most: int | None = None) -> tuple[Decoder, list[int]]:
        """The decoder and the text's ids, 1 to C of them. UserError, before any work, for a text it cannot take."""
        decoder = self.decoder(model)
        if not isinstance(text, str):
            raise UserError("string", name="text", value=text)
        if not text:
            raise UserError("empty_text")
        if len(text) > MAX_CHARACTERS:
            raise UserError("too_many_characters", name="text", n=len(text), most=MAX_CHARACTERS)
        ids = decoder.tokenizer.encode(text)
        limit = min(decoder.shape.context, most or decoder.shape.context)
        if len(ids) > limit:
            if limit == decoder.shape.context:
                raise UserError("text_too_long", n=len(ids), model=decoder.name, most=limit)
            raise UserError("too_long_to_show", n=len(ids), most=limit)
        return decoder, ids

    def tokens(self, text: str, model: str = "") -> dict[str, Any]:
        """What /tokenize answers, with the groups of tokens that share one character."""
        decoder, ids = self.encode(text, model)
        tokenizer = decoder.tokenizer
        changed = losses(tokenizer, text)
        return {
            "tokens": as_json(tokenizer.tokens(ids)),
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

    def run(
        self, decoder: Decoder, ids: Sequence[int], rule: MaskRule = CAUSAL, *, keep: Keep = LAST, exact: bool = True
    ) -> Run:
        """One forward pass over the ids, from the cache or made on the worker; it may hold more than `keep`.

        Without `exact` it may be made together with those of others who wait, and then differs by rounding.
        """
        return self._runs.run(decoder, Ask(tuple(ids), rule), keep=keep, exact=exact)

    def writer(self, decoder: Decoder) -> Stream:
        """What gives the steps of a text as `Decoder.stream` does, shared with all texts that are being written."""
        with self._lock:
            crowd = self._crowds.setdefault(decoder.identity, Crowd(self.worker, decoder))
        return crowd.stream

    def runs(self, decoder: Decoder) -> Runs:
        """The same in the shape of `Decoder.run`, for a function of the lab."""
        return self._runs.of(decoder)

    def together(self, decoder: Decoder, rows: Sequence[Row], *, layers: Iterable[int] = ()) -> None:
        """Make several runs in one batch, for experiments that need no exact zero (see `RunCache.together`)."""
        self._runs.together(decoder, rows, layers=layers)

    def once(self, decoder: Decoder, experiment: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """`experiment(decoder, …)` made on the worker, or kept from before under function, model and arguments.

        An experiment with a parameter `runs` is given the cache of runs. It must be a function of a module: what a
        lambda or an inner function takes from around it would be missing from the key. TypeError for such a one.
        """
        name = getattr(experiment, "__qualname__", "")
        if not name or "<" in name:
            what = name or experiment
            raise TypeError(f"{what} is no function of a module")  # not words: a mistake in code
        key = ("once", experiment, decoder.identity, frozen(args), frozen(kwargs))
        runs = {"runs": self.runs(decoder)} if "runs" in inspect.signature(experiment).parameters else {}

        def make() -> T:
            kept = self._cache.peek(key)
            return kept[0] if kept is not None else experiment(decoder, *args, **kwargs, **runs)

        return self._cache.get(key, lambda: self.worker.run(make), nbytes, may_wait=not self.worker.is_here)

    def stream(self, items: Iterator[T], *, every: float = 0.0) -> Generator[T]:
        """A generator's states, each made on the worker, other requests in between (see `Worker.each`)."""
        return self.worker.each(items, every)

    def train(self, states: Iterator[T], *, every: float = 0.0) -> Generator[T]:
        """The same for a training; only TRAININGS of them run at once, and a closed one makes room for the next."""
        with self._training:
            yield from self.worker.each(states, every)

    # Attention

    def panel(self, decoder: Decoder, ids: list[int], *, rule: MaskRule = CAUSAL, size: int = 32) -> heads.Panel:
        """All heads of one run (see `heads.panel`). UserError above MAX_PANEL_TOKENS."""
        if len(ids) > MAX_PANEL_TOKENS:
            raise UserError("too_long_to_show", n=len(ids), most=MAX_PANEL_TOKENS)
        if not 1 <= size <= 128:
            raise UserError("whole_between", name="size", value=size, low=1, high=128)
        return self.once(decoder, heads.panel, ids, rule=rule, size=size)

    def layer(self, decoder: Decoder, ids: list[int], layer: int, *, rule: MaskRule = CAUSAL) -> LayerAttention:
        """One layer's scores and weights [h, T, T]. UserError for a layer that the model does not have."""
        if len(ids) > MAX_PANEL_TOKENS:
            raise UserError("too_long_to_show", n=len(ids), most=MAX_PANEL_TOKENS)
        keep = Keep(attention=frozenset([decoder.check_layer(layer)]))
        return self.run(decoder, ids, rule, keep=keep).attention[layer]

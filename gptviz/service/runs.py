"""One cache of Runs: what is kept of a pass, and which pass serves whom."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.run import Run, Runs, Wanted
from gptviz.service.cache import Cache
from gptviz.service.gather import Gather
from gptviz.service.worker import Worker

Row = tuple[Sequence[int], MaskRule]  # a text and the mask it is run under
GENEROUS = 64 * 2**20  # bytes below which a pass keeps everything, so that no second one is needed


@dataclass(frozen=True)
class Keep:
    """What is kept of a pass: the last position's logits or all, the residual stream, layers' attention and inputs."""

    all_logits: bool = False
    residual: bool = False
    attention: frozenset[int] = frozenset()
    inputs: frozenset[int] = frozenset()

    @classmethod
    def of(cls, wanted: Wanted) -> Keep:
        """What one who calls `Runs` wants to be kept."""
        layers, inputs = frozenset(wanted.get("capture", ())), frozenset(wanted.get("inputs", ()))
        return cls(not wanted.get("last_only", False), wanted.get("residual", False), layers, inputs)

    def holds(self, other: Keep) -> bool:
        """True when a run that kept this serves one who wants the other."""
        return self | other == self

    def __or__(self, other: Keep) -> Keep:
        return Keep(
            self.all_logits or other.all_logits,
            self.residual or other.residual,
            self.attention | other.attention,
            self.inputs | other.inputs,
        )


LAST = Keep()  # the logits of the last position alone
LOGITS = Keep(all_logits=True)
ROW = Keep(residual=True)  # what a row of a batch holds


def everything(decoder: Decoder) -> Keep:
    """All that a pass can keep."""
    layers = frozenset(range(decoder.shape.layers))
    return Keep(True, True, layers, layers)


def cost(decoder: Decoder, T: int, keep: Keep) -> int:
    """About the bytes that a run of T tokens takes."""
    shape = decoder.shape
    logits = (T if keep.all_logits else 1) * shape.vocabulary
    stream = (shape.layers + 1) * T * shape.width if keep.residual else 0
    attention = 2 * len(keep.attention) * shape.heads * T * T
    inputs = len(keep.inputs) * T * (shape.heads + 2 * shape.kv_heads) * shape.head_width
    masks = T * T if keep.attention or keep.inputs else 0  # bytes; layers share them
    return 4 * (logits + stream + attention + inputs) + masks


@dataclass(frozen=True)
class Ask:
    """Which pass is meant: the text, its mask rule, experts one row at a time or not, and what is edited."""

    ids: tuple[int, ...]
    rule: MaskRule = CAUSAL
    one_row: bool = False
    edits: Edits | None = None

    def key(self, kind: str, decoder: Decoder) -> Hashable:
        """All that its numbers depend on; one row at a time is no other pass for a model whose rows are not sorted."""
        one_row = self.one_row and decoder.experts.gathers
        return kind, decoder.identity, self.ids, self.rule, one_row, self.edits or None


def _copied(run: Run) -> Run:
    """A row with memory of its own: as a view it would keep its whole batch alive."""
    inputs = {
        layer: replace(given, query=given.query.clone(), key=given.key.clone(), value=given.value.clone(),
                       seen=given.seen.clone())
        for layer, given in run.inputs.items()
    }  # fmt: skip
    return Run(run.ids, run.logits.clone(), run.rule, inputs=inputs)


class RunCache:
    """The runs of all models, in a cache whose keys hold all that a pass depends on (see `Ask`).

    Looking changes no number of a pass (see `decoder.attention`), so a run that holds more is the very run that one
    who wants less would have made, bit for bit.
    """

    def __init__(self, worker: Worker, cache: Cache) -> None:
        self._worker, self._cache, self._gather = worker, cache, Gather(worker)

    def run(self, decoder: Decoder, ask: Ask, *, keep: Keep = LAST, exact: bool = True) -> Run:
        """One forward pass, made on the worker or kept from before; it may hold more than `keep`.

        Without `exact` a row of a batch (see `together`) serves as well.
        """
        if not exact and (row := self._cache.peek(ask.key("row", decoder))) and row[1].holds(keep):
            return row[0]
        if not exact and self._gathers(decoder, ask, keep):
            return self._gathered(decoder, ask, keep)
        key = ask.key("run", decoder)
        found = self._cache.peek(key)
        wide = self._widened(decoder, len(ask.ids), keep, Keep() if found is None else found[1])

        def make() -> Run:
            kept = self._cache.peek(key)  # somebody may have made it while this waited in the line
            if kept is not None and kept[1].holds(wide):
                return kept[0]
            return decoder.run(
                ask.ids,
                rule=ask.rule,
                capture=wide.attention,
                residual=wide.residual,
                last_only=not wide.all_logits,
                inputs=wide.inputs,
                one_row=ask.one_row,
                edits=ask.edits,
            )

        return self._cache.get(
            key,
            lambda: self._worker.run(make),
            lambda run: run.nbytes,
            offer=wide,
            serves=lambda offer: offer.holds(keep),
            may_wait=not self._worker.is_here,
        )

    def _gathers(self, decoder: Decoder, ask: Ask, keep: Keep) -> bool:
        plain = ask.rule == CAUSAL and not ask.edits and not ask.one_row
        found = self._cache.peek(ask.key("run", decoder))
        made = found is not None and found[1].holds(keep)
        return plain and ROW.holds(keep) and not made and self._gather.takes(decoder)

    def _gathered(self, decoder: Decoder, ask: Ask, keep: Keep) -> Run:
        """The run made alone, and then kept as any other; or, where others wait for theirs, a row of a batch."""
        batched = False

        def make() -> Run:
            nonlocal batched
            run, batched = self._gather.run(decoder, ask.ids, lambda: self.run(decoder, ask, keep=keep))
            return run

        size = lambda run: run.nbytes if batched else None  # noqa: E731
        return self._cache.get(ask.key("row", decoder), make, size, offer=ROW, serves=lambda offer: offer.holds(keep))

    def together(self, decoder: Decoder, rows: Sequence[Row], *, layers: Iterable[int] = ()) -> None:
        """Make what is missing of several runs in one batch, for those who do not ask for exact ones.

        Each keeps all logits and the inputs of `layers`. Too large a batch is left alone: each run is then made when
        it is asked for.
        """
        keep = Keep(all_logits=True, inputs=frozenset(layers))
        missing = [ask for ids, rule in rows if not self._has(decoder, ask := Ask(tuple(ids), rule), keep)]
        longest = max((len(ask.ids) for ask in missing), default=0)
        if len(missing) < 2 or cost(decoder, longest * len(missing), keep) > GENEROUS:
            return
        texts, rules = [ask.ids for ask in missing], [ask.rule for ask in missing]
        runs = self._worker.run(lambda: decoder.batch(texts, rule=rules, inputs=keep.inputs))
        for ask, run in zip(missing, runs, strict=True):
            self._cache.get(ask.key("row", decoder), partial(_copied, run), lambda run: run.nbytes, offer=keep)

    def _has(self, decoder: Decoder, ask: Ask, keep: Keep) -> bool:
        found = (self._cache.peek(ask.key(kind, decoder)) for kind in ("run", "row"))
        return any(kept is not None and kept[1].holds(keep) for kept in found)

    def of(self, decoder: Decoder) -> Runs:
        """The cache in the shape of `Decoder.run`, for a function of the lab."""

        def run(ids: Sequence[int], **wanted: Unpack[Wanted]) -> Run:
            ask = Ask(tuple(ids), wanted.get("rule", CAUSAL), wanted.get("one_row", False), wanted.get("edits"))
            return self.run(decoder, ask, keep=Keep.of(wanted), exact=wanted.get("exact", True))

        return run

    def _widened(self, decoder: Decoder, T: int, wanted: Keep, held: Keep) -> Keep:
        """What to keep of a pass that has to be made: everything where that is cheap, else what was held and more."""
        if cost(decoder, T, whole := everything(decoder)) <= GENEROUS:
            return whole
        both = held | wanted
        return both if cost(decoder, T, both) <= 2 * GENEROUS else wanted

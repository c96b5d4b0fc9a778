"""Writing text: greedy, drawn and beam search, why it stopped, and the loops it falls into."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import DynamicCache

from gptviz.decoder.decoder import Decoder, Step
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.sampling import penalised

MAX_BEAMS = 16
Stream = Callable[..., Generator[Step]]  # the arguments of `Decoder.stream`


class Writing:
    """One continuation, token by token: iterate over its steps, then read `stop` and `ids`.

    `stop` is "end_of_text" (that token was chosen, and is the last of `ids`), "length" (the number asked for is
    written) or "context" (the model can read no more). It is empty until the writing ends. `ignore_end` takes the end
    token for one like any other; `stream` gives the steps as `Decoder.stream` does, perhaps together with other texts'.
    """

    def __init__(
        self,
        decoder: Decoder,
        prompt: Sequence[int],
        choose: Callable[[Tensor], int],
        *,
        max_new_tokens: int,
        use_cache: bool = True,
        keep_logits: bool = False,
        ignore_end: bool = False,
        stream: Stream | None = None,
    ) -> None:
        self.decoder = decoder
        self.stops = stops(decoder, ignore_end=ignore_end)
        self.prompt = decoder.check_ids(prompt)
        self.max_new_tokens = check_length(max_new_tokens)
        self.ids: list[int] = []
        self.stop = ""
        self._steps = (stream or decoder.stream)(
            self.prompt, choose, max_new_tokens=max_new_tokens, use_cache=use_cache, keep_logits=keep_logits
        )

    def __iter__(self) -> Iterator[Step]:
        with closing(self._steps):
            for step in self._steps:
                self.ids.append(step.id)
                if step.id in self.stops:
                    self.stop = "end_of_text"
                yield step
                if self.stop:
                    return
        self.stop = limit(self.decoder, len(self.prompt), len(self.ids), self.max_new_tokens)


def stops(decoder: Decoder, *, ignore_end: bool) -> frozenset[int]:
    """The tokens that end a text: none where the end is ignored."""
    return frozenset() if ignore_end else frozenset(decoder.tokenizer.stops)


def limit(decoder: Decoder, prompt: int, written: int, max_new_tokens: int) -> str:
    """Which limit ended a text that did not end itself: "length" or "context"."""
    return "length" if written >= max_new_tokens or prompt + written < decoder.shape.context else "context"


def check_length(max_new_tokens: int) -> int:
    """The number of tokens to write, if it is a whole number from 1 up. UserError otherwise."""
    if not isinstance(max_new_tokens, int) or isinstance(max_new_tokens, bool) or max_new_tokens < 1:
        raise UserError("whole_from", name="max_new_tokens", value=max_new_tokens, low=1)
    return max_new_tokens


# Beam search


@dataclass(frozen=True)
class Node:
    """One candidate of the tree: a token after its parent. `score` is Σ ln p of the text from the prompt to it."""

    index: int
    parent: int  # index of the parent node; −1 under the prompt
    depth: int  # 1 for the first new token
    id: int
    logp: float  # ln p of this token after its parent
    score: float
    fate: str  # "kept": continued; "finished": a whole text; "dropped": beaten by others


@dataclass(frozen=True)
class Beam:
    """One finished text: its new ids, Σ ln p, and the score it is ranked by: Σ ln p over the number of new tokens."""

    ids: list[int]
    total: float
    score: float
    node: int
    stop: str


@dataclass
class _Row:
    ids: list[int]
    node: int
    score: Tensor = field(default_factory=lambda: torch.zeros(()))


class BeamSearch:
    """The `beams` likeliest continuations kept at every step; the same texts as transformers.generate gives.

    Iterating yields the nodes each step adds to the tree. Afterwards `finished` holds the best texts, best first.
    """

    def __init__(
        self,
        decoder: Decoder,
        prompt: Sequence[int],
        *,
        beams: int,
        max_new_tokens: int,
        repetition_penalty: float = 1.0,
        ignore_end: bool = False,
    ) -> None:
        if not isinstance(beams, int) or isinstance(beams, bool) or not 1 <= beams <= MAX_BEAMS:
            raise UserError("whole_between", name="beams", value=beams, low=1, high=MAX_BEAMS)
        self.decoder = decoder
        self.prompt = decoder.check_ids(prompt)
        self.beams = beams
        self.max_new_tokens = check_length(max_new_tokens)
        self.room = min(max_new_tokens, decoder.shape.context - len(self.prompt))
        self.penalty = repetition_penalty
        self.stops = stops(decoder, ignore_end=ignore_end)
        self.nodes: list[Node] = []
        self.finished: list[Beam] = []

    @property
    def stop(self) -> str:
        """Why the best text ends; empty before any has ended."""
        return self.finished[0].stop if self.finished else "" if self.room else "context"

    def __iter__(self) -> Iterator[list[Node]]:
        rows, cache = [_Row([], -1)], DynamicCache()
        fresh = [self.prompt]
        for depth in range(1, self.room + 1):
            logits = self.decoder.step_rows(fresh, cache)  # [B, V]
            parents, rows, added = self._grow(rows, logits, depth)
            yield added
            if not rows or not self._can_improve(rows, depth):
                return
            cache.batch_select_indices(torch.tensor(parents, device=self.decoder.device))
            fresh = [row.ids[-1:] for row in rows]

    def _grow(self, rows: list[_Row], logits: Tensor, depth: int) -> tuple[list[int], list[_Row], list[Node]]:
        """Rank all continuations of all rows; the best go on, and those that end are set aside as finished."""
        logp = logits.log_softmax(-1)  # [B, V]
        texts = [[*self.prompt, *row.ids] for row in rows]
        shaped = torch.stack([penalised(p, text, self.penalty) for p, text in zip(logp, texts, strict=True)])
        total = shaped + torch.stack([row.score for row in rows])[:, None]  # [B, V]
        # Enough candidates that `beams` of them go on even when others end here.
        wanted = min(max(2, 1 + len(self.stops)) * self.beams, total.numel())
        scores, places = total.flatten().topk(wanted)
        going: list[_Row] = []
        parents: list[int] = []
        first = len(self.nodes)
        for rank, (score, place) in enumerate(zip(scores, places.tolist(), strict=True)):
            row, id = divmod(place, total.shape[1])
            ends = id in self.stops or depth == self.room
            if ends and rank >= self.beams:  # an ending counts only among the best
                continue
            full = len(going) == self.beams
            fate = "finished" if ends else "dropped" if full else "kept"
            node = Node(len(self.nodes), rows[row].node, depth, id, float(logp[row, id]), float(score), fate)
            self.nodes.append(node)
            ids = [*rows[row].ids, id]
            if fate == "finished":
                self._finish(ids, node)
            elif fate == "kept":
                going.append(_Row(ids, node.index, score))
                parents.append(row)
        return parents, going, self.nodes[first:]

    def _finish(self, ids: list[int], node: Node) -> None:
        ended = ids[-1] in self.stops
        stop = "end_of_text" if ended else limit(self.decoder, len(self.prompt), len(ids), self.max_new_tokens)
        self.finished.append(Beam(ids, node.score, node.score / len(ids), node.index, stop))
        self.finished.sort(key=lambda beam: -beam.score)
        del self.finished[self.beams :]

    def _can_improve(self, rows: list[_Row], depth: int) -> bool:
        """The library's rule: go on while a text is missing, or the best row, ended now, would beat the worst text."""
        if len(self.finished) < self.beams:
            return True
        if self.beams == 1:  # a single beam is greedy search, which ends at the first ending
            return False
        return float(rows[0].score) / depth > self.finished[-1].score


# Loops


@dataclass(frozen=True)
class Loop:
    """A stretch [start, stop) that repeats its first `period` tokens; `times` counts whole copies."""

    start: int
    stop: int
    period: int
    times: int


def loops(ids: Sequence[int], *, least: int = 3, long: int = 8) -> list[Loop]:
    """Stretches that say the same again and again, in order: `least` copies, or two of at least `long` tokens."""
    found: list[Loop] = []
    for period in range(1, len(ids) // 2 + 1):
        start = 0
        for i in range(len(ids) - period + 1):
            if i < len(ids) - period and ids[i] == ids[i + period]:
                continue
            stop, times = i + period, (i + period - start) // period
            if times >= least or (times >= 2 and period >= long):
                found.append(Loop(start, stop, period, times))
            start = i + 1
    # A loop of 4 also repeats every 8 and 12: only the shortest period of a stretch is told.
    first = [loop for loop in found if not any(_covers(other, loop) for other in found if other.period < loop.period)]
    return sorted(first, key=lambda loop: (loop.start, loop.period))


def _covers(shorter: Loop, longer: Loop) -> bool:
    return shorter.start <= longer.start and shorter.stop >= longer.stop

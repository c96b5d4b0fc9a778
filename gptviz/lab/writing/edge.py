"""The end of the context: where writing stops, and what it costs to go on with the last C tokens only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_rows import all_rows, gap


@dataclass
class Edge:
    """A text that almost fills the context, continued greedily past its end by cropping; iterate to run it.

    Up to the end each token costs one position, with a cache. After it the oldest token is dropped for each new one;
    all others move down by a place, so the whole text is read again: C positions a token.
    """

    decoder: Decoder
    prompt: list[int]
    asked: int
    written: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # run for each token

    @property
    def fits(self) -> int:
        """How many of the tokens asked for have a place in the context."""
        return min(self.asked, self.decoder.shape.context - len(self.prompt))

    @property
    def dropped(self) -> int:
        """How many tokens from the beginning the last one could not see."""
        return max(0, len(self.prompt) + self.asked - 1 - self.decoder.shape.context)

    def __iter__(self) -> Iterator[int]:
        C = self.decoder.shape.context
        steps = self.decoder.stream(
            self.prompt, lambda logits: int(logits.argmax()), max_new_tokens=self.fits, keep_logits=False
        )
        for step in steps:
            yield self._take(step.id, step.positions)
        while len(self.written) < self.asked:
            text = [*self.prompt, *self.written]
            logits = self.decoder.step(text[-C:], None)
            # A text of exactly C tokens still stands where it was read: with its cache, one position was enough.
            yield self._take(int(logits.argmax()), C if len(text) > C else 1)

    def _take(self, token: int, positions: int) -> int:
        self.written.append(token)
        self.positions.append(positions)
        return token


def begin(decoder: Decoder, ids: Sequence[int], left: int, asked: int) -> Edge:
    """The text repeated until only `left` places of the context are free. UserError where the context is too short."""
    room = decoder.shape.context - left
    if room < 1:
        raise UserError("places_left", value=left, model=decoder.name, n=decoder.shape.context)
    ids = decoder.check_ids(ids)
    return Edge(decoder, (ids * (room // len(ids) + 1))[:room], asked)


@dataclass(frozen=True)
class Shifted:
    """What dropping the first token does to K and V of the others: the largest |Δ|, and their median |entry|.

    `sample` is the last token's key, before and after, in the layer and head where it turns most: [2, d_k].
    """

    moved: float
    typical: float
    layer: int
    sample: Tensor


def shifted(decoder: Decoder, ids: Sequence[int]) -> Shifted:
    """Read the text, then again without its first token, and compare what a cache would hold."""
    before, after = all_rows(decoder, ids), all_rows(decoder, ids[1:])
    moved = {layer: gap((k[:, 1:], v[:, 1:]), after[layer]) for layer, (k, v) in before.items()}
    layer = max(before, key=lambda n: _turn(before[n][0], after[n][0]).max())
    head = int(_turn(before[layer][0], after[layer][0]).argmax())
    return Shifted(
        moved=max(float(positions.max()) for positions in moved.values()),
        typical=float(torch.cat([part.flatten() for pair in before.values() for part in pair]).abs().median()),
        layer=layer,
        sample=torch.stack([before[layer][0][head, -1], after[layer][0][head, -1]]),
    )


def _turn(before: Tensor, after: Tensor) -> Tensor:
    """How far the last position's key moved, as a share of its length, for each head of K [h_kv, T, d_k]."""
    last = before[:, -1]
    return (last - after[:, -1]).norm(dim=-1) / last.norm(dim=-1).clamp_min(1e-12)  # [h_kv]

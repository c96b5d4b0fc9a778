"""What a forward pass gives, and what gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from gptviz.decoder.attention import CAUSAL, Inputs, MaskRule


@dataclass
class LayerAttention:
    """One layer's attention, [h, T, T] each, float32: scores before the mask, weights after mask and softmax."""

    scores: Tensor
    weights: Tensor


@dataclass
class Run:
    """What one forward pass gave: logits [T, V] in float32 (or [1, V]), and what was asked to be kept."""

    ids: list[int]
    logits: Tensor
    rule: MaskRule = CAUSAL
    residual: Tensor | None = None  # [L+1, T, d]: after the embedding and after each block, before the final norm
    attention: dict[int, LayerAttention] = field(default_factory=dict)
    inputs: dict[int, Inputs] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """What keeping it costs."""
        return sum(tensor.nbytes for tensor in self._tensors())

    def _tensors(self) -> Iterator[Tensor]:
        yield self.logits
        if self.residual is not None:
            yield self.residual
        for layer in self.attention.values():
            yield from (layer.scores, layer.weights)
        for given in self.inputs.values():
            yield from (given.query, given.key, given.value)


class Runs(Protocol):
    """Something that gives the Run of a text: `Decoder.run` itself, or a cache of runs in front of it."""

    def __call__(
        self,
        ids: Sequence[int],
        *,
        rule: MaskRule = CAUSAL,
        capture: Iterable[int] = (),
        residual: bool = False,
        last_only: bool = False,
        inputs: Iterable[int] = (),
        exact: bool = True,
    ) -> Run:
        """One forward pass over T tokens; what is named is kept, and more may be (with `last_only` all logits).

        Without `exact` it may be a row of a batch, which differs by rounding: never for a difference that must be 0.
        """


@dataclass(frozen=True)
class Underway:
    """A step of writing that is not done yet: how many blocks of its forward pass are."""

    index: int
    blocks: int


@dataclass(frozen=True)
class Step:
    """One generated token: its id, the logits [V] it was chosen from, and what the step cost."""

    index: int
    id: int
    logits: Tensor | None
    positions: int  # token positions run through the model in this step
    seconds: float
    cache_bytes: int

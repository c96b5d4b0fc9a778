"""What a forward pass gives: a Run of one text, a LayerAttention of a watched layer, a Step of writing."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from gptviz.decoder.attention import CAUSAL, Inputs, MaskRule


@dataclass
class LayerAttention:
    """One layer's attention, [h, T, T] each, float32: scores before the mask, weights after mask and softmax.

    `seen` [T, T] is the mask that was really used: True where a query may read a key. It is the library's own, a
    sliding window included, and under an open rule what that rule made of it.
    """

    scores: Tensor
    weights: Tensor
    seen: Tensor

    @property
    def nbytes(self) -> int:
        """What keeping it costs."""
        return self.scores.nbytes + self.weights.nbytes + self.seen.nbytes


@dataclass
class Run:
    """What one forward pass gave: logits [T, V] in float32 (or [1, V]), and what was asked to be kept."""

    ids: list[int]
    logits: Tensor
    rule: MaskRule = CAUSAL
    residual: Tensor | None = None  # [L+1, T, d]: after the embedding and after each block, before the final norm
    attention: dict[int, LayerAttention] = field(default_factory=dict)
    seen: dict[int, Tensor] = field(default_factory=dict)  # of every watched layer: bool [T, T], shared where equal
    inputs: dict[int, Inputs] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One generated token: its id, the logits [V] it was chosen from, and what the step cost."""

    index: int
    id: int
    logits: Tensor | None
    positions: int  # token positions run through the model in this step
    seconds: float
    cache_bytes: int
    expert_bytes: int = 0  # of the experts that were read; 0 for a model without

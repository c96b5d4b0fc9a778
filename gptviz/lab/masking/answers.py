"""What a mask is worth to the guesses: the probability of every true next token, with the mask and without it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.lab.masking import leak


@dataclass(frozen=True)
class Answers:
    """Probability of each true next token under two masks, [T-1] float64 each; empty for a text of one token."""

    closed: Tensor
    changed: Tensor

    @property
    def rises(self) -> int:
        """How many true next tokens are likelier under the changed mask."""
        return int((self.changed > self.closed).sum())

    @property
    def losses(self) -> tuple[float, float]:
        """Mean of −ln p in nats, every mask closed and as changed; 0 for a text of one token."""
        if not len(self.closed):
            return 0.0, 0.0
        return float(-self.closed.log().mean()), float(-self.changed.log().mean())


def chances(decoder: Decoder, ids: list[int], rule: MaskRule = CAUSAL) -> Tensor:
    """The probability of each true next token under one mask: [T-1], float64."""
    if len(ids) < 2:
        return torch.zeros(0, dtype=torch.float64)
    logits = leak.finite(decoder.run(ids, rule=rule).logits, decoder)  # [T, V]
    return (-leak.surprisal(logits, ids)).exp()


def answers(decoder: Decoder, ids: list[int], rule: MaskRule) -> Answers:
    """The same text under every mask closed and under `rule`."""
    closed = chances(decoder, ids)
    return Answers(closed, closed if rule.is_causal else chances(decoder, ids, rule))

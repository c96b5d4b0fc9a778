"""The other forms in which pages show a prompt; a batch of them costs little more than one of them alone."""

from __future__ import annotations

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.lab.teaching.teacher_forcing import padded


def companions(decoder: Decoder, ids: list[int]) -> list[tuple[list[int], MaskRule]]:
    """Without a mask, under one that points the wrong way, and with padding after it."""
    return [
        (ids, MaskRule("none")),
        (ids, MaskRule("wrong_way")),
        (padded(decoder, ids), CAUSAL),
    ]

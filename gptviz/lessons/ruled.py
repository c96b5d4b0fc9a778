"""What the questions about masks begin with: a model, a text, and which layers may read what."""

from __future__ import annotations

from gptviz.decoder.attention import MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.lab.masking.leak import rule_of
from gptviz.service import Service


def ruled(
    service: Service, text: str, model: str, open_layers: list[int], direction: str, *, most: int | None = None
) -> tuple[Decoder, list[int], MaskRule]:
    """The decoder, the text's ids and the mask rule. UserError, before any work, for what cannot be."""
    decoder, ids = service.encode(text, model, most=most)
    return decoder, ids, rule_of(open_layers, direction, decoder.shape.layers)

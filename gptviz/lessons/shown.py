"""Tokens as a reader sees them."""

from __future__ import annotations

from collections.abc import Sequence

from gptviz.decoder.decoder import Decoder


def shown(decoder: Decoder, ids: Sequence[int]) -> list[str]:
    """The tokens in a form that a reader can see: a blank as ·, a line break as a sign."""
    return [token.shown for token in decoder.tokenizer.tokens(list(ids))]

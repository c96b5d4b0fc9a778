"""Switch heads off, or block single edges, and see what becomes of the next token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Runs


@dataclass(frozen=True)
class Ablation:
    """The next token's probabilities [V] (float64) before and after, and how far they are apart in nats."""

    before: Tensor
    after: Tensor
    kl: float


def edits_of(
    decoder: Decoder, T: int, heads: Sequence[Sequence[int]], edges: Sequence[Sequence[int]], mode: str
) -> Edits:
    """The edits an endpoint was asked for. UserError for a head, token or mode that is not there."""
    for name, rows, size in (("heads", heads, 2), ("edges", edges, 4)):
        for row in rows:
            if len(row) != size and name == "heads":
                raise UserError("entry_of_heads", value=row)
            if len(row) != size:
                raise UserError("entry_of_edges", value=row)
            decoder.check_layer(row[0])
            decoder.check_head(row[1])
            for token in row[2:]:
                if not 0 <= token < T:
                    raise UserError("edge_outside", value=row, last=T - 1)
    return Edits(
        frozenset((layer, head) for layer, head in heads),
        frozenset((layer, head, query, key) for layer, head, query, key in edges),
        mode,
    )


def ablate(decoder: Decoder, ids: list[int], edits: Edits, *, runs: Runs | None = None) -> Ablation:
    """The next token with and without the edits; with nothing edited both are bit-equal."""
    before = outcome(decoder, ids, runs=runs)
    after = outcome(decoder, ids, edits, runs=runs)
    return Ablation(before, after, divergence(before, after))


def outcome(decoder: Decoder, ids: list[int], edits: Edits | None = None, *, runs: Runs | None = None) -> Tensor:
    """The probabilities [V] of the next token, float64."""
    return (runs or decoder.run)(ids, last_only=True, edits=edits).logits[-1].double().softmax(-1)


def divergence(before: Tensor, after: Tensor) -> float:
    """KL(before ‖ after) in nats: 0 only where nothing changed."""
    held = before > 0
    return float((before[held] * (before[held].log() - after[held].log())).sum().clamp(min=0))

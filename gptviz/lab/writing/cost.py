"""Cost against length: operations and bytes, counted from a model's shapes; where attention outgrows the matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.cache_work import Meter

LONGEST = 10_000_000
MOST_LENGTHS = 200
LENGTHS = tuple(2**k for k in range(18))  # 1 to 131,072 tokens


@dataclass(frozen=True)
class Row:
    """One length. `flops` reads a text of so many tokens at once, `next_flops` and `bytes` write one token after it."""

    tokens: int
    flops: dict[str, int]  # matrices, attention, head
    next_flops: dict[str, int]
    bytes: dict[str, int]  # weights read once, keys and values of all tokens read


@dataclass(frozen=True)
class Cost:
    """Rows by length, and the first length at which the growing part is at least the other."""

    rows: list[Row]
    reading: int  # attention ≥ matrices, for a text read at once
    writing: int  # attention ≥ matrices, for one token more
    bytes: int  # cache ≥ weights

    def as_json(self) -> dict[str, Any]:
        """What /cost answers."""
        crossings = {"reading": self.reading, "writing": self.writing, "bytes": self.bytes}
        return {"rows": [dict(vars(row)) for row in self.rows], "crossing": self.reading, "crossings": crossings}


def cost(decoder: Decoder, lengths: Sequence[int] = LENGTHS) -> Cost:
    """Count for each length; lengths past the model's context are counted as if it read them. UserError on bad ones."""
    if not 1 <= len(lengths) <= MOST_LENGTHS:
        raise UserError(f"lengths has {len(lengths)} entries; it must have from 1 to {MOST_LENGTHS}.")
    for length in lengths:
        if not isinstance(length, int) or not 1 <= length <= LONGEST:
            raise UserError(f"An item of lengths is {length}; it must be a whole number from 1 to {LONGEST:,}.")
    meter = Meter(decoder)
    each, pair = meter.per_position, meter.per_pair
    return Cost(
        rows=[_row(meter, length) for length in lengths],
        reading=max(1, _up(2 * each, pair) - 1),  # pair · T(T+1)/2 ≥ each · T
        writing=max(1, _up(each, pair) - 1),  # pair · (T+1) ≥ each
        bytes=_up(meter.weight_bytes, meter.token_bytes),
    )


def _row(meter: Meter, T: int) -> Row:
    return Row(
        tokens=T,
        flops={
            "matrices": meter.per_position * T,
            "attention": meter.per_pair * (T * (T + 1) // 2),
            "head": meter.per_head,
        },
        next_flops={
            "matrices": meter.per_position,
            "attention": meter.per_pair * (T + 1),
            "head": meter.per_head,
        },
        bytes={"weights": meter.weight_bytes, "cache": T * meter.token_bytes},
    )


def _up(a: int, b: int) -> int:
    return -(-a // b)

"""Cost against length: operations and bytes, counted from a model's shapes; where attention outgrows the matrices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.work import Meter

LONGEST = 10_000_000
MOST_LENGTHS = 200
LENGTHS = tuple(2**k for k in range(18))  # 1 to 131,072 tokens


@dataclass(frozen=True)
class Row:
    """One length. `flops` reads a text of so many tokens at once, `next_flops` and `bytes` write one token after it."""

    tokens: int
    flops: dict[str, int]  # matrices, attention, head
    next_flops: dict[str, int]
    bytes: dict[str, int]  # weights read once, of experts the active ones; keys and values of all tokens kept


@dataclass(frozen=True)
class Cost:
    """Rows by length, and the first length at which the growing part is at least the other.

    0 where that is never, up to LONGEST tokens: a window bounds what grows.
    """

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
        raise UserError("lengths", n=len(lengths), most=MOST_LENGTHS)
    for length in lengths:
        if not isinstance(length, int) or not 1 <= length <= LONGEST:
            raise UserError("item_of_lengths", value=length, most=LONGEST)
    meter = Meter(decoder)
    return Cost(
        rows=[_row(meter, length) for length in lengths],
        reading=_first(lambda row: row.flops["attention"] >= row.flops["matrices"], meter),
        writing=_first(lambda row: row.next_flops["attention"] >= row.next_flops["matrices"], meter),
        bytes=_first(lambda row: row.bytes["cache"] >= row.bytes["weights"], meter),
    )


def _row(meter: Meter, T: int) -> Row:
    each, head = meter.per_position, meter.per_head
    return Row(
        tokens=T,
        flops={"matrices": each * T, "attention": meter.pairs(0, T), "head": head},
        next_flops={"matrices": each, "attention": meter.pairs(T, 1), "head": head},
        bytes={"weights": meter.weight_bytes + meter.expert_bytes(1), "cache": meter.cache_bytes(T)},
    )


def _first(holds: Callable[[Row], bool], meter: Meter) -> int:
    """The first length from which on it holds; it holds for every longer one, since each share only grows."""
    found = bisect_left(range(1, LONGEST + 1), True, key=lambda T: holds(_row(meter, T))) + 1
    return found if found <= LONGEST else 0

"""On what a comparison of two runs rests: what counts as unchanged on this model, and why."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder

PROBE_TOKENS = 17
DRAWS = 8  # texts beside which the probe is run
LENGTHS = (1, 2, 3, 4, 5, 6, 7, PROBE_TOKENS)  # short products are made in other ways than long ones
SHAPE_MARGIN = 10  # of the noise of other shapes seen in those: one text may meet a worse one
MARGIN = 3  # of the noise seen in those draws: another text may round a little worse
# Float noise as a share of the largest logit: three times and more what was measured on nano and SmolLM2-135M, prompts
# of 2 to 64 tokens (1.6e-6, 1.7e-2, 2e-3). One open layer moved float32 logits by 2e-3 and up.
NOISE = {torch.float32: 1e-5, torch.bfloat16: 6e-2, torch.float16: 7e-3}


@dataclass(frozen=True)
class Basis:
    """What counts as unchanged.

    `why` is "equal_shapes": two runs of one shape do the same sums, so unchanged means the same bits;
    "one_row": experts group rows by content, so each row is run by itself, and unchanged means the same bits again;
    "grouped": experts that cannot be run so, or whose rows depend on each other by more than rounding: a change must
    exceed the noise; "shorter": a shorter run rounds otherwise. `noise` is the largest |Δ| of a logit that grouping
    alone made on this model, the same text beside others in a batch (0 without experts), and for "shorter" what other
    shapes alone made; `tolerance` is the largest |Δ| that counts as unchanged.
    """

    why: str
    tolerance: float = 0.0
    noise: float = 0.0

    @property
    def one_row(self) -> bool:
        """Whether experts are to be run one row at a time."""
        return self.why == "one_row"


# By the model itself, not by its name: each is measured once.
_bases: WeakKeyDictionary[Decoder, Basis] = WeakKeyDictionary()
_shares: WeakKeyDictionary[Decoder, float] = WeakKeyDictionary()
_lock = threading.Lock()
Found = TypeVar("Found")


def _once(known: WeakKeyDictionary[Decoder, Found], decoder: Decoder, measure: Callable[[Decoder], Found]) -> Found:
    with _lock:
        found = known.get(decoder)
    if found is None:
        found = measure(decoder)
        with _lock:
            known[decoder] = found
    return found


def equal_shapes(decoder: Decoder) -> Basis:
    """The basis of two runs of equal shape on this model; the noise of experts is measured at the first call."""
    return _once(_bases, decoder, _measured)


def shorter(decoder: Decoder, logits: Tensor) -> Basis:
    """The basis of a run against a shorter one, whose sums are grouped otherwise; `logits` [T, V] are the long run's.

    A share of the largest logit: what the number format gave elsewhere, or what other shapes make on this very model
    where that is more, measured at the first call.
    """
    share, size = _once(_shares, decoder, _shape_share), max(1.0, float(logits.abs().max()))
    return Basis("shorter", max(NOISE[decoder.dtype], SHAPE_MARGIN * share) * size, share * size)


def _shape_share(decoder: Decoder) -> float:
    """How far logits move when a text runs beside a copy of itself: another shape, and no way to leak.

    As a share of the largest logit.
    """
    V = decoder.shape.vocabulary
    ids = torch.randint(0, V, (PROBE_TOKENS,), generator=torch.Generator().manual_seed(0)).tolist()
    one_row, noise, largest = equal_shapes(decoder).one_row, 0.0, 1.0
    for length in (n for n in LENGTHS if n <= decoder.shape.context):
        alone = decoder.run(ids[:length], one_row=one_row).logits  # [n, V]
        beside = decoder.batch([ids[:length]] * 2, one_row=one_row)[0].logits  # [n, V]
        noise, largest = max(noise, float((alone - beside).abs().max())), max(largest, float(alone.abs().max()))
    return noise / largest


def _measured(decoder: Decoder) -> Basis:
    if not decoder.experts.gathers:
        return Basis("equal_shapes")
    noise, largest = _grouping(decoder)
    limit = noise_of(decoder, largest)
    if noise > limit:  # no rounding: these experts let rows depend on each other, and that must not be hidden
        return Basis("grouped", limit, noise)
    return Basis("one_row", 0.0, noise) if decoder.experts.isolates else Basis("grouped", MARGIN * noise, noise)


def _grouping(decoder: Decoder) -> tuple[float, float]:
    """How far a text's logits move with the text that shares its batch, which no leak can do; and the largest logit.

    Half of the other texts say one token again and again, so that an expert has many rows or hardly any.
    """
    T, V = min(PROBE_TOKENS, decoder.shape.context), decoder.shape.vocabulary
    generator = torch.Generator().manual_seed(0)
    ids, *mates = torch.randint(0, V, (1 + DRAWS, T), generator=generator).tolist()
    mates += [[mate[0]] * T for mate in mates]
    found = torch.stack([decoder.batch([ids, mate])[0].logits for mate in mates])  # [2 DRAWS, T, V]
    spread = found.amax(0) - found.amin(0)  # [T, V]
    return float(spread.max()), float(found.abs().max())


def noise_of(decoder: Decoder, largest: float) -> float:
    """The |Δ| of a logit that is rounding in this number format, where the largest logit is so large."""
    return NOISE[decoder.dtype] * max(1.0, largest)

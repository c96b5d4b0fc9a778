"""On what a comparison of two runs rests: what counts as unchanged on this model, and why."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch

from gptviz.decoder.decoder import Decoder

PROBE_TOKENS = 17
DRAWS = 8  # texts beside which the probe is run
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
    alone made on this model, the same text beside others in a batch (0 without experts), `tolerance` the largest |Δ|
    that counts as unchanged.
    """

    why: str
    tolerance: float = 0.0
    noise: float = 0.0

    @property
    def one_row(self) -> bool:
        """Whether experts are to be run one row at a time."""
        return self.why == "one_row"


_known: WeakKeyDictionary[Decoder, Basis] = WeakKeyDictionary()  # by the model itself: it is measured once
_lock = threading.Lock()


def equal_shapes(decoder: Decoder) -> Basis:
    """The basis of two runs of equal shape on this model; the noise of experts is measured at the first call."""
    with _lock:
        found = _known.get(decoder)
    if found is None:
        found = _measured(decoder)
        with _lock:
            _known[decoder] = found
    return found


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

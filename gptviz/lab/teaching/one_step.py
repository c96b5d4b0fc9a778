"""One step of learning on one text, on a copy of the model: how surprised it was before, and is afterwards."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.teaching.teacher_forcing import shift

LARGEST_RATE = 1.0


@dataclass(frozen=True)
class Learned:
    """−ln p [T − 1] of every token after the first, before and after; the gradient's length, and the time it took."""

    rate: float
    before: list[float]
    after: list[float]
    gradient: float
    seconds: float


def learn(decoder: Decoder, ids: Sequence[int], rate: float) -> Learned:
    """Every weight moves by −rate · (its slope of the mean loss), once; plain gradient descent in float32.

    The decoder's own model is left as it is. UserError below two tokens, or for a rate that is not from 0 to 1.
    """
    shift(ids)
    if not 0 < rate <= LARGEST_RATE:
        raise UserError("rate", value=rate, high=LARGEST_RATE)
    start = time.perf_counter()
    row = torch.tensor([decoder.check_ids(ids)], device=decoder.device)  # [1, T]
    with torch.inference_mode(False), torch.enable_grad():
        pupil = copy.deepcopy(decoder.model).float()
        weights = [p.requires_grad_() for p in pupil.parameters()]
        before = _nats(pupil, row)  # [T-1]
        slopes = torch.autograd.grad(before.mean(), weights, allow_unused=True)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes, strict=True):
            if slope is not None:
                weight.sub_(slope, alpha=rate)
        after = _nats(pupil, row)  # [T-1]
        length = torch.stack([s.norm() for s in slopes if s is not None]).norm()
    return Learned(rate, before.tolist(), after.tolist(), float(length), time.perf_counter() - start)


def _nats(model: nn.Module, row: Tensor) -> Tensor:
    logits = model(row, use_cache=False).logits[0, :-1].float()  # [T-1, V]
    return F.cross_entropy(logits, row[0, 1:], reduction="none")

"""−ln p of the tokens that came: the one place where a loss is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

IGNORE = -100  # the target that is left out, PyTorch's default ignore_index
ROWS = 128  # positions worked on at once in float64: 1,024 rows of 50,257 would take 400 MB each time


def surprisal(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """−ln p of each target in nats: [N] float64 from logits [N, V]; 0 where the target is IGNORE."""
    wanted = torch.tensor(list(targets), dtype=torch.long)
    parts = zip(logits.split(ROWS), wanted.split(ROWS), strict=True)
    return torch.cat(
        [F.cross_entropy(some.double(), ids, reduction="none", ignore_index=IGNORE) for some, ids in parts]
    )  # [N]


def perplexity(loss: float) -> float:
    """exp(loss): how many equal choices it feels like."""
    return math.exp(min(loss, 700.0))  # e^710 is too large for a float

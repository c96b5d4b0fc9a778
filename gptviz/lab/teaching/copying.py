"""The shift forgotten: two small models on tokens of pure chance, one of them scored on what it has just read.

Tokens drawn uniformly from V cannot be guessed, so an honest loss stays at ln V. A loss below that has been copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gptviz.decoder.gpt import Config, LongGPT

VOCABULARY, LENGTH = 16, 16
FLOOR = math.log(VOCABULARY)  # nats per token: the true entropy
STEPS = 150


@dataclass
class Race:
    """Both models as far as they are: the losses of every step, in nats per token, and what chance allows."""

    floor: float = FLOOR
    vocabulary: int = VOCABULARY
    steps: list[int] = field(default_factory=list)
    shifted: list[float] = field(default_factory=list)
    unshifted: list[float] = field(default_factory=list)


def race(steps: int = STEPS, seed: int = 0) -> Iterator[Race]:
    """Train both models on the same rows, one optimiser step each a time."""
    draws = torch.Generator().manual_seed(seed)
    honest, copier = _Pupil(seed, steps), _Pupil(seed, steps)
    state = Race()
    for step in range(1, steps + 1):
        rows = torch.randint(VOCABULARY, (32, LENGTH + 1), generator=draws)  # [B, T+1]
        inputs = rows[:, :-1]
        state.steps.append(step)
        state.shifted.append(honest.learn(inputs, rows[:, 1:]))
        state.unshifted.append(copier.learn(inputs, inputs))
        yield state


class _Pupil:
    def __init__(self, seed: int, steps: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = LongGPT(Config(VOCABULARY, LENGTH, width=32, heads=2, layers=1))
            for p in self.model.parameters():
                if p.dim() == 2:
                    nn.init.normal_(p, 0.0, 0.02)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.plan = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 1e-2, total_steps=steps)

    def learn(self, inputs: Tensor, targets: Tensor) -> float:
        loss = F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())  # [B·T, V] against [B·T]
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.plan.step()
        return loss.item()

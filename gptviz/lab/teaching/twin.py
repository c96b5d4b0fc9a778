"""One of the twins: how it is made, what it is asked to predict, and one step of its training."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gptviz.decoder.gpt import Config, LongGPT
from gptviz.lab.teaching.grammar import LENGTH, WORDS

VARIANTS = {"open": "none", "wrong_way": "wrong_way", "unshifted": "causal"}  # -> the mask of the other twin
MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class Recipe:
    """How both twins are trained; found by trying, the same for every seed, variant and kind of data."""

    steps: int = 400
    batch: int = 32
    rate: float = 1e-2  # the peak of the one-cycle schedule
    warm: float = 0.1  # share of the steps spent climbing to it
    clip: float = 1.0  # largest norm of a gradient
    layers: int = 2
    width: int = 64
    heads: int = 4

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step: a straight climb, then half a cosine down to zero."""
        top = max(1.0, self.warm * steps)
        if step < top:
            return self.rate * (step + 1) / top
        return self.rate * 0.5 * (1 + cos(pi * (step - top) / (steps - top)))

    @property
    def config(self) -> Config:
        """The shape of both models."""
        return Config(len(WORDS), 1 + LENGTH, self.width, self.heads, self.layers)

    @property
    def parameters(self) -> int:
        """How many numbers each twin learns."""
        with torch.device("meta"):
            return sum(p.numel() for p in LongGPT(self.config).parameters())


RECIPE = Recipe()


class Twin:
    """One of the two while it trains: a model, what it is asked to predict, and its losses so far."""

    def __init__(self, recipe: Recipe, mask: str, *, shifted: bool) -> None:
        self.recipe, self.shifted = recipe, shifted
        self.model = LongGPT(recipe.config, mask)
        self.losses: list[float] = []
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.0, fused=True
        )

    def token_losses(self, ids: Tensor) -> Tensor:
        """Cross-entropy [B, T] of each predicted token for ids [B, T+1], in nats.

        The whole row goes in, as in most training code, and the last logits are dropped: they have no target.
        """
        logits = self.model(ids)[:, :-1]  # [B, T, V]
        targets = ids[:, 1:] if self.shifted else ids[:, :-1]  # unshifted: asked for what it has just been given
        return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")

    def step(self, ids: Tensor, rate: float) -> None:
        """One step of training."""
        loss = self.token_losses(ids).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.losses.append(loss.item())


def initialise(model: LongGPT, generator: torch.Generator) -> None:
    """Weights from N(0, 1/d), less for the projections that write to the stream; zero biases.

    GPT-2's own 0.02 suits a width of 768. At a width of 64 it starts so near zero that for some seeds the
    heads do not find the word to repeat within a few hundred steps.
    """
    std = model.config.width**-0.5
    for name, p in model.named_parameters():
        if p.dim() == 2:
            shrink = (2 * model.config.layers) ** -0.5 if name.endswith("c_proj.weight") else 1.0
            nn.init.normal_(p, 0.0, std * shrink, generator=generator)
        elif name.endswith("bias"):
            nn.init.zeros_(p)

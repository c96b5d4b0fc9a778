"""Does a decoder without positions know the order of the words? One layer does not; a causal stack counts.

In one layer the last word sums over a set: two earlier words swapped are the same set. In two layers the second word
has read the first, or was read before it, so what stands there is another vector (Haviv et al., 2022, "Transformer
language models without positional encodings still learn positional information").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.errors import UserError
from gptviz.decoder.gpt import Config, LongGPT

DEPTHS = (1, 2, 4)
WIDTH, HEADS = 64, 4


@dataclass(frozen=True)
class Depth:
    """How far the last word's output moves when the first two words are swapped, in a random stack of `layers`.

    Largest |Δ| of the final vector [d], whose entries are of size 1; `with_positions` for the same weights with a
    position table, `size` the largest entry.
    """

    layers: int
    moved: float
    with_positions: float
    size: float


@dataclass(frozen=True)
class Order:
    """The swap in stacks of several depths; below `rounding` nothing has moved (float64)."""

    words: list[str]
    swapped: list[str]
    depths: list[Depth]
    rounding: float


@torch.inference_mode()
def order(words: Sequence[str], depths: Sequence[int] = DEPTHS, seed: int = 0) -> Order:
    """Swap the first two words and see what the last one notices, without positions and with.

    UserError for fewer than three words, or for two first ones that are the same.
    """
    words = list(words)
    if len(words) < 3:
        raise UserError("too_few_words", n=len(words))
    if words[0] == words[1]:
        raise UserError("same_words", value=words[0])
    swapped = [words[1], words[0], *words[2:]]
    known = {word: number for number, word in enumerate(dict.fromkeys(words))}
    batch = torch.tensor([[known[word] for word in some] for some in (words, swapped)])  # [2, T]
    found = [_depth(batch, layers, len(known), seed) for layers in depths]
    return Order(words, swapped, found, rounding=64 * torch.finfo(torch.float64).eps)


def _depth(batch: Tensor, layers: int, vocabulary: int, seed: int) -> Depth:
    generator = torch.Generator().manual_seed(seed)
    model = LongGPT(Config(vocabulary, batch.shape[1], WIDTH, HEADS, layers)).double().eval()
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            weight.normal_(0, 1.0 if name.startswith("wte") else WIDTH**-0.5, generator=generator)
        elif name.endswith("bias"):
            weight.zero_()
    last = _last(model, batch)  # [2, d]
    model.wpe.weight.zero_()
    without = _last(model, batch)  # [2, d]
    return Depth(
        layers=layers,
        moved=float((without[0] - without[1]).abs().max()),
        with_positions=float((last[0] - last[1]).abs().max()),
        size=float(without.abs().max()),
    )


def _last(model: LongGPT, batch: Tensor) -> Tensor:
    """The last word's vector after the final norm, each row by itself: [B, d] from [B, T]."""
    kept: list[Tensor] = []
    handle = model.ln_f.register_forward_hook(lambda module, args, out: kept.append(out[0, -1]))
    try:
        for row in batch:
            model(row[None])
    finally:
        handle.remove()
    return torch.stack(kept)

"""The decoder of `gpt.py`, read and checked: its two sources, and both against the library on the same weights."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gptviz.decoder import gpt
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Runs


@dataclass(frozen=True)
class Equality:
    """Largest |Δ| of any logit on one text, all three models holding the same weights."""

    model: str
    tokens: int
    dtype: str
    parameters: dict[str, int]  # of short, long and library, tied weights once
    short_library: float
    long_library: float
    short_long: float
    same_choices: bool  # all three prefer the same next token at every position


def sources() -> dict[str, str]:
    """The code of both implementations, as it runs."""
    long = (gpt.LongGPT, gpt.Block, gpt.Attention, gpt.FeedForward)
    return {"short": inspect.getsource(gpt.ShortGPT), "long": "\n\n".join(inspect.getsource(part) for part in long)}


def fits(decoder: Decoder) -> bool:
    """Whether the loaded model is a GPT-2, whose checkpoint both implementations can hold."""
    return decoder.model.config.model_type == "gpt2"


@torch.inference_mode()
def equality(decoder: Decoder, ids: Sequence[int], *, runs: Runs | None = None) -> Equality:
    """Give both implementations the loaded model's weights and compare all logits. UserError for another shape."""
    if not fits(decoder):
        raise UserError("no_gpt2", model=decoder.name)
    ids = decoder.check_ids(ids)
    short, long = pair(decoder)
    batch = torch.tensor([ids], device=decoder.device)
    logits = {
        "short": short(batch)[0].float().cpu(),
        "long": long(batch)[0].float().cpu(),
        "library": (runs or decoder.run)(ids).logits,
    }  # each [T, V]
    choices = [some.argmax(-1) for some in logits.values()]
    return Equality(
        model=decoder.name,
        tokens=len(ids),
        dtype=str(decoder.dtype).removeprefix("torch."),
        parameters={
            name: sum(p.numel() for p in model.parameters())
            for name, model in (("short", short), ("long", long), ("library", decoder.model))
        },
        short_library=_gap(logits["short"], logits["library"]),
        long_library=_gap(logits["long"], logits["library"]),
        short_long=_gap(logits["short"], logits["long"]),
        same_choices=all(torch.equal(choices[0], other) for other in choices[1:]),
    )


def pair(decoder: Decoder) -> tuple[nn.Module, nn.Module]:
    """Both implementations on the decoder's own weights; shared, not copied, where the layout allows it."""
    shape = decoder.shape
    config = gpt.Config(shape.vocabulary, shape.context, shape.width, shape.heads, shape.layers)
    with torch.device("meta"):
        short, long = gpt.ShortGPT(config), gpt.LongGPT(config)
    weights = gpt.from_gpt2(decoder.model.state_dict())
    long.load_state_dict(weights, assign=True)
    short.load_state_dict(gpt.as_short(weights), assign=True)
    for model in (short, long):
        model.lm_head.weight = model.wte.weight  # assigning names one by one has parted them
    return short.eval(), long.eval()


def _gap(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max())

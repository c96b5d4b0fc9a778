"""Where a head's output goes: the module W_O that turns all heads' outputs into what is added to the stream."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from gptviz.decoder.attention import Errand

PROBE = (0, 1, 2)


@torch.inference_mode()
def projections(model: PreTrainedModel, layers: list[nn.Module]) -> list[nn.Module | None]:
    """W_O of each layer, found by what goes through it; None where a head's part cannot be told from the others'.

    W_O is the module that is given the heads' outputs side by side, and nothing else. What it gives must be added to
    the stream as it is: a family that normalises or scales it first cannot be split into heads.
    """
    inside: list[dict[nn.Module, tuple[Tensor, Tensor]]] = [{} for _ in layers]  # module: (its input, its output)
    outer: list[tuple[Tensor, Tensor]] = []
    handles = []
    for index, layer in enumerate(layers):

        def note(module: nn.Module, args: Any, output: Any, index: int = index) -> None:
            if args and isinstance(args[0], Tensor):
                given = output[0] if isinstance(output, tuple) else output
                if isinstance(given, Tensor):
                    inside[index][module] = args[0], given

        def whole(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            entered = args[0] if args else kwargs["hidden_states"]
            outer.append((entered, output[0] if isinstance(output, tuple) else output))

        handles += [m.register_forward_hook(note) for m in layer.modules() if m is not layer]
        handles.append(layer.register_forward_hook(whole, with_kwargs=True))
    errand = Errand(keep_outputs=True)
    try:
        model(torch.tensor([PROBE], device=model.device), use_cache=False, errand=errand)
    finally:
        for handle in handles:
            handle.remove()
    return [
        _found(inside[index], errand.outputs[index], *outer[index]) if index in errand.outputs else None
        for index in range(len(layers))
    ]


def _found(
    inside: dict[nn.Module, tuple[Tensor, Tensor]], heads: Tensor, entered: Tensor, left: Tensor
) -> nn.Module | None:
    """The module that is given the heads' outputs [B, T, h, d_v] side by side and whose result joins the stream."""
    flat = heads.flatten(2)  # [B, T, h * d_v]
    for module, (given, gave) in inside.items():
        if given.shape == flat.shape and gave.shape == entered.shape and torch.equal(given, flat):
            return module if _joins(inside, module, gave, entered, left) else None
    return None


def _joins(
    inside: dict[nn.Module, tuple[Tensor, Tensor]], module: nn.Module, gave: Tensor, entered: Tensor, left: Tensor
) -> bool:
    """True when stream + W_O's output is what goes on: into the next module, or, with the block's other part, out."""
    stream = entered + gave
    scale = 1e-4 if gave.dtype is torch.float32 else 2e-2

    def close(a: Tensor, b: Tensor) -> bool:
        if a.numel() != b.numel():
            return False
        a = a.reshape(b.shape)  # some families (OPT) flatten their rows in between
        return bool((a - b).abs().max() <= scale * b.abs().max())

    others = [pair for other, pair in inside.items() if other is not module]
    return any(close(given, stream) for given, _ in others) or any(close(out, left - stream) for _, out in others)

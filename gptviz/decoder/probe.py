"""What is asked of a model before it is used: that our attention reaches every layer, and changes nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from gptviz.decoder import attention
from gptviz.decoder.errors import UserError

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}  # of a logit, over the probe


def find_layers(model: PreTrainedModel) -> list[nn.Module]:
    """The L decoder blocks in order. UserError when the model has no such list."""
    count = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", None)
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and count is not None and len(module) == count:
            return list(module)
    raise UserError(f"{_kind(model)} has no list of decoder blocks, so gptviz cannot show it.")


@torch.inference_mode()
def verify(model: PreTrainedModel, layers: list[nn.Module]) -> None:
    """Switch the model to our attention and compare with the library's own on a few tokens.

    UserError, in one sentence, for an architecture that does not use the attention interface, that adds something
    to attention which the function does not know, or that would not be the same model any more.
    """
    kinds = set(getattr(model.config.get_text_config(decoder=True), "layer_types", None) or ["full_attention"])
    if not kinds <= {"full_attention", "sliding_attention"}:
        odd = ", ".join(sorted(kinds - {"full_attention", "sliding_attention"}))
        raise UserError(f"{_kind(model)} has layers of the kind {odd}; gptviz shows full and sliding attention only.")
    table: Any = model.get_input_embeddings()
    ids = torch.arange(7, device=model.device)[None] % table.weight.shape[0]  # [1, T]
    stock = model(ids, use_cache=False).logits  # [1, T, V]
    refusal = f"{_kind(model)} does not call attention through the library's interface, so gptviz cannot look inside."
    attention.register()
    try:
        model.set_attn_implementation(attention.NAME)
        lens = attention.Lens()
        ours = model(ids, use_cache=False, lens=lens).logits  # [1, T, V]
    except (TypeError, ValueError) as error:
        raise UserError(refusal) from error
    if lens.visited != set(range(len(layers))):
        raise UserError(refusal)
    difference = float((stock.float() - ours.float()).abs().max())
    if not difference <= TOLERANCE.get(model.dtype, 1e-3):
        raise UserError(
            f"{_kind(model)} adds something to attention that gptviz does not know: "
            f"its logits differ from the library's by {difference:.2g}."
        )


@torch.inference_mode()
def final_norm(model: PreTrainedModel, layers: list[nn.Module]) -> nn.Module:
    """The module that reads the last block's output: the norm before the LM head, whatever its name."""
    found: list[nn.Module] = []
    last: list[Tensor] = []
    handles = [
        layers[-1].register_forward_hook(lambda m, a, out: last.append(out if isinstance(out, Tensor) else out[0]))
    ]

    def watch(module: nn.Module, args: tuple[Any, ...]) -> None:
        if last and args and args[0] is last[0]:
            found.append(module)

    handles += [m.register_forward_pre_hook(watch) for m in model.modules()]
    try:
        model(torch.zeros(1, 1, dtype=torch.long, device=model.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else nn.Identity()


@torch.inference_mode()
def check_once(model: PreTrainedModel, layers: list[nn.Module]) -> None:
    """UserError for an architecture that runs a block more than once a pass: what is kept is kept once a layer."""
    runs: list[nn.Module] = []
    handles = [layer.register_forward_hook(lambda module, *_: runs.append(module)) for layer in layers]
    try:
        model(torch.zeros(1, 1, dtype=torch.long, device=model.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    if len(runs) != len(layers):
        raise UserError(
            f"{_kind(model)} has {len(layers)} blocks and runs {len(runs)} in one pass; gptviz shows decoders whose "
            "blocks run once each."
        )


def _kind(model: PreTrainedModel) -> str:
    return f'The architecture "{model.config.model_type}"'

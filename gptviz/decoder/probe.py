"""What is asked of a model before it is used: that our attention reaches every layer, and changes nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from gptviz.decoder import attention, masks
from gptviz.decoder.attention import Errand
from gptviz.decoder.errors import UserError
from gptviz.decoder.masks import Reach

KINDS = {"full_attention", "sliding_attention", "chunked_attention"}
# Of the largest logit: rounding only. What another order of the same sums gave on nano and SmolLM2-135M, three times
# and more (1.6e-6, 1.7e-2, 2e-3); a model that rounds more has its own measure, see `_rounding`.
SHARE = {torch.float32: 1e-5, torch.bfloat16: 6e-2, torch.float16: 7e-3}
WEIGHT = 1e-5  # of an attention weight, and of the largest value: one layer, in float32, on the same query and key
PROBE_TOKENS = 7


@dataclass(frozen=True)
class LayerFacts:
    """One layer's attention as its tensors have it, and what narrows it within the context."""

    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    reach: Reach


def find_layers(model: PreTrainedModel) -> list[nn.Module]:
    """The L decoder blocks in order. UserError when the model has no such list."""
    count = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", None)
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and count is not None and len(module) == count:
            return list(module)
    raise UserError("loading.architecture.no_blocks", kind=_kind(model))


@torch.inference_mode()
def verify(model: PreTrainedModel, layers: list[nn.Module]) -> list[LayerFacts]:
    """Switch the model to our attention and compare it with the library's own on a few tokens, watched and not.

    Returns what each layer's attention is. UserError, in one sentence, for an architecture that does not use the
    attention interface, that adds something to attention which the function does not know, or that would not be the
    same model any more.
    """
    config = model.config.get_text_config(decoder=True)
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if not kinds <= KINDS:
        raise UserError("loading.architecture.odd_layers", kind=_kind(model), odd=sorted(kinds - KINDS))
    table: Any = model.get_input_embeddings()
    ids = torch.arange(PROBE_TOKENS, device=model.device)[None] % table.weight.shape[0]  # [1, T]
    stock, rounding = _stock(model, ids)
    errand = Errand()
    attention.register()
    try:
        model.set_attn_implementation(attention.NAME)
        with masks.explained():  # every mask is made, so the logits of this pass are not compared
            model(ids, use_cache=False, errand=errand)
        ours = model(ids, use_cache=False, errand=Errand()).logits  # [1, T, V]
    except (TypeError, ValueError, AttributeError) as error:
        raise _refusal(model) from error
    if set(errand.visited) != set(range(len(layers))) or any(visit.calls > 1 for visit in errand.visited.values()):
        raise _refusal(model)
    for visit in errand.visited.values():
        if visit.mask is not None and (visit.mask.dtype is not torch.bool or visit.mask.shape[1] > 1):
            raise UserError("loading.architecture.own_masks", kind=_kind(model))
    _compare(model, stock, ours, rounding)
    _compare(model, stock, _watch(model, ids), rounding)
    context = getattr(config, "max_position_embeddings", None) or PROBE_TOKENS
    visits = [errand.visited[layer] for layer in range(len(layers))]
    return [
        LayerFacts(v.heads, v.kv_heads, v.key_width, v.value_width, masks.reach_of(v.mask, context)) for v in visits
    ]


def _stock(model: PreTrainedModel, ids: Tensor) -> tuple[Tensor, float]:
    """The library's own logits [1, T, V], and the largest |Δ| of a logit that is rounding on this very model.

    That is the difference between the library's own two ways to attend, or what its number format gave elsewhere.
    """
    logits = model(ids, use_cache=False).logits
    size = logits.float().abs().max().clamp(min=1.0)
    known = SHARE.get(model.dtype, 1e-5) * float(size)
    usual = model.config._attn_implementation
    try:
        model.set_attn_implementation("eager")
        other = model(ids, use_cache=False).logits
    except (ImportError, TypeError, ValueError):
        return logits, known
    finally:
        model.set_attn_implementation(usual)
    measured = float((logits.float() - other.float()).abs().max())
    return logits, max(known, 4 * measured) if math.isfinite(measured) else known


def _watch(model: PreTrainedModel, ids: Tensor) -> Tensor:
    """The logits [1, T, V] with every layer watched, each compared with the library's plain attention on its inputs."""
    shown: dict[int, tuple[Tensor, Tensor]] = {}
    gaps: list[float] = [0.0]

    def witness(module: nn.Module, layer: int, given: dict[str, Any], output: Tensor) -> None:
        gaps.append(_gap(module, given, *shown.pop(layer), output))

    errand = Errand(observe=lambda layer, scores, weights: shown.update({layer: (scores, weights)}), witness=witness)
    logits = model(ids, use_cache=False, errand=errand).logits
    if not all(gap <= WEIGHT for gap in gaps):  # a NaN is no agreement either
        raise UserError("loading.architecture.other_weights", kind=_kind(model), gap=max(gaps))
    return logits


def _gap(module: nn.Module, given: dict[str, Any], scores: Tensor, weights: Tensor, output: Tensor) -> float:
    """How far a watched layer is from its family's plain attention in float32, beyond rounding.

    The largest |Δ| of a weight, and of the output as a share of its largest value. 0 for a family that has no plain
    attention to compare with: its logits still are.
    """
    try:
        plain = attention.plain_attention(module)
    except AttributeError:
        return 0.0
    given = dict(given)
    query, key, value = (given.pop(name).float() for name in ("query", "key", "value"))
    mask = attention.additive(given.pop("seen"), query)
    given.pop("dropout", None)
    theirs, their_weights = plain(module, query, key, value, mask, dropout=0.0, **given)
    # A score of 1e5 is rounded to a hundredth, and a weight with it.
    fine = 4 * torch.finfo(torch.float32).eps * float(scores.abs().max())
    coarse = torch.finfo(output.dtype).eps if output.dtype is not torch.float32 else 0.0
    off = float((weights - their_weights.float()).abs().max())
    out = float((output.float() - theirs.float()).abs().max()) / max(1.0, float(theirs.abs().max()))
    return max(off - fine, out - fine - coarse)


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


def _compare(model: PreTrainedModel, stock: Tensor, ours: Tensor, rounding: float) -> None:
    """UserError where our logits are not the library's, or not finite where those are."""
    finite = stock.isfinite()
    difference = float((stock.float() - ours.float())[finite].abs().max()) if finite.any() else 0.0
    if not difference <= rounding:
        raise UserError("loading.architecture.other_logits", kind=_kind(model), gap=difference)


def _refusal(model: PreTrainedModel) -> UserError:
    return UserError("loading.architecture.no_interface", kind=_kind(model))


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
        raise UserError("loading.architecture.runs_again", kind=_kind(model), blocks=len(layers), runs=len(runs))


def _kind(model: PreTrainedModel) -> str:
    return str(model.config.model_type)

"""The sizes of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel

from gptviz.decoder.errors import UserError
from gptviz.decoder.probe import LayerFacts


@dataclass(frozen=True)
class Shape:
    """The sizes of a model: L layers, h heads, d width, C context, V vocabulary; tied weights counted once."""

    layers: int
    heads: int
    kv_heads: int
    width: int
    head_width: int
    context: int
    vocabulary: int
    parameters: int
    tied: bool


def shape_of(loaded: PreTrainedModel, facts: Sequence[LayerFacts]) -> Shape:
    """The sizes of a loaded model; those of its heads as its tensors have them (the first layer's, where they differ).

    UserError where its configuration states too little.
    """
    model: Any = loaded  # the library types its modules as Tensor | Module
    config = model.config.get_text_config(decoder=True)
    missing = [f for f in ("hidden_size", "max_position_embeddings") if not hasattr(config, f)]
    if missing:
        raise UserError("loading.architecture.states_no", kind=config.model_type, field=missing[0])
    first = facts[0]
    tokens, out = model.get_input_embeddings(), model.get_output_embeddings()
    return Shape(
        layers=config.num_hidden_layers,
        heads=first.heads,
        kv_heads=first.kv_heads,
        width=config.hidden_size,
        head_width=first.key_width,
        context=config.max_position_embeddings,
        vocabulary=tokens.weight.shape[0],
        parameters=sum(p.numel() for p in model.parameters()),
        tied=out.weight.data_ptr() == tokens.weight.data_ptr(),
    )


def within(what: str, value: int, count: int, name: str) -> int:
    """The value, if it is one of `count` things called `what`, numbered from 0. UserError otherwise."""
    if not 0 <= value < count:
        raise UserError("no_such_part", name=what, value=value, model=name, last=count - 1)
    return int(value)

"""The one attention function, registered with transformers: a mask rule per layer; scores and weights on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from gptviz.decoder.errors import UserError

NAME = "gptviz"
DIRECTIONS = ("causal", "none", "wrong_way")
Observer = Callable[[int, Tensor, Tensor], None]


@dataclass(frozen=True)
class MaskRule:
    """Which keys a query may see, layer by layer.

    `direction` is the pattern of the *open* layers: "causal", "none" or "wrong_way". `layers` names the open
    layers (None: every layer); all the others stay causal.
    """

    direction: str = "causal"
    layers: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UserError(f'direction is "{self.direction}"; it must be one of {", ".join(DIRECTIONS)}.')

    def pattern(self, layer: int) -> str:
        """The pattern of one layer: "causal", "none" or "wrong_way"."""
        return self.direction if self.layers is None or layer in self.layers else "causal"

    @property
    def is_causal(self) -> bool:
        """True when no layer reads the future."""
        return self.direction == "causal" or self.layers == frozenset()


CAUSAL = MaskRule()


@dataclass(frozen=True)
class Inputs:
    """What one layer's attention was given: query [h, T, d_k], key and value [h_kv, T, d_k], and its scaling."""

    query: Tensor
    key: Tensor
    value: Tensor
    scaling: float

    def row(self, b: int, T: int) -> Inputs:
        """The first T positions of row b, where the tensors are those of a whole batch [B, …]."""
        return Inputs(self.query[b, :, :T], self.key[b, :, :T], self.value[b, :, :T], self.scaling)


def allowed(pattern: str, Tq: int, Tk: int, device: torch.device | str = "cpu", window: int | None = None) -> Tensor:
    """Which key each query may read: bool [Tq, Tk].

    The last query is the last key (bottom-right alignment), so that one cached query sees every earlier key.
    `window` narrows the pattern to the nearest keys, for models with sliding-window layers.
    """
    query = torch.arange(Tk - Tq, Tk, device=device)[:, None]  # [Tq, 1]
    key = torch.arange(Tk, device=device)[None, :]  # [1, Tk]
    if pattern == "causal":
        seen = key <= query  # [Tq, Tk]
    elif pattern == "wrong_way":
        seen = key >= query
    else:
        seen = torch.ones(Tq, Tk, dtype=torch.bool, device=device)
    return seen if window is None else seen & ((query - key).abs() < window)


class Lens:
    """What one request asks of the attention: its mask rule, whom to show the weights, and the rows' real lengths.

    It travels as a keyword argument of the forward call, so that two requests never share state.
    """

    def __init__(
        self,
        rule: MaskRule | Sequence[MaskRule] = CAUSAL,
        observe: Observer | None = None,
        observed: Iterable[int] | None = None,
        lengths: Tensor | None = None,
        residual: bool = False,
        inputs: Iterable[int] = (),
    ) -> None:
        self.rules = [rule] if isinstance(rule, MaskRule) else list(rule)  # one for all rows, or one a row
        self.observe = observe
        self.observed = None if observed is None else frozenset(observed)
        self.lengths = lengths  # [B], only where rows are padded on the right
        self.residual: list[Tensor] | None = [] if residual else None  # L + 1 tensors [B, T, d]
        self.inputs: dict[int, Inputs | None] = dict.fromkeys(inputs)  # [B, …], filled for the layers asked for
        self.visited: set[int] = set()

    def watches(self, layer: int) -> bool:
        """True when the scores and weights of this layer are wanted."""
        return self.observe is not None and (self.observed is None or layer in self.observed)

    def mask(self, layer: int, Tq: int, Tk: int, device: torch.device, window: int | None) -> Tensor:
        """What each query may read in this layer: bool [1, 1, Tq, Tk], or [B, 1, Tq, Tk] where rows differ."""
        patterns = [allowed(rule.pattern(layer), Tq, Tk, device, window) for rule in self.rules]
        seen = torch.stack(patterns)[:, None]  # [1 or B, 1, Tq, Tk]
        if self.lengths is None:
            return seen
        key = torch.arange(Tk, device=device)
        real = key < self.lengths[:, None]  # [B, Tk]
        # A padded query reads itself only: an empty row would be NaN, and 0 * NaN would reach the real rows.
        itself = (key[None, :] == torch.arange(Tk - Tq, Tk, device=device)[:, None])[None, None]  # [1, 1, Tq, Tk]
        padded_query = ~real[:, Tk - Tq :]  # [B, Tq]
        return (seen & real[:, None, None, :]) | (itself & padded_query[:, None, :, None])  # [B, 1, Tq, Tk]


def attention(
    module: nn.Module,
    query: Tensor,  # [B, h, Tq, d_k]
    key: Tensor,  # [B, h_kv, Tk, d_k]
    value: Tensor,  # [B, h_kv, Tk, d_k]
    attention_mask: Tensor | None,
    scaling: float | None = None,
    lens: Lens | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention as every transformers decoder calls it; returns ([B, Tq, h, d_k], None).

    The output is the library's own scaled_dot_product_attention, bit for bit, whether somebody looks or not: the
    scores and weights of a watched layer are worked out beside it, in float32, and change nothing.
    """
    lens = Lens() if lens is None else lens
    layer = int(getattr(module, "layer_idx", 0))
    lens.visited.add(layer)
    Tq, Tk = query.shape[-2], key.shape[-2]
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    window = sliding_window if sliding_window is not None and sliding_window < Tk else None
    if layer in lens.inputs:
        lens.inputs[layer] = Inputs(query, key, value, scaling)
    if lens.watches(layer) or softcap is not None:
        seen = lens.mask(layer, Tq, Tk, query.device, window)  # [1 or B, 1, Tq, Tk]
        scores, weights = in_plain_sight(query, key, seen, scaling, softcap)
        if lens.watches(layer) and lens.observe is not None:
            lens.observe(layer, scores, weights)
        if softcap is not None:  # the library's function has no cap
            return (weights.to(value.dtype) @ _repeated(value, query)).transpose(1, 2).contiguous(), None
    mask, is_causal = _library_mask(lens, layer, Tq, Tk, query.device, window)
    dropout = kwargs.get("dropout", 0.0)
    output, _ = sdpa_attention_forward(
        module, query, key, value, mask, dropout=dropout, scaling=scaling, is_causal=is_causal
    )
    return output, None  # [B, Tq, h, d_k]


def in_plain_sight(
    query: Tensor, key: Tensor, seen: Tensor, scaling: float, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """Scores before the mask and weights after mask and softmax, [B, h, Tq, Tk] each, float32."""
    scores = (query @ _repeated(key, query).transpose(-2, -1)).float() * scaling  # [B, h, Tq, Tk]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return scores, scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)


def _repeated(shared: Tensor, query: Tensor) -> Tensor:
    """Grouped-query heads: each key/value head [B, h_kv, Tk, d_k] once for every query head it serves."""
    groups = query.shape[1] // shared.shape[1]
    return shared if groups == 1 else shared.repeat_interleave(groups, dim=1)  # [B, h, Tk, d_k]


def _library_mask(
    lens: Lens, layer: int, Tq: int, Tk: int, device: torch.device, window: int | None
) -> tuple[Tensor | None, bool]:
    """The mask as the library's function wants it: none at all where `is_causal` or its absence says the same."""
    if lens.lengths is None and window is None and len(lens.rules) == 1:
        pattern = lens.rules[0].pattern(layer)
        # `is_causal` aligns top-left: right for a whole prompt, wrong for a chunk that continues a cache.
        if pattern == "none" or (pattern == "causal" and (Tq == Tk or Tq == 1)):
            return None, pattern == "causal" and Tq == Tk
    return lens.mask(layer, Tq, Tk, device, window), False


def register() -> None:
    """Make the function known to transformers as `attn_implementation="gptviz"`; calling it twice does no harm."""
    AttentionInterface.register(NAME, attention)
    # The whole mask is ours: the library builds none.
    AttentionMaskInterface.register(NAME, lambda *args, **kwargs: None)

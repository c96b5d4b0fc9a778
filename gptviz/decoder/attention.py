"""The one attention function, registered with transformers: a mask rule per layer; scores and weights on request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from gptviz.decoder import masks
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError

NAME = "gptviz"
DIRECTIONS = ("causal", "none", "wrong_way")
PATTERNS = (*DIRECTIONS, "blocks")  # and a mistake that real code has made: open inside blocks of BLOCK tokens
BLOCK = 4
Observer = Callable[[int, Tensor, Tensor], None]
Witness = Callable[[nn.Module, int, dict[str, Any], Tensor], None]


@dataclass(frozen=True)
class MaskRule:
    """Which keys a query may see, layer by layer.

    `direction` is the pattern of the *open* layers: one of PATTERNS. `layers` names the open
    layers (None: every layer); all the others stay causal.
    """

    direction: str = "causal"
    layers: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if self.direction not in PATTERNS:
            raise UserError("one_of", name="direction", value=self.direction, allowed=PATTERNS)

    def pattern(self, layer: int) -> str:
        """The pattern of one layer, one of PATTERNS."""
        return self.direction if self.layers is None or layer in self.layers else "causal"

    @property
    def is_causal(self) -> bool:
        """True when no layer reads the future."""
        return self.direction == "causal" or self.layers == frozenset()


CAUSAL = MaskRule()


@dataclass(frozen=True)
class Inputs:
    """What one layer's attention was given: query [h, T, d_k], key [h_kv, T, d_k] and value [h_kv, T, d_v], its
    scaling, which key each query may read [T, T], and the bound of its scores where the family has one."""

    query: Tensor
    key: Tensor
    value: Tensor
    scaling: float
    seen: Tensor
    softcap: float | None = None

    def row(self, b: int, T: int) -> Inputs:
        """The first T positions of row b, where the tensors are those of a whole batch [B, …]."""
        seen = self.seen[b if self.seen.shape[0] > 1 else 0, 0, :T, :T]  # [T, T]
        query, key, value = (t[b, :, :T] for t in (self.query, self.key, self.value))
        return Inputs(query, key, value, self.scaling, seen, self.softcap)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All that is kept."""
        return self.query, self.key, self.value, self.seen


def allowed(pattern: str, Tq: int, Tk: int, device: torch.device | str = "cpu") -> Tensor:
    """Which key each query may read where nothing narrows the layer: bool [Tq, Tk].

    The last query is the last key (bottom-right alignment), so that one cached query sees every earlier key.
    """
    query = torch.arange(Tk - Tq, Tk, device=device)[:, None]  # [Tq, 1]
    key = torch.arange(Tk, device=device)[None, :]  # [1, Tk]
    if pattern == "causal":
        return key <= query  # [Tq, Tk]
    if pattern == "wrong_way":
        return key >= query
    if pattern == "blocks":
        return key // BLOCK <= query // BLOCK
    return torch.ones(Tq, Tk, dtype=torch.bool, device=device)


def turned(mask: Tensor, pattern: str) -> Tensor:
    """The library's causal mask [..., T, T] under another pattern, whatever narrows it kept.

    Opened, a layer reads as far ahead as it reads back: the mask and its mirror. A sliding window stays a window.
    """
    mirror = mask.transpose(-2, -1)
    if pattern == "blocks":
        T = mask.shape[-1]
        return mask | (mirror & allowed("blocks", T, T, mask.device))
    return mask if pattern == "causal" else mirror if pattern == "wrong_way" else mask | mirror


class Errand:
    """What one forward pass is sent for: its mask rule, what it changes, whom it shows the weights, what it keeps.

    It travels through the model as a keyword argument of the forward call, so that two passes never share state, and
    comes back with what was asked for.
    """

    def __init__(
        self,
        rule: MaskRule | Sequence[MaskRule] = CAUSAL,
        observe: Observer | None = None,
        observed: Iterable[int] | None = None,
        lengths: Tensor | None = None,
        residual: bool = False,
        inputs: Iterable[int] = (),
        edits: Edits | None = None,
        keep_outputs: bool = False,
        witness: Witness | None = None,
    ) -> None:
        self.rules = [rule] if isinstance(rule, MaskRule) else list(rule)  # one for all rows, or one a row
        self.edits = edits
        self.outputs: dict[int, Tensor] = {}  # of each layer's heads, [B, T, h, d_v], where they are kept
        self.keep_outputs = keep_outputs
        self.observe = observe
        self.observed = None if observed is None else frozenset(observed)
        self.lengths = lengths  # [B], only where rows are padded on the right
        self.residual: list[Tensor] | None = [] if residual else None  # L + 1 tensors [B, T, d]
        self.inputs: dict[int, Inputs | None] = dict.fromkeys(inputs)  # [B, …], filled for the layers asked for
        self.witness = witness  # told what a watched layer was given and what it gave, for the check at loading
        self.visited: dict[int, Visit] = {}
        self.seen: dict[int, Tensor] = {}  # of the watched layers: which key each query read, bool [T, T]
        self._first: dict[int, Tensor] = {}
        self._made: dict[tuple[Any, ...], tuple[Tensor | None, Tensor]] = {}  # layers with one mask share it

    def watches(self, layer: int) -> bool:
        """True when the scores and weights of this layer are wanted."""
        return self.observe is not None and (self.observed is None or layer in self.observed)

    def patterns(self, layer: int) -> tuple[str, ...]:
        """The pattern of this layer, of each row where rows differ."""
        found = tuple(rule.pattern(layer) for rule in self.rules)
        return found[:1] if len(set(found)) == 1 else found

    def first_of(self, seen: Tensor) -> Tensor:
        """The mask [T, T] of the first row; one tensor for all layers that share a mask."""
        return self._first.setdefault(id(seen), seen[0, 0])

    def mask(self, layer: int, given: Tensor | None, is_causal: bool, Tq: int, Tk: int, device: torch.device) -> Tensor:
        """What each query reads in this layer, bool [1 or B, 1, Tq, Tk]; `given` is the library's own mask, if any."""
        patterns = self.patterns(layer)
        key = (id(given), patterns, is_causal, Tk)
        if key not in self._made:  # the mask is kept with its result, so that its id stays its own
            self._made[key] = given, self._mask(patterns, given, is_causal, Tq, Tk, device)
        return self._made[key][1]

    def _mask(
        self, patterns: tuple[str, ...], given: Tensor | None, is_causal: bool, Tq: int, Tk: int, device: torch.device
    ) -> Tensor:
        rows: list[Tensor | None] = [given] * len(patterns)
        if given is not None and len(patterns) > 1:
            rows = list(given.expand(len(patterns), -1, -1, -1).split(1))  # B of [1, 1, Tq, Tk]
        each = [_seen(*row, is_causal, Tq, Tk, device) for row in zip(patterns, rows, strict=True)]
        seen = each[0] if len(each) == 1 else torch.cat(each)  # [1 or B, 1, Tq, Tk]
        if self.lengths is None:
            return seen
        position = torch.arange(Tk, device=device)
        real = position < self.lengths[:, None]  # [B, Tk]
        # A padded query reads itself only: an empty row would be NaN, and 0 * NaN would reach the real rows.
        itself = (position[None, :] == torch.arange(Tk - Tq, Tk, device=device)[:, None])[None, None]  # [1, 1, Tq, Tk]
        padded_query = ~real[:, Tk - Tq :]  # [B, Tq]
        return (seen & real[:, None, None, :]) | (itself & padded_query[:, None, :, None])  # [B, 1, Tq, Tk]


def _seen(pattern: str, given: Tensor | None, is_causal: bool, Tq: int, Tk: int, device: torch.device) -> Tensor:
    """What each query reads under one pattern, [1 or B, 1, Tq, Tk], where no row is padded."""
    if given is not None and Tq == Tk:
        return turned(given, pattern)  # [1 or B, 1, T, T]
    whole = "none" if pattern == "causal" and not is_causal and Tq > 1 else pattern
    return allowed(whole, Tq, Tk, device)[None, None] if given is None or pattern != "causal" else given


@dataclass(frozen=True)
class Visit:
    """What a layer's attention was called with: sizes from its tensors, the library's mask, and how often."""

    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    mask: Tensor | None
    calls: int = 1


def attention(
    module: nn.Module,
    query: Tensor,  # [B, h, Tq, d_k]
    key: Tensor,  # [B, h_kv, Tk, d_k]
    value: Tensor,  # [B, h_kv, Tk, d_v]
    attention_mask: Tensor | None,
    scaling: float | None = None,
    errand: Errand | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention as every transformers decoder calls it; returns ([B, Tq, h, d_v], None).

    `attention_mask` is the library's own, made by its `sdpa_mask`: None where a plain triangle says the same. The
    output is that of the library's own function, bit for bit, whether somebody looks or not: the scores and weights
    of a watched layer are worked out beside it, in float32, and change nothing.
    """
    errand = Errand() if errand is None else errand
    layer = int(getattr(module, "layer_idx", 0))
    _note(errand, layer, query, key, value, attention_mask)
    Tq, Tk = query.shape[-2], key.shape[-2]
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    is_causal = kwargs.get("is_causal")
    is_causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)

    def seen() -> Tensor:
        return errand.mask(layer, attention_mask, is_causal, Tq, Tk, query.device)  # [1 or B, 1, Tq, Tk]

    if layer in errand.inputs:
        errand.inputs[layer] = Inputs(query, key, value, scaling, seen(), softcap)
    if errand.watches(layer):
        weights = _watched(errand, layer, query, key, seen(), scaling, softcap)
        if errand.witness is not None:
            given = {"query": query, "key": key, "value": value, "seen": seen(), "scaling": scaling, "softcap": softcap}
            errand.witness(module, layer, {**kwargs, **given}, _weighted(weights, value))
    plain = errand.lengths is None and errand.patterns(layer) == ("causal",)
    mask = attention_mask if plain else _open_mask(errand, layer, attention_mask, seen)
    opened = not plain and mask is None
    dropout = kwargs.get("dropout", 0.0)
    if softcap is not None:  # the library's fast function knows no bound: it goes through its plain one
        return plain_attention(module)(
            module, query, key, value, additive(seen(), query), scaling=scaling, dropout=dropout, softcap=softcap
        )[0], None
    output, _ = sdpa_attention_forward(
        module, query, key, value, mask, dropout=dropout, scaling=scaling, is_causal=False if opened else is_causal
    )
    return output, None


def _watched(
    errand: Errand,
    layer: int,
    query: Tensor,
    key: Tensor,
    seen: Tensor,
    scaling: float,
    softcap: float | None,
) -> Tensor:
    """Scores, mask and softmax in float32, shown to the observer; the weights [B, h, Tq, Tk].

    The product of queries and keys is made in float32 too: in 16 bits a score may be infinite where the fused
    function, which never writes it down, is finite.
    """
    key = _repeated(key, query.shape[1])  # [B, h, Tk, d_k]
    scores = (query.float() @ key.float().transpose(-2, -1)) * scaling  # [B, h, Tq, Tk]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)  # [B, h, Tq, Tk]
    errand.seen[layer] = errand.first_of(seen)
    if errand.observe is not None:
        errand.observe(layer, scores, weights)
    return weights


def _weighted(weights: Tensor, value: Tensor) -> Tensor:
    """What the weights [B, h, Tq, Tk] read of the values, in float32 but for the result: [B, Tq, h, d_v]."""
    read = weights @ _repeated(value, weights.shape[1]).float()  # [B, h, Tq, d_v]
    return read.to(value.dtype).transpose(1, 2).contiguous()


def _repeated(shared: Tensor, heads: int) -> Tensor:
    """Grouped-query heads: each key/value head [B, h_kv, Tk, d] once for every query head that it serves."""
    groups = heads // shared.shape[1]
    return shared if groups == 1 else shared.repeat_interleave(groups, dim=1)  # [B, h, Tk, d]


def _open_mask(errand: Errand, layer: int, given: Tensor | None, seen: Callable[[], Tensor]) -> Tensor | None:
    """The mask of an opened layer or of padded rows as the library's function wants it: None where all is read."""
    everything = errand.lengths is None and given is None and errand.patterns(layer) == ("none",)
    return None if everything else seen()


def additive(seen: Tensor, like: Tensor) -> Tensor:
    """A bool mask as the library's plain function wants it: 0 and the least number of the format."""
    return torch.zeros((), dtype=like.dtype, device=like.device).where(seen, torch.finfo(like.dtype).min)


def plain_attention(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """The library's plain attention as this module's family writes it: (output, weights). AttributeError for none."""
    found: Callable[..., tuple[Tensor, Tensor]] = sys.modules[type(module).__module__].eager_attention_forward
    return found


def _note(errand: Errand, layer: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    before = errand.visited.get(layer)
    sizes = (query.shape[1], key.shape[1], key.shape[-1], value.shape[-1])
    errand.visited[layer] = Visit(*sizes, mask, 1 if before is None else before.calls + 1)


def edited_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    errand: Errand | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """`attention`, and after it what an errand changes of the heads' outputs, before W_O."""
    output, _ = attention(module, query, key, value, attention_mask, errand=errand, **kwargs)
    if errand is None:
        return output, None
    layer = int(getattr(module, "layer_idx", 0))
    if errand.edits:
        causal = kwargs.get("is_causal")
        causal = bool(getattr(module, "is_causal", True) if causal is None else causal)

        def scores(head: int, at: int) -> Tensor:
            seen = errand.mask(layer, attention_mask, causal, query.shape[-2], key.shape[-2], query.device)
            return _row(head, at, query, key, kwargs).masked_fill(~seen[:, 0, at], float("-inf"))  # [B, Tk]

        output = errand.edits.apply(layer, output, scores, value)
    if errand.keep_outputs:
        errand.outputs[layer] = output
    return output, None


def _row(head: int, at: int, query: Tensor, key: Tensor, kwargs: dict[str, Any]) -> Tensor:
    """One query's scores of one head, before the mask: [B, Tk], float32."""
    scaling, softcap = kwargs.get("scaling"), kwargs.get("softcap")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    group = head // (query.shape[1] // key.shape[1])
    row = torch.einsum("bd,bkd->bk", query[:, head, at].float(), key[:, group].float()) * scaling
    return row if softcap is None else softcap * torch.tanh(row / softcap)


def register() -> None:
    """Make the function known to transformers as `attn_implementation="gptviz"`; calling it twice does no harm."""
    AttentionInterface.register(NAME, edited_attention)
    AttentionMaskInterface.register(NAME, masks.library_mask)

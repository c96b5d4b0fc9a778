"""What a forward pass gives, and what gives it: a Run of one text, a LayerAttention of a layer, a Step of writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, Protocol, TypedDict, Unpack

from torch import Tensor, nn

from gptviz.decoder.attention import CAUSAL, Inputs, MaskRule
from gptviz.decoder.edits import Edits


@dataclass
class LayerAttention:
    """One layer's attention, [h, T, T] each, float32: scores before the mask, weights after mask and softmax.

    `seen` [T, T] is the mask that was really used: True where a query may read a key. It is the library's own, a
    sliding window included, and under an open rule what that rule made of it.
    """

    scores: Tensor
    weights: Tensor
    seen: Tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All that is kept."""
        return self.scores, self.weights, self.seen

    @property
    def nbytes(self) -> int:
        """What keeping it costs."""
        return sum(tensor.nbytes for tensor in self.tensors)


@dataclass
class Run:
    """What one forward pass gave: logits [T, V] in float32 (or [1, V]), and what was asked to be kept."""

    ids: list[int]
    logits: Tensor
    rule: MaskRule = CAUSAL
    residual: Tensor | None = None  # [L+1, T, d]: after the embedding and after each block, before the final norm
    attention: dict[int, LayerAttention] = field(default_factory=dict)
    seen: dict[int, Tensor] = field(default_factory=dict)  # of every watched layer: bool [T, T], shared where equal
    inputs: dict[int, Inputs] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """What keeping it costs; a tensor that several share is counted once."""
        return sum(tensor.nbytes for tensor in {(t.data_ptr(), t.shape): t for t in self._tensors()}.values())

    def _tensors(self) -> Iterator[Tensor]:
        yield self.logits
        if self.residual is not None:
            yield self.residual
        yield from self.seen.values()
        for layer in self.attention.values():
            yield from layer.tensors
        for given in self.inputs.values():
            yield from given.tensors


class Wanted(TypedDict, total=False):
    """How a pass is made and what is kept of it; each as in `Decoder.run`, which has the defaults.

    Without `exact` it may be a row of a batch, which differs by rounding: never for a difference that must be 0.
    """

    rule: MaskRule
    capture: Iterable[int]
    residual: bool
    last_only: bool
    inputs: Iterable[int]
    one_row: bool
    edits: Edits | None
    exact: bool


class Runs(Protocol):
    """Something that gives the Run of a text: `Decoder.run` itself, or a cache of runs in front of it."""

    def __call__(self, ids: Sequence[int], **wanted: Unpack[Wanted]) -> Run:
        """One forward pass over T tokens; what is named is kept, and more may be (with `last_only` all logits)."""


PIECE_S = 0.2  # of one step, after which others may use the model; `Step.seconds` leaves their time out


class Extent(TypedDict):
    """How much is written, and how: stops after `max_new_tokens` or at the end of the context.

    Without a cache (True by default) the whole text runs again for each token; with it, the prompt runs once and each
    later step runs one position. `keep_logits` (True by default) keeps those that each token was chosen from.
    """

    max_new_tokens: int
    use_cache: NotRequired[bool]
    keep_logits: NotRequired[bool]


@dataclass(frozen=True)
class Underway:
    """A step of writing that is not done yet: how many blocks of its forward pass are."""

    index: int
    blocks: int


@dataclass(frozen=True)
class Step:
    """One generated token: its id, the logits [V] it was chosen from, and what the step cost."""

    index: int
    id: int
    logits: Tensor | None
    positions: int  # token positions run through the model in this step
    seconds: float
    cache_bytes: int
    expert_bytes: int = 0  # of the experts that were read; 0 for a model without


def keep_residual(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    """The hook of each block: its input and output, where an errand keeps the residual stream."""
    errand = kwargs.get("errand")
    if errand is None or errand.residual is None:
        return
    if not errand.residual:  # the first block's input is the embedding
        errand.residual.append((args[0] if args else kwargs["hidden_states"]).float())
    errand.residual.append((output[0] if isinstance(output, tuple) else output).float())


def on_cpu(masks: dict[int, Tensor]) -> dict[int, Tensor]:
    """The masks on the CPU, one tensor for all layers that share one."""
    moved = {id(mask): mask.cpu() for mask in masks.values()}
    return {layer: moved[id(mask)] for layer, mask in masks.items()}

"""A pass taken up again from any block: the blocks are called with what they were given, and another stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gptviz.decoder.attention import Errand
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.errors import UserError

NEAR = {torch.float32: 1e-4, torch.bfloat16: 6e-2, torch.float16: 7e-3}  # of the largest entry: rounding only


@dataclass(frozen=True)
class Put(Edits):
    """In one layer the heads' outputs [B, T, h, d_v] are these, whatever they would have been."""

    layer: int = -1
    output: Tensor | None = None

    def __bool__(self) -> bool:
        return self.output is not None

    def apply(self, layer: int, output: Tensor, scores: Callable[[int, int], Tensor], value: Tensor) -> Tensor:
        """The outputs that were put there, in their layer."""
        return output if layer != self.layer or self.output is None else self.output


class Replay:
    """One pass over a text, kept so that the part above any block can be run again for B changed streams at once.

    `stream` [L+1, T, d] and `outputs[l]` [T, h, d_v] are what the pass had, in the model's own format and place.
    UserError for a family that hands more from block to block than the stream.
    """

    @torch.inference_mode()
    def __init__(self, decoder: Decoder, ids: list[int]) -> None:
        self.decoder, self.ids = decoder, decoder.check_ids(ids)
        errand = Errand(residual=True, keep_outputs=True)
        self._calls: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        handles = [
            block.register_forward_pre_hook(self._note(layer, errand), with_kwargs=True)
            for layer, block in enumerate(decoder.layers)
        ]
        try:
            decoder.passes += 1
            decoder.model(torch.tensor([self.ids], device=decoder.device), use_cache=False, errand=errand)
        finally:
            for handle in handles:
                handle.remove()
        assert errand.residual is not None
        self.stream = torch.cat(errand.residual).to(decoder.dtype)  # [L+1, T, d]
        self.outputs = {layer: output[0] for layer, output in errand.outputs.items()}
        self._check()

    def _note(self, layer: int, errand: Errand) -> Callable[..., None]:
        def note(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if kwargs.get("errand") is errand:  # another pass may go by meanwhile
                self._calls[layer] = args, kwargs

        return note

    def _check(self) -> None:
        """The blocks, called again on two rows, must give the stream that they gave."""
        end = self.stream[-1]
        try:
            again = self.run(self.stream[:1].repeat(2, 1, 1), 0)
            off = float((again - end).abs().max()) / max(float(end.abs().max()), 1e-30)
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            raise UserError("no_replay", model=self.decoder.name) from error
        if not off <= NEAR.get(self.decoder.dtype, 1e-4):
            raise UserError("no_replay", model=self.decoder.name)

    @torch.inference_mode()
    def run(self, x: Tensor, first: int, put: Put | None = None) -> Tensor:
        """The streams x [B, T, d] that enter block `first`, as they leave the last block: [B, T, d]."""
        for layer in range(first, len(self.decoder.layers)):
            x = self.block(x, layer, put)
        return x

    @torch.inference_mode()
    def block(self, x: Tensor, layer: int, put: Put | None = None) -> Tensor:
        """The streams x [B, T, d] through one block."""
        args, kwargs = self._calls[layer]
        given = {**kwargs, "errand": Errand(edits=put)}
        if args:
            args = (x, *args[1:])
        else:
            given["hidden_states"] = x
        out = self.decoder.layers[layer](*args, **given)
        left: Tensor = out[0] if isinstance(out, tuple) else out
        return left

    @torch.inference_mode()
    def logits(self, x: Tensor) -> Tensor:
        """The logits [B, V] that the streams x [B, T, d] leave the last position with, float32 on the CPU."""
        return self.decoder.head(x[:, -1])

    @torch.inference_mode()
    def fed(self, layer: int) -> Tensor:
        """What a layer's feed-forward part added: [T, d]. UserError where it cannot be told from the heads' part."""
        projection = self.decoder.projections[layer]
        if projection is None:
            raise UserError("no_parts", model=self.decoder.name)
        heads: Tensor = projection(self.outputs[layer].flatten(1))  # [T, d]
        return self.stream[layer + 1] - self.stream[layer] - heads

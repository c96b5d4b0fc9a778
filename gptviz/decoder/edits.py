"""What may be changed in a pass: heads switched off, single edges blocked. Without an edit nothing is touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.errors import UserError

MODES = ("zero", "mean")


@dataclass(frozen=True)
class Edits:
    """Heads (layer, head) whose output before W_O is replaced, and edges (layer, head, query, key) that are blocked.

    `mode` says by what a head's output is replaced, at all positions: 0, or its mean over the positions. A blocked
    edge weighs exactly 0, and the rest of its row is scaled up, as softmax would have it.
    """

    heads: frozenset[tuple[int, int]] = frozenset()
    edges: frozenset[tuple[int, int, int, int]] = frozenset()
    mode: str = "zero"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UserError("one_of", name="mode", value=self.mode, allowed=MODES)

    def __bool__(self) -> bool:
        return bool(self.heads or self.edges)

    def apply(
        self, layer: int, output: Tensor, scores: Callable[[int, int], Tensor], value: Tensor
    ) -> Tensor:  # [B, Tq, h, d_v]
        """The output [B, Tq, h, d_v] of one layer's heads with the edits made.

        `scores(head, query)` are one row's masked scores [B, Tk], `value` is [B, h_kv, Tk, d_v].
        """
        off = sorted(head for at, head in self.heads if at == layer)
        rows: dict[tuple[int, int], list[int]] = {}
        for at, head, query, key in self.edges:
            if at == layer and (at, head) not in self.heads:
                rows.setdefault((head, query), []).append(key)
        if not off and not rows:
            return output
        output = output.clone()
        if off:
            part = output[:, :, off]  # [B, Tq, n, d_v]
            output[:, :, off] = torch.zeros_like(part) if self.mode == "zero" else part.mean(1, keepdim=True)
        groups = output.shape[2] // value.shape[1]
        for (head, query), keys in rows.items():
            row = scores(head, query).clone()  # [B, Tk]
            row[:, keys] = float("-inf")
            weights = row.softmax(-1).nan_to_num(0.0)  # a row with every key blocked reads nothing
            read = torch.einsum("bk,bkd->bd", weights, value[:, head // groups].float())
            output[:, query, head] = read.to(output.dtype)
        return output

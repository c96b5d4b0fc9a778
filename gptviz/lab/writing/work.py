"""What a forward pass costs, counted from the shapes of one model's tensors: positions, FLOPs, bytes, the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.masks import Reach


def positions(prompt: int, new: int, *, cached: bool) -> int:
    """Token positions run through the model to write `new` tokens after `prompt`, in closed form.

    Without a cache every step runs the whole text: NP + N(N−1)/2. With it the prompt runs once, then one position a
    step; the last token written is never run: P + N − 1.
    """
    if new == 0:
        return 0
    return prompt + new - 1 if cached else new * prompt + new * (new - 1) // 2


@dataclass(frozen=True)
class Work:
    """What a step, or several, did. `rows` are pairs of a K and a V row, one pair a position and layer."""

    positions: int = 0
    rows_computed: int = 0
    rows_reused: int = 0
    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.positions + other.positions,
            self.rows_computed + other.rows_computed,
            self.rows_reused + other.rows_reused,
            self.flops + other.flops,
            self.bytes + other.bytes,
        )


class Meter:
    """Counts a step's work from the shapes of one model's tensors; no size is taken from its configuration.

    FLOPs: two for each weight of a matrix and position, of experts the active ones; for each query-key pair that the
    mask permits, and each head, two for every entry of a key and of a value (scores and weighted sum; a dense product
    does about twice as many and throws half away); and the LM head once, since only the last position's logits are
    used. Norms, activations and softmax (below 1 %) are left out.

    Bytes: what has to move through memory at the least: every weight read once, of experts those that were read, the
    token rows, K and V of all positions kept, and the new rows written.
    """

    def __init__(self, decoder: Decoder) -> None:
        model: Any = decoder.model
        self.decoder, self.cache_rows, self.stacks = decoder, decoder.cache_rows, decoder.experts.stacks
        self.width = decoder.shape.width
        head = model.get_output_embeddings().weight  # [V, d]
        self.element = head.element_size()
        held = decoder.experts.modules
        dense = {
            id(p): p
            for module in model.modules()
            if not isinstance(module, nn.Embedding) and module not in held
            for p in module.parameters(recurse=False)
            if p is not head
        }
        self.per_position = 2 * sum(p.numel() for p in dense.values() if p.dim() == 2)
        self.per_position += 2 * sum(stack.active * stack.weights for stack in self.stacks)
        self.per_head = 2 * head.numel()
        self.weight_bytes = sum(p.numel() * p.element_size() for p in [*dense.values(), head])  # experts apart
        self.all_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
        self.token_bytes = sum(rows.bytes for rows in self.cache_rows)

    def pairs(self, past: int, fresh: int) -> int:
        """FLOPs of the attention of `fresh` positions after `past` others: 2 · h · (d_k + d_v) a pair and layer."""
        per_pair: dict[Reach, int] = {}
        for facts in self.decoder.facts:
            cost = 2 * facts.heads * (facts.key_width + facts.value_width)
            per_pair[facts.reach] = per_pair.get(facts.reach, 0) + cost
        return sum(cost * reach.pairs(past, fresh) for reach, cost in per_pair.items())

    def cache_bytes(self, positions: int) -> int:
        """What the cache weighs after so many positions; layers with a window keep no more than that."""
        return sum(rows.bytes * rows.held(positions) for rows in self.cache_rows)

    def expert_bytes(self, positions: int) -> int:
        """The most that experts can add to the bytes read: all active ones of every position, each expert once."""
        return sum(min(stack.count, stack.active * positions) * stack.bytes for stack in self.stacks)

    @property
    def formula(self) -> tuple[int, int, int, int] | None:
        """(L, h_kv, d_k, bytes of a number), where 2 · L · h_kv · d_k · bytes is what a token weighs; None where not.

        It is not where K and V differ in width, layers share rows or differ, or a window bounds what is kept.
        """
        shape = self.decoder.shape
        parts = (shape.layers, shape.kv_heads, shape.head_width, self.decoder.dtype.itemsize)
        each = 2 * parts[1] * parts[2] * parts[3]
        rows = self.cache_rows
        plain = len(rows) == shape.layers and all(row.bytes == each and row.most is None for row in rows)
        return parts if plain else None

    def step(self, past: int, fresh: int, expert_bytes: int | None = None) -> Work:
        """The work of running `fresh` positions after `past` others, for the logits of the last.

        `expert_bytes` is what the pass read of the experts, where it was counted; otherwise the most it can be, which
        for a single position is exact.
        """
        experts = self.expert_bytes(fresh) if expert_bytes is None else expert_bytes
        return Work(
            positions=fresh,
            rows_computed=fresh * len(self.cache_rows),
            rows_reused=sum(rows.held(past) for rows in self.cache_rows),
            flops=self.per_position * fresh + self.pairs(past, fresh) + self.per_head,
            bytes=self.weight_bytes
            + experts
            + fresh * self.width * self.element
            + self.cache_bytes(past)
            + 2 * fresh * self.token_bytes,
        )


def bytes_per_token(layers: int, kv_heads: int, head_width: int, element: int) -> int:
    """What the cache grows by with each token, K and V of one width: 2 · L · h_kv · d_k · bytes of a number."""
    return 2 * layers * kv_heads * head_width * element

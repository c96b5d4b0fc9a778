"""The route of an answer: which edges the stream of one token was made from, down to the token table.

After Ferrando and Voita, "Information Flow Routes" (2024). A place of the stream is a sum, made in two halves of a
layer: what stood there and what each head brings of each token, then that and what the feed-forward part adds. A
part's share is how much nearer it takes the sum: max(0, |sum| − |sum − part|) in the 1-norm, scaled so that the shares
of a half add up to 1. From the answer down, only edges with at least a given share are followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs
from gptviz.lab.looking.values import splittable, through

MOST = 256  # tokens: every head's vector for every pair of tokens on the route is made
LEAST = 0.01  # share below which an edge is not followed, if nobody says otherwise


@dataclass(frozen=True)
class Place:
    """One token after one layer: shares of both halves, each of which adds up to 1.

    `stayed` + `bias` + the sum of `edges` [h, q+1] is 1, and `middle` + `feed_forward` is 1.
    """

    stayed: float
    edges: Tensor  # [h, q+1], what each head brings of each key
    bias: float
    middle: float
    feed_forward: float


@dataclass(frozen=True)
class Edge:
    """What one head of a layer brings from a key's place to a query's."""

    layer: int
    head: int
    query: int
    key: int
    share: float


@dataclass(frozen=True)
class Own:
    """What a place that is on the route has of its own: what stood there, and the feed-forward part."""

    layer: int
    place: int
    stayed: float
    feed_forward: float


@dataclass(frozen=True)
class Routes:
    """All that is reached from one place at the top over edges of at least `least`."""

    position: int
    least: float
    edges: list[Edge]
    places: list[Own]


def shares(parts: Tensor, whole: Tensor) -> Tensor:
    """How much nearer each part [..., d] takes the sum [d], as shares of the total of all parts: [...]."""
    nearer = (whole.abs().sum() - (whole - parts).abs().sum(-1)).clamp(min=0)
    return nearer / nearer.sum().clamp(min=1e-30)


class Halves:
    """Places of one run, worked out as they are asked for; a layer's values go through W_O once."""

    def __init__(self, decoder: Decoder, run: Run) -> None:
        assert run.residual is not None
        self.decoder, self.run, self.stream = decoder, run, run.residual.double()
        self._brought: dict[int, tuple[Tensor, Tensor]] = {}

    def _of(self, layer: int) -> tuple[Tensor, Tensor]:
        """What each key's value is after W_O, [h, T, d] float64, and all that the heads add with the bias, [T, d]."""
        if layer not in self._brought:
            projection = splittable(self.decoder, layer)
            value, heads = self.run.inputs[layer].value, self.decoder.shape.heads  # [h_kv, T, d_v]
            shared = value.repeat_interleave(heads // value.shape[0], dim=0)  # [h, T, d_v]
            each = torch.stack([through(projection, shared[h], h, heads) for h in range(heads)])  # [h, T, d]
            mixed = self.run.attention[layer].weights.to(shared) @ shared  # [h, T, d_v]
            whole = projection(mixed.transpose(0, 1).flatten(1))  # [T, d]
            self._brought[layer] = each.double().cpu(), whole.double().cpu()
        return self._brought[layer]

    def place(self, layer: int, query: int) -> Place:
        """The shares of one token's stream after one layer."""
        each, added = self._of(layer)
        before, after = self.stream[layer, query], self.stream[layer + 1, query]  # [d]
        weights = self.run.attention[layer].weights[:, query, : query + 1].double()  # [h, q+1]
        brought = weights[..., None] * each[:, : query + 1]  # [h, q+1, d]
        middle = before + added[query]
        bias = added[query] - brought.sum((0, 1))
        first = shares(torch.cat([brought.flatten(0, 1), before[None], bias[None]]), middle)
        second = shares(torch.stack([middle, after - middle]), after)
        return Place(
            float(first[-2]), first[:-2].view(weights.shape), float(first[-1]), float(second[0]), float(second[1])
        )


@torch.inference_mode()
def routes(
    decoder: Decoder, ids: list[int], position: int = -1, least: float = LEAST, *, runs: Runs | None = None
) -> Routes:
    """The route to one token's stream at the top, over edges whose share is at least `least`.

    UserError for a position or share that cannot be, a text above MOST, and families whose parts are not added.
    """
    T, layers = len(ids), range(decoder.shape.layers)
    if T > MOST:
        raise UserError("routes_long", n=T, most=MOST)
    if not -T <= position < T:
        raise UserError("whole_between", name="position", value=position, low=-T, high=T - 1)
    if not 0 < least <= 1:
        raise UserError("number_between", name="least", value=least, low=0, high=1)
    for layer in layers:
        splittable(decoder, layer)
    run = (runs or decoder.run)(ids, capture=layers, inputs=layers, residual=True, last_only=True)
    halves = Halves(decoder, run)
    on, edges, places = {position % T}, [], []
    for layer in reversed(layers):
        below: set[int] = set()
        for query in sorted(on):
            found = halves.place(layer, query)
            places.append(Own(layer, query, found.stayed, found.feed_forward))
            for head, key in (found.edges >= least).nonzero().tolist():
                edges.append(Edge(layer, head, query, key, float(found.edges[head, key])))
                below.add(key)
            if found.stayed >= least:
                below.add(query)
        on = below
    return Routes(position % T, least, edges, places)

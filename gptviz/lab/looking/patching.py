"""Activation patching: one place of a run is copied from another text's run, and the rest of the model runs on.

Two texts of equal length differ in a few tokens and so in their answer. Copying what one place of the source run holds
(its stream after a layer, or what a layer's attention or feed-forward part adds there) into the run of the text shows
how much of the source's answer that place carries: a share of the difference of two logits, 0 as before, 1 all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.replay import Put, Replay

PARTS = ("stream", "attention", "feed_forward")
MOST = 64  # tokens: the work grows with their square
LEAST = 1e-4  # logits: with less between the two runs there is nothing to come back


@dataclass(frozen=True)
class Patching:
    """How much comes back, place by place, as far as it is known.

    `clean` and `corrupt` are the source's and the text's logit of `target` less that of `against`; matrix[l, t] is
    (patched − corrupt) / (clean − corrupt) with place t copied in layer l, NaN where it is not worked out yet. A
    place that holds the same bits in both runs, or cannot reach the answer, is exactly 0.
    """

    part: str
    target: int
    against: int
    clean: float
    corrupt: float
    matrix: Tensor  # [L, T]
    done: int  # layers, from the top


def patching(
    decoder: Decoder,
    ids: Sequence[int],
    source: Sequence[int],
    target: int | None = None,
    against: int | None = None,
    part: str = "stream",
) -> Iterator[Patching]:
    """The map layer by layer, from the last one down; the last state is the whole.

    Without a target it is the token that the source makes likeliest beyond the text, and `against` the other way
    round. UserError for texts that cannot be compared and families whose parts cannot be told apart.
    """
    check(ids, source, part)
    text, other = Replay(decoder, list(ids)), Replay(decoder, list(source))
    ours, theirs = text.logits(text.stream[-1:])[0].double(), other.logits(other.stream[-1:])[0].double()  # [V]
    gain = theirs.softmax(-1) - ours.softmax(-1)
    target = int(gain.argmax()) if target is None else target
    against = int(gain.argmin()) if against is None else against
    clean, corrupt = float(theirs[target] - theirs[against]), float(ours[target] - ours[against])
    if abs(clean - corrupt) < LEAST:
        raise UserError("patching_same")
    L, T = decoder.shape.layers, len(ids)
    matrix = torch.full((L, T), float("nan"), dtype=torch.float64)
    for layer in reversed(range(L)):
        row = _layer(text, other, layer, part)  # place: logits [V]
        matrix[layer] = 0.0
        for place, logits in row.items():
            difference = float(logits[target].double() - logits[against].double())
            matrix[layer, place] = (difference - corrupt) / (clean - corrupt)
        yield Patching(part, target, against, clean, corrupt, matrix.clone(), L - layer)


def check(ids: Sequence[int], source: Sequence[int], part: str) -> None:
    """UserError for a part that is not there, a text that is too long, and texts of other lengths or alike."""
    if part not in PARTS:
        raise UserError("one_of", name="part", value=part, allowed=PARTS)
    if len(source) != len(ids):
        raise UserError("patching_length", n=len(source), wanted=len(ids))
    if len(ids) > MOST:
        raise UserError("patching_long", n=len(ids), most=MOST)
    if list(ids) == list(source):
        raise UserError("patching_same")


@torch.inference_mode()
def _layer(text: Replay, other: Replay, layer: int, part: str) -> dict[int, Tensor]:
    """The last logits [V] with each place of one layer copied, where that can change them."""
    ours, theirs = _held(text, layer, part), _held(other, layer, part)  # [T, …]
    T, last = len(ours), layer == text.decoder.shape.layers - 1
    moved = (ours != theirs).flatten(1).any(-1).tolist()
    places = [t for t in range(T) if moved[t] and (not last or t == T - 1)]
    if not places:
        return {}
    rows = range(len(places))
    if part == "attention":
        outputs = ours.repeat(len(places), 1, 1, 1)  # [B, T, h, d_v]
        outputs[rows, places] = theirs[places]
        end = text.run(text.stream[layer].repeat(len(places), 1, 1), layer, Put(layer=layer, output=outputs))
    else:
        x = text.stream[layer + 1].repeat(len(places), 1, 1)  # [B, T, d]
        more = theirs[places] - ours[places] if part == "feed_forward" else None
        x[rows, places] = theirs[places] if more is None else x[rows, places] + more
        end = text.run(x, layer + 1)
    return dict(zip(places, text.logits(end), strict=True))


def _held(run: Replay, layer: int, part: str) -> Tensor:
    """What each place of a run holds: its stream after the layer [T, d], or what a part of the layer gave."""
    if part == "stream":
        return run.stream[layer + 1]
    return run.outputs[layer] if part == "attention" else run.fed(layer)

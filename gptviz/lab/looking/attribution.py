"""Which part made the answer: every head, feed-forward layer and the embedding as its share of a logit.

The stream that the head reads is a sum: embedding, what each head added, what each feed-forward layer added, biases.
The final norm's scale is held as it was for this text; then the logit is the same sum, part by part (direct logit
attribution). What a part does *through* later parts is not in its share: that is what switching it off shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.run import Run, Runs
from gptviz.lab.looking.values import splittable, through
from gptviz.lab.looking.watch import watch

MOST = 1_024  # tokens: keys and values of all layers are held at once
NOISE = 1e-4  # of W_O's output: less than this beside the heads is rounding, and not a bias
CLOSE = 1e-3  # of the logit: parts must add up to it, or the family is refused


@dataclass(frozen=True)
class Part:
    """One part and what it adds to the logit, or to the difference of two; `layer` and `head` are −1 where none."""

    kind: str  # "embedding", "head", "feed_forward" or "bias"
    layer: int
    head: int
    value: float
    length: float  # of the vector that it added to the stream


@dataclass(frozen=True)
class Attribution:
    """The parts in order of depth; their values sum to `sum`, which is `logit` up to rounding."""

    target: int
    against: int | None
    logit: float  # of the target, less that of `against`
    sum: float
    parts: list[Part]
    reads: Tensor  # [L, h] the key that each head's last row weighs most, the first one aside
    weight: Tensor  # [L, h] that weight


@torch.inference_mode()
def attribution(
    decoder: Decoder, ids: list[int], target: int | None = None, against: int | None = None, *, runs: Runs | None = None
) -> Attribution:
    """All parts of the last position's logit; target None is the likeliest token.

    UserError for a family whose parts are not simply added, or a text longer than MOST.
    """
    if len(ids) > MOST:
        raise UserError("parts_too_long", n=len(ids), most=MOST)
    last: dict[int, Tensor] = {}

    def look(layer: int, _: Tensor, weights: Tensor) -> None:
        last[layer] = weights[:, -1].cpu()  # [h, T]

    layers = range(decoder.shape.layers)
    run = watch(decoder, ids, look, inputs=layers, residual=True, runs=runs)
    logits = run.logits[-1]  # [V]
    target = int(logits.argmax()) if target is None else target
    direction = _direction(decoder, target, against)  # [d]
    norm = HeldNorm(decoder, _stream(run)[-1, -1])
    embedding = _stream(run)[0, -1].double()
    parts = [Part("embedding", -1, -1, float(norm(embedding) @ direction), float(embedding.norm()))]
    for layer in layers:
        parts += _of_layer(decoder, run, layer, last[layer], norm, direction)
    fixed = float(norm.bias @ direction) + _head_bias(decoder, target, against)
    if fixed:
        parts.append(Part("bias", -1, -1, fixed, 0.0))
    wanted = float(logits[target]) - (0.0 if against is None else float(logits[against]))
    total = sum(part.value for part in parts)
    if abs(total - wanted) > CLOSE * max(1.0, float(logits.abs().max())):
        raise UserError("parts_not_added", model=decoder.name)
    rest = torch.stack([last[layer] for layer in layers])  # [L, h, T]
    rest[..., 0] = -1 if rest.shape[-1] > 1 else rest[..., 0]
    best = rest.max(-1)
    return Attribution(target, against, wanted, total, parts, best.indices, best.values)


def _of_layer(decoder: Decoder, run: Run, layer: int, weights: Tensor, norm: HeldNorm, direction: Tensor) -> list[Part]:
    """The heads of a layer, its feed-forward part, and what its output matrix adds by itself."""
    projection = splittable(decoder, layer)
    value, heads = run.inputs[layer].value, decoder.shape.heads  # [h_kv, T, d_v]
    shared = value.repeat_interleave(heads // value.shape[0], dim=0)  # [h, T, d_v]
    mixed = (weights[:, None].to(shared) @ shared)[:, 0]  # [h, d_v]
    added = torch.stack([through(projection, mixed[h : h + 1], h, heads)[0] for h in range(heads)]).double().cpu()
    whole = projection(mixed.reshape(1, -1))[0].double().cpu()  # [d], the bias with it
    stream = _stream(run)
    grown = stream[layer + 1, -1].double() - stream[layer, -1].double()  # [d] all that the block added
    feed = grown - whole
    bias = whole - added.sum(0)
    found = [Part("head", layer, h, float(norm(v) @ direction), float(v.norm())) for h, v in enumerate(added)]
    found.append(Part("feed_forward", layer, -1, float(norm(feed) @ direction), float(feed.norm())))
    if float(bias.norm()) > NOISE * float(whole.norm()):
        found.append(Part("bias", layer, -1, float(norm(bias) @ direction), float(bias.norm())))
    return found


class HeldNorm:
    """The final norm with its scale held as it is at x [d]: linear, so that it may be applied to each part alone.

    Found from the module's own answers, whatever its family calls its gain: norm(0) is its bias; a norm that does not
    change when a constant is added takes the mean away first; what is left is one factor a component.
    """

    def __init__(self, decoder: Decoder, x: Tensor) -> None:
        def norm(v: Tensor) -> Tensor:
            return decoder.norm(v.to(decoder.device, decoder.dtype)[None])[0].double().cpu()

        y, x = norm(x), x.double()
        self.bias = norm(torch.zeros_like(x))
        probe = torch.ones_like(x)
        probe[1::2] = -1.0  # no component near zero, mean zero
        self.centres = bool((norm(probe + 3.0) - norm(probe)).abs().max() < 1e-2 * norm(probe).abs().max())
        gain = (norm(probe) - self.bias) / (probe - probe.mean() if self.centres else probe)  # [d], up to one factor
        held = x - x.mean() if self.centres else x
        self.factor = gain * (((y - self.bias) @ (gain * held)) / ((gain * held) @ (gain * held)))

    def __call__(self, v: Tensor) -> Tensor:
        return (v - v.mean() if self.centres else v) * self.factor


def _direction(decoder: Decoder, target: int, against: int | None) -> Tensor:
    """What a normed vector is multiplied with: the target's row of the head, less the other's: [d] float64."""
    rows = decoder.model.get_output_embeddings().weight
    return _difference(rows, target, against).cpu()


def _head_bias(decoder: Decoder, target: int, against: int | None) -> float:
    bias = getattr(decoder.model.get_output_embeddings(), "bias", None)
    return 0.0 if bias is None else float(_difference(bias, target, against))


def _difference(rows: Tensor, target: int, against: int | None) -> Tensor:
    found = rows[target].double()
    return found if against is None else found - rows[against].double()


def _stream(run: Run) -> Tensor:
    if run.residual is None:
        raise ValueError("attribution needs a run with residual=True")  # not words: a mistake in code
    return run.residual

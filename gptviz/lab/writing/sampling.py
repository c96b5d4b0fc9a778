"""From logits to a choice: repetition penalty, temperature, top-k, top-p, min-p, over the whole vocabulary, in float64.

The order is that of transformers' own logits processors. `widgets/next_token/sampling.js` computes the same in the
browser, and a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gptviz.decoder.errors import UserError
from gptviz.lab.writing.order import likeliest_first

MAX_SEED = 2**32 - 1
PENALTIES = (0.01, 100.0)  # beyond them points overflow or vanish
NOTHING: tuple[int, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How a token is chosen. temperature ≥ 0 (0 is greedy); top_k 0, top_p 1, min_p 0, repetition_penalty 1 are off.

    UserError for anything else. A top_k above the vocabulary keeps every token, as it does in the library.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    top_p_first: bool = False  # only to show what the other order would do: top-p, then temperature
    min_p: float = 0.0  # the least share of the likeliest token's probability that a token needs
    repetition_penalty: float = 1.0  # divides the points of tokens that stand in the text (multiplies where negative)

    def __post_init__(self) -> None:
        t, k, p = self.temperature, self.top_k, self.top_p
        if not _is_number(t) or not math.isfinite(t) or t < 0:
            raise UserError("temperature", value=t)
        if not _is_number(k) or not math.isfinite(k) or k != int(k) or k < 0:
            raise UserError("top_k", value=k)
        if not _is_number(p) or not 0 <= p <= 1:
            raise UserError("top_p", value=p)
        _within("min_p", self.min_p, 0, 1)
        _within("repetition_penalty", self.repetition_penalty, *PENALTIES)

    @property
    def rules(self) -> list[str]:
        """The rules that are on, in the order in which they are applied."""
        cut = [("temperature", self.temperature != 1), ("top_k", self.top_k > 0), ("top_p", self.top_p < 1)]
        ordered = [cut[2], cut[0], cut[1]] if self.top_p_first else cut
        rules = [("repetition_penalty", self.repetition_penalty != 1), *ordered, ("min_p", self.min_p > 0)]
        return [name for name, on in rules if on]


@dataclass(frozen=True)
class Stages:
    """One distribution at its three stages, float64 [V] each; `order` lists the ids from the likeliest down.

    Tokens of equal logits stand in the order of their ids.
    """

    settings: Settings
    order: Tensor  # [V]
    raw: Tensor  # [V] softmax of the logits
    tempered: Tensor  # [V] after repetition penalty and temperature
    final: Tensor  # [V] after temperature and truncation: what is drawn from
    kept: Tensor  # [V] bool

    def kept_ids(self) -> list[int]:
        """The ids that survive, from the likeliest down."""
        return self.order[self.kept[self.order]].tolist()


@dataclass(frozen=True)
class Bar:
    """One token's probability at the three stages."""

    id: int
    p_raw: float
    p_temperature: float
    p_final: float
    kept: bool


def stages(logits: Tensor, settings: Settings, past: Sequence[int] = NOTHING) -> Stages:
    """Softmax over the whole vocabulary at each stage. logits [V]; −inf means impossible and is never kept.

    `past` is the text so far, for the repetition penalty. UserError when a logit is NaN or +inf, or all are −inf.
    """
    own = _checked(logits)  # [V]
    raw = _softmax(own, 1.0)
    z = penalised(own, past, settings.repetition_penalty)  # [V]
    order = likeliest_first(z)  # [V]
    plain = raw if z is own else _softmax(z, 1.0)
    tempered = _one_hot(order) if settings.temperature == 0 else _softmax(z, settings.temperature)
    possible = z > -math.inf
    kept = possible if settings.temperature > 0 else tempered > 0
    if settings.top_k:
        kth = z[order[min(int(settings.top_k), len(z)) - 1]]
        kept = kept & (z >= kth)  # every token that ties with the k-th stays, as in the library
    kept = kept & top_p_set(plain if settings.top_p_first else tempered, kept, order, settings.top_p)
    kept = kept & (tempered >= settings.min_p * tempered.max())
    final = torch.where(kept, tempered, 0.0)
    return Stages(settings, order, raw, tempered, _normalised(final, kept, order), kept)


def penalised(z: Tensor, past: Sequence[int], penalty: float) -> Tensor:
    """The points [V] after the repetition penalty: of each token of the text, once, however often it stands there."""
    if penalty == 1 or not len(past):
        return z
    ids = torch.tensor(sorted(set(past)), device=z.device)
    changed = z.clone()
    changed[ids] = torch.where(z[ids] < 0, z[ids] * penalty, z[ids] / penalty)
    return changed


def top_p_set(p: Tensor, kept: Tensor, order: Tensor, top_p: float) -> Tensor:
    """The smallest set of the likeliest kept tokens whose share of the kept mass reaches top_p: bool [V].

    At least one token survives; tokens of equal logits enter in the order of their ids; top_p 1 keeps all.
    """
    if top_p >= 1:
        return kept
    mass = torch.where(kept, p, 0.0)[order]  # [V] from the likeliest down
    reached = mass.cumsum(0)
    enough = torch.cat([reached.new_zeros(1), reached[:-1]]) >= top_p * reached[-1]
    enough[0] = False
    result = torch.zeros_like(kept)
    result[order] = ~enough
    return result & kept


def entropy(p: Tensor) -> float:
    """−Σ p ln p of a distribution [V], in nats; exp of it is the perplexity: how many equal choices it feels like."""
    return max(0.0, float(-torch.special.xlogy(p, p).sum()))


def entropy_curve(logits: Tensor, temperatures: Sequence[float]) -> list[float]:
    """Entropy in nats at each temperature, the whole vocabulary kept."""
    return [entropy(stages(logits, Settings(temperature=t)).tempered) for t in temperatures]


def bars(result: Stages, count: int) -> tuple[list[Bar], float]:
    """The `count` likeliest tokens as bars, and the mass (after temperature) of all the tokens outside them."""
    if not 1 <= count <= len(result.order):
        raise UserError("whole_between", name="count", value=count, low=1, high=len(result.order))
    ids = result.order[:count]
    columns = zip(
        ids.tolist(),
        result.raw[ids].tolist(),
        result.tempered[ids].tolist(),
        result.final[ids].tolist(),
        result.kept[ids].tolist(),
        strict=True,
    )
    # Summed over the tail itself: 1 − (sum of the bars) would round small tails to nothing or below it.
    return [Bar(*column) for column in columns], float(result.tempered[result.order[count:]].sum())


# Draws


def uniform(seed: int, index: int) -> float:
    """The index-th number of a seeded sequence in [0, 1), 53 bits: mulberry32, as in the browser.

    Any draw can be had alone, so that writing step by step, undone and resumed, repeats itself.
    """
    high, low = _mulberry32(seed, 2 * index + 1), _mulberry32(seed, 2 * index + 2)
    return ((high >> 5) * 67108864 + (low >> 6)) / 9007199254740992


def draw(result: Stages, seed: int, index: int) -> int:
    """One id drawn from the final distribution, by walking it from the likeliest token down."""
    return draws(result, seed, 1, start=index)[0]


def draws(result: Stages, seed: int, n: int, *, start: int = 0) -> list[int]:
    """n ids drawn from the final distribution. UserError for a bad seed or n."""
    check_seed(seed)
    ids = result.order[result.kept[result.order]]
    edges = result.final[ids].cumsum(0)  # [kept]
    places = torch.tensor([uniform(seed, start + i) for i in range(n)], dtype=torch.float64) * edges[-1]
    found = torch.searchsorted(edges, places, right=True).clamp(max=len(ids) - 1)
    return ids[found].tolist()


def check_seed(seed: int) -> int:
    """The seed, if it is a whole number from 0 to 2³² − 1. UserError otherwise."""
    if not _is_number(seed) or not 0 <= seed <= MAX_SEED or seed != int(seed):  # NaN is in no range
        raise UserError("whole_between", name="seed", value=seed, low=0, high=MAX_SEED)
    return int(seed)


@dataclass(frozen=True)
class ChiSquare:
    """How far counts are from theory: Σ (seen − expected)²/expected, and how often chance alone does worse."""

    statistic: float
    freedom: int  # bins − 1; 0 when there is nothing to compare
    p_value: float


def chi_square(result: Stages, drawn: Sequence[int], *, least: float = 5.0) -> ChiSquare:
    """Counts of drawn ids against the final distribution; tokens expected fewer than `least` times share one bin."""
    expected = result.final * len(drawn)
    seen = torch.bincount(torch.tensor(drawn, dtype=torch.long), minlength=len(expected)).double()
    own = expected >= least
    e, s = expected[own], seen[own]
    rest_e, rest_s = expected[~own].sum(), seen[~own].sum()
    if rest_e >= least:
        e, s = torch.cat([e, rest_e[None]]), torch.cat([s, rest_s[None]])
    elif len(e):  # a rest too small for a bin of its own joins the rarest
        last = int(e.argmin())
        e[last] += rest_e
        s[last] += rest_s
    if len(e) < 2:
        return ChiSquare(0.0, 0, 1.0)
    statistic = float(((s - e) ** 2 / e).sum())
    half = torch.tensor([(len(e) - 1) / 2, statistic / 2], dtype=torch.float64)
    return ChiSquare(statistic, len(e) - 1, float(torch.special.gammaincc(half[0], half[1])))


def sampler(settings: Settings, seed: int, *, start: int = 0, past: Sequence[int] = NOTHING) -> Callable[[Tensor], int]:
    """A chooser for Decoder.stream: each call draws the next id of the seeded sequence; `past` is the prompt."""
    check_seed(seed)
    text, first = list(past), start - len(past)

    def choose(logits: Tensor) -> int:
        text.append(draw(stages(logits, settings, text), seed, first + len(text)))
        return text[-1]

    return choose


def greedy(logits: Tensor) -> int:
    """The likeliest id; of equal logits the lowest id."""
    best = int(logits.argmax())  # NaN, where any is
    _check_largest(float(logits[best]))
    return best


def greedily(settings: Settings, past: Sequence[int]) -> Callable[[Tensor], int]:
    """A chooser for Decoder.stream: the likeliest id after the repetition penalty, which no other rule changes."""
    text = list(past)

    def choose(logits: Tensor) -> int:
        if settings.repetition_penalty == 1:
            return greedy(logits)
        text.append(int(penalised(_checked(logits), text, settings.repetition_penalty).argmax()))
        return text[-1]

    return choose


# Parts


def _checked(logits: Tensor) -> Tensor:
    z = logits.detach().double().cpu()
    _check_largest(float(z.max()))  # which is NaN where any is
    return z


def _check_largest(z: float) -> None:
    if z == -math.inf:
        raise UserError("no_logit")
    if not math.isfinite(z):
        raise UserError("odd_logit")


def _softmax(z: Tensor, temperature: float) -> Tensor:
    # The maximum goes first: dividing it by a tiny temperature would overflow.
    e = torch.exp((z - z.max()) / temperature)
    return e / e.sum()


def _one_hot(order: Tensor) -> Tensor:
    p = torch.zeros(len(order), dtype=torch.float64)
    p[order[0]] = 1.0
    return p


def _normalised(mass: Tensor, kept: Tensor, order: Tensor) -> Tensor:
    total = mass.sum()
    return mass / total if total > 0 else torch.where(kept, _one_hot(order), 0.0)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _within(name: str, value: object, low: float, high: float) -> None:
    if not _is_number(value) or not low <= value <= high:  # type: ignore[operator]  # NaN is within nothing
        raise UserError("number_between", name=name, value=value, low=low, high=high)


def _mulberry32(seed: int, step: int) -> int:
    state = (seed + step * 0x6D2B79F5) & 0xFFFFFFFF
    t = ((state ^ (state >> 15)) * (state | 1)) & 0xFFFFFFFF
    t ^= (t + (((t ^ (t >> 7)) * (t | 61)) & 0xFFFFFFFF)) & 0xFFFFFFFF
    return (t ^ (t >> 14)) & 0xFFFFFFFF

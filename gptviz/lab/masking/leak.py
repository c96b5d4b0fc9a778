"""What the mask keeps out: how far a changed token reaches, layer by layer, and what attention weighs on the future.

Every zero here is an exact one. Two runs are compared bit by bit, so they always have the same shape: a matrix
product may round a row differently in a larger or smaller batch. Experts, whose batches depend on the text, are run one
row at a time; `basis` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gptviz.decoder import pieces
from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError, brief
from gptviz.decoder.masks import Reach
from gptviz.decoder.run import Runs
from gptviz.decoder.tokens import Token
from gptviz.lab.looking.watch import watch
from gptviz.lab.masking.basis import Basis, equal_shapes
from gptviz.lab.surprise import surprisal

MOST_TOKENS = 64  # the influence matrix runs T prompts of T tokens
TOKENS_AT_ONCE = 256  # tokens in one batched forward pass; more would only be slower to show anything
PARTS = 6  # at least so many, where there are as many edits: who waits sees it grow, and can stop it
REPLACEMENT = " the"  # not words: a piece of a vocabulary
SAME_NATS = 1e-3  # losses closer than this are called the same


@dataclass(frozen=True)
class Contamination:
    """What moved when one token was replaced: residual stream [L+1, T] and logits [T], largest |Δ| each.

    `surprisal` [T-1] is what the unedited run pays for each true next token, in nats.
    """

    position: int
    replaced: int
    replacement: int
    change: Tensor
    logit_change: Tensor
    surprisal: Tensor
    basis: Basis


@dataclass(frozen=True)
class TrueNext:
    """What opening the mask does to the true next token, position by position: its probability [T-1], on and off.

    There is no general direction: a head that copies may find the answer, or the model be disturbed by what it never
    met. So each mask of each text has these numbers, and its sentence from them alone.
    """

    direction: str
    causal: Tensor
    changed: Tensor

    @property
    def rises(self) -> int:
        """At how many positions the true next token is likelier with the mask changed."""
        return int((self.changed > self.causal).sum())

    @property
    def falls(self) -> int:
        """At how many it is less likely."""
        return int((self.changed < self.causal).sum())

    @property
    def loss_causal(self) -> float:
        """The mean of −ln p with the mask, in nats."""
        return float(-self.causal.log().mean())

    @property
    def loss_changed(self) -> float:
        """The mean of −ln p with the mask changed, in nats."""
        return float(-self.changed.log().mean())

    @property
    def verdict(self) -> str:
        """ "cheaper", "dearer" or "same": the text with the mask changed, by its own two losses."""
        change = self.loss_changed - self.loss_causal
        return "same" if abs(change) < SAME_NATS else "cheaper" if change < 0 else "dearer"

    def as_json(self) -> dict[str, object]:
        """Its numbers by name."""
        return {
            "direction": self.direction,
            "p": {"causal": self.causal, "changed": self.changed},
            "rises": self.rises,
            "falls": self.falls,
            "loss": {"causal": self.loss_causal, "changed": self.loss_changed},
            "verdict": self.verdict,
        }


def true_next(
    decoder: Decoder, ids: list[int], rule: MaskRule, causal: Tensor | None = None, *, runs: Runs | None = None
) -> TrueNext:
    """The probability of each true next token with the mask on and under `rule`.

    `causal` are the surprisals [T-1] with the mask on, where they are known. UserError below two tokens.
    """
    if len(ids) < 2:
        raise UserError("too_short_to_score", n=len(ids))
    if causal is None:
        causal = paid_under(decoder, ids, CAUSAL, runs=runs)
    changed = causal if rule.is_causal else paid_under(decoder, ids, rule, runs=runs)
    return TrueNext(rule.direction, (-causal).exp(), (-changed).exp())


def paid_under(decoder: Decoder, ids: list[int], rule: MaskRule, *, runs: Runs | None = None) -> Tensor:
    """−ln p of each true next token under one mask, in nats: [T-1] float64; empty for a text of one token."""
    logits = finite((runs or decoder.run)(ids, rule=rule, exact=False).logits, decoder)  # [T, V]
    return surprisal(logits[:-1], ids[1:])


@dataclass(frozen=True)
class Losses:
    """−ln p of each true next token [T-1], in nats: under the causal mask, and under the mask as it is set."""

    causal: Tensor
    changed: Tensor


@dataclass(frozen=True)
class MaskEffect:
    """One token replaced under a mask: how far the residual stream [L+1, T] and the logits [T] move, and the losses."""

    tokens: list[Token]
    position: int
    replaced: Token
    replacement: Token
    open_layers: list[int]
    direction: str
    change: Tensor
    logit_change: Tensor
    loss: Losses
    why: str  # this and the next two: see `Basis`
    tolerance: float
    noise: float
    reach: list[Reach]  # of each layer; an opened one reads as far ahead as it reads back


@dataclass(frozen=True)
class Influence:
    """`matrix` [T, T]: how far output i moves when token j is replaced."""

    tokens: list[Token]
    matrix: Tensor
    open_layers: list[int]
    direction: str
    why: str  # this and the next two: see `Basis`
    tolerance: float
    noise: float


def rule_of(open_layers: Sequence[int], direction: str, layers: int) -> MaskRule:
    """The mask rule an endpoint was asked for; no layer named and a direction other than causal opens every layer.

    UserError for a layer the model does not have, and for open layers with direction "causal": that opens nothing,
    and its row of zeros would read as an all-clear.
    """
    MaskRule(brief(direction))  # refuses an unknown direction first
    if not isinstance(open_layers, list | tuple):
        raise UserError("open_layers_list", value=open_layers)
    for layer in open_layers:
        if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < layers:
            raise UserError("open_layers_holds", value=layer, last=layers - 1)
    chosen = sorted(set(open_layers))
    if direction == "causal" and chosen:
        raise UserError("opens_nothing", value=chosen)
    return MaskRule(direction, frozenset(chosen) if chosen else None)


def one_token(decoder: Decoder, text: str, name: str = "replacement") -> int:
    """The id of the one piece by which `text` continues another text. UserError where the vocabulary has none.

    For " the", which is what a caller who named nothing sends, every vocabulary has an answer: see `usual`.
    """
    if not isinstance(text, str):
        raise UserError("string", name=name, value=text)
    tokenizer, vocabulary = decoder.tokenizer, decoder.shape.vocabulary
    found = pieces.single(tokenizer, text, name, vocabulary) if len(text) <= 200 else None
    if found is None and text == REPLACEMENT:
        return usual(decoder)[1]
    if found is None:
        ids = pieces.continuing(tokenizer, text, name) if len(text) <= 200 else []
        if len(text) > 200:
            raise UserError("one_token_long", name=name, value=text)
        if len(ids) == 1:
            raise UserError("one_token_unknown", name=name, value=text)
        raise UserError("one_token", name=name, value=text, n=len(ids))
    return found


def usual(decoder: Decoder) -> tuple[str, int]:
    """The piece that is put in a token's place where nobody named one, as text and id: " the" if there is one."""
    found = next(pieces.everyday(decoder.tokenizer, decoder.shape.vocabulary), None)
    return found or (decoder.tokenizer.token(0).shown, 0)


def replaced(decoder: Decoder, ids: Sequence[int], positions: Sequence[int], new: int) -> list[int]:
    """The ids with other tokens at these positions: `new`, or another everyday piece where `new` already stands."""
    others = pieces.everyday(decoder.tokenizer, decoder.shape.vocabulary)
    spare = next((id for _, id in others if id != new), int(new == 0))
    chosen = set(positions)
    return [(spare if i == new else new) if t in chosen else i for t, i in enumerate(ids)]


def check_position(position: int, T: int) -> int:
    """The position from 0 to T-1; -1 means the last. UserError for any other."""
    if not -1 <= position < T:
        raise UserError("position", value=position, n=T, last=T - 1)
    return T - 1 if position == -1 else int(position)


def contamination(
    decoder: Decoder, ids: list[int], position: int, new: int, rule: MaskRule = CAUSAL, *, runs: Runs | None = None
) -> Contamination:
    """Replace the token at `position` and see what moves: largest |Δ| after the embedding and after each layer."""
    runs = runs or decoder.run
    edited = replaced(decoder, ids, [position], new)
    basis = equal_shapes(decoder)
    before = runs(ids, rule=rule, residual=True, one_row=basis.one_row)
    after = runs(edited, rule=rule, residual=True, one_row=basis.one_row)
    assert before.residual is not None
    assert after.residual is not None
    change = finite((after.residual - before.residual).abs().amax(-1), decoder)  # [L+1, T]
    logit_change = finite((after.logits - before.logits).abs().amax(-1), decoder)  # [T]
    paid = surprisal(before.logits[:-1], ids[1:])
    return Contamination(position, ids[position], edited[position], change, logit_change, paid, basis)


def leaked_mass(decoder: Decoder, ids: list[int], rule: MaskRule, *, runs: Runs | None = None) -> Tensor:
    """The share of each head's weight that lies on keys to the right of their query, mean over queries: [L, h]."""
    shape = decoder.shape
    mass = torch.zeros(shape.layers, shape.heads)

    def look(layer: int, _: Tensor, weights: Tensor) -> None:  # [h, T, T]
        mass[layer] = weights.triu(1).sum(-1).mean(-1).cpu()  # [h]

    watch(decoder, ids, look, rule=rule, runs=runs)
    return mass


def moved(decoder: Decoder, ids: list[int], edited: Sequence[Sequence[int]], rule: MaskRule) -> Iterator[Tensor]:
    """Largest |Δ| of the logits for each of N edits of the same length, at every position: parts [b, T] of [N, T].

    Each edited row is compared with an unedited one at the same place of an equally shaped batch, so that a zero
    is exact.
    """
    T = len(ids)
    size = max(1, min(-(-len(edited) // PARTS), TOKENS_AT_ONCE // T))
    one_row = equal_shapes(decoder).one_row
    before = _logits(decoder, [ids] * size, rule, one_row)  # [B, T, V]
    for start in range(0, len(edited), size):
        part = list(edited[start : start + size])
        after = _logits(decoder, part + [ids] * (size - len(part)), rule, one_row)  # [B, T, V]
        yield finite(after.sub_(before).abs_().amax(-1)[: len(part)], decoder)  # [b, T]


def influence(decoder: Decoder, ids: list[int], rule: MaskRule = CAUSAL) -> Tensor:
    """How far output i moves when token j is replaced, largest |Δ| of the logits: [T, T], rows are outputs.

    UserError for more than 64 tokens, because the model runs once for each.
    """
    return torch.cat(list(influence_parts(decoder, ids, rule))).T


def influence_parts(decoder: Decoder, ids: list[int], rule: MaskRule = CAUSAL) -> Iterator[Tensor]:
    """The columns of the influence matrix, a few at a time: parts [b, T], one row for each token replaced."""
    T = len(ids)
    check_length(T)
    word = one_token(decoder, REPLACEMENT)
    return moved(decoder, ids, [replaced(decoder, ids, [j], word) for j in range(T)], rule)


def check_length(T: int) -> None:
    """UserError for a text too long for what runs the model once per token."""
    if T > MOST_TOKENS:
        raise UserError("once_per_token", n=T, most=MOST_TOKENS)


def mask_effect(
    decoder: Decoder, ids: list[int], rule: MaskRule, position: int, replacement: str, *, runs: Runs | None = None
) -> MaskEffect:
    """One replaced token and everything it moves; the losses are those of the text as it is."""
    place, new = check_position(position, len(ids)), one_token(decoder, replacement)
    found = contamination(decoder, ids, place, new, rule, runs=runs)
    causal = found.surprisal
    if not rule.is_causal:
        plain = (runs or decoder.run)(ids, one_row=found.basis.one_row)
        causal = surprisal(plain.logits[:-1], ids[1:])
    token = decoder.tokenizer.token
    return MaskEffect(
        tokens=[token(i) for i in ids],
        position=found.position,
        replaced=token(found.replaced),
        replacement=token(found.replacement),
        open_layers=opened(rule, decoder.shape.layers),
        direction=rule.direction,
        change=found.change,
        logit_change=found.logit_change,
        loss=Losses(causal, found.surprisal),
        reach=[facts.reach for facts in decoder.facts],
        **basis_json(found.basis),
    )


def influence_of(decoder: Decoder, ids: list[int], rule: MaskRule, parts: Iterable[Tensor]) -> Influence:
    """The parts of `influence_parts` put together."""
    return Influence(
        tokens=decoder.tokenizer.tokens(ids),
        matrix=torch.cat(list(parts)).T,
        open_layers=opened(rule, decoder.shape.layers),
        direction=rule.direction,
        **basis_json(equal_shapes(decoder)),
    )


def basis_json(basis: Basis) -> dict[str, Any]:
    """What counts as unchanged, why, and how much grouping alone would have moved a logit, by name."""
    return {"tolerance": basis.tolerance, "why": basis.why, "noise": basis.noise}


def opened(rule: MaskRule, layers: int) -> list[int]:
    """The layers that are not causal under this rule."""
    return [layer for layer in range(layers) if rule.pattern(layer) != "causal"]


def finite(values: Tensor, decoder: Decoder) -> Tensor:
    """The values, if all are finite. UserError otherwise: a difference of infinities proves nothing."""
    if not torch.isfinite(values).all():
        kind = str(decoder.dtype).removeprefix("torch.")
        raise UserError("overflows", model=decoder.name, dtype=kind)
    return values


def _logits(decoder: Decoder, rows: Sequence[Sequence[int]], rule: MaskRule, one_row: bool) -> Tensor:
    return torch.stack([run.logits for run in decoder.batch(rows, rule=rule, one_row=one_row)])  # [B, T, V]

"""Guesses read at once: the text is the stock model's greedy one, whatever the guesses are."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing.speculative import Speculation, agree, by_model, judged, repeats

TEXT = "When Mary and John went to the store, John gave a drink to"
TWICE = "The quick brown fox met a lazy dog. The quick brown fox"


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano"])
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return request.getfixturevalue(request.param)


def greedy(decoder: Decoder, ids: list[int], n: int) -> list[int]:
    """The stock model, whole text read anew for every token, no cache."""
    text = list(ids)
    with torch.inference_mode():
        for _ in range(n):
            text.append(int(decoder.model(torch.tensor([text]), use_cache=False).logits[0, -1].argmax()))
    return text[len(ids) :]


def run(decoder: Decoder, ids: list[int], n: int, drafter: object, most: int = 4) -> Speculation:
    state = Speculation(decoder, ids, n, drafter, most)
    for _ in state:
        pass
    return state


def same_or_explained(decoder: Decoder, state: Speculation, ids: list[int]) -> None:
    """The very text; where float32 of other shapes turned a near tie, the two candidates were that close."""
    wanted = greedy(decoder, ids, len(state.ids))
    if state.differ is None:
        assert state.ids == wanted
        assert state.compared == len(wanted)
        return
    assert state.differ.explained
    assert state.ids[: state.differ.index] == wanted[: state.differ.index]


@pytest.mark.parametrize("text", [TEXT, TWICE])
@pytest.mark.parametrize("most", [1, 4, 9])
def test_the_text_is_the_greedy_one(decoder: Decoder, text: str, most: int) -> None:
    ids = decoder.tokenizer.encode(text)[-20:]
    state = run(decoder, ids, 24, repeats, most)
    same_or_explained(decoder, state, ids)
    assert len(state.ids) == 24
    assert sum(len(each.written) for each in state.passes) == 24
    assert state.accepted + len(state.passes) == 24  # a pass gives what it accepted, and one


@pytest.mark.parametrize("seed", range(4))
def test_wrong_guesses_change_nothing(decoder: Decoder, seed: int) -> None:
    """Guesses at random, some right: rows that were read for the wrong ones are gone."""
    ids = decoder.tokenizer.encode(TEXT)[-12:]
    right, rng = greedy(decoder, ids, 20), random.Random(seed)

    def some(text: list[int], count: int) -> list[int]:
        at = len(text) - len(ids)
        return [id if rng.random() < 0.7 else rng.randrange(decoder.shape.vocabulary) for id in right[at : at + count]]

    state = run(decoder, ids, 20, some)
    same_or_explained(decoder, state, ids)
    assert 0 < state.accepted < state.drafted
    assert len(state.passes) < 20


def test_a_model_that_drafts_for_itself_is_always_right(nano: Decoder) -> None:
    ids = nano.tokenizer.encode("Once upon a time")
    state = run(nano, ids, 21, by_model(nano), 4)
    assert state.accepted == state.drafted == 16
    assert len(state.passes) == 5  # the first alone, then four of five tokens
    assert state.differ is None
    assert state.ids == greedy(nano, ids, 21)


def test_a_repeated_text_needs_fewer_passes(nano: Decoder) -> None:
    """Ignoring its end, nano says the same text again and again, and the earlier copy guesses it."""
    ids = nano.tokenizer.encode(TEXT)
    state = run(nano, ids, 60, repeats)
    assert state.ids == greedy(nano, ids, 60)
    assert len(state.passes) <= 50


def test_guesses_are_what_followed_before() -> None:
    assert repeats([1, 2, 3, 4, 9, 2, 3, 4], 3) == [9, 2, 3]
    assert repeats([5, 1, 7, 1, 8, 1], 2) == [8, 1]  # the latest copy of the shortest tail
    assert repeats([1, 2, 3], 4) == []
    assert repeats([4], 4) == []
    assert repeats([4, 4], 4) == [4]


def test_the_first_wrong_guess_ends_a_pass() -> None:
    logits = torch.eye(6)[[3, 1, 4, 0]]  # the model would write 3, 1, 4, 0
    found = judged([3, 1, 5], logits)
    assert (found.accepted, found.own, found.written) == (2, 4, [3, 1, 4])
    assert judged([], logits[:1]).written == [3]
    assert judged([2, 1, 4], logits).written == [3]


def test_it_stops_at_the_context(tiny_gpt2: Decoder) -> None:
    room = 5
    ids = [3] * (tiny_gpt2.shape.context - room)
    state = run(tiny_gpt2, ids, 50, repeats, 8)
    assert (len(state.ids), state.stop) == (room, "context")
    same_or_explained(tiny_gpt2, state, ids)


def test_vocabularies_that_differ_do_not_agree(nano: Decoder, tiny_llama: Decoder) -> None:
    """As many tokens are not enough: the same number has to mean the same text."""
    V = nano.shape.vocabulary
    turned = SimpleNamespace(tokens=lambda ids: nano.tokenizer.tokens([V - 1 - id for id in ids]))
    assert agree(nano, tiny_llama)  # another architecture, the same tokens
    for other in (
        SimpleNamespace(shape=SimpleNamespace(vocabulary=V), tokenizer=turned),
        SimpleNamespace(shape=SimpleNamespace(vocabulary=V - 1), tokenizer=nano.tokenizer),
    ):
        assert not agree(nano, other)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"new_tokens": 0}, "new_tokens is 0"),
        ({"most": 0}, "length is 0; it must be a whole number from 1 to 16"),
        ({"most": 17}, "length is 17"),
        ({"prompt": [1] * 256}, "fills the context"),
    ],
)
def test_odd_values_are_refused(nano: Decoder, values: dict, sentence: str) -> None:
    given = {"prompt": [1, 2], "new_tokens": 5, "drafter": repeats, "most": 4} | values
    with pytest.raises(UserError, match=sentence):
        Speculation(nano, **given)

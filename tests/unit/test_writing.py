"""Writing against transformers.generate, token for token."""

import random

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Loop, Writing, loops

PROMPTS = ["The dog", "When Mary and John went to the store,"]


@pytest.fixture(scope="module")
def quick_to_end() -> Decoder:
    """A random GPT-2 of a small vocabulary in which the end-of-text token is often among the best."""
    torch.manual_seed(3)
    config = GPT2Config(
        vocab_size=60, n_layer=2, n_head=2, n_embd=16, n_positions=32, initializer_range=0.8, eos_token_id=7
    )
    tokenizer = Tokenizer.gpt2()
    tokenizer.pieces.stops = frozenset({7})
    decoder = Decoder.from_model(GPT2LMHeadModel(config), tokenizer, name="quick")
    decoder.model.generation_config.eos_token_id = 7
    decoder.model.generation_config.pad_token_id = 7
    return decoder


@pytest.fixture(params=["tiny_gpt2", "tiny_llama", "nano"])
def decoder(request) -> Decoder:
    return request.getfixturevalue(request.param)


def generate(decoder, ids, **options):
    stops = sorted(decoder.tokenizer.stops)
    with torch.inference_mode():
        output = decoder.model.generate(
            torch.tensor([ids]), eos_token_id=stops, pad_token_id=stops[0], return_dict_in_generate=True, **options
        )
    return output.sequences[0, len(ids) :].tolist()


def ending(decoder, ids):
    return "end_of_text" if ids[-1] in decoder.tokenizer.stops else "length"


def trimmed(ids, stops):
    """Without the padding that generate() puts after an ending."""
    ends = [i for i, id in enumerate(ids) if id in stops]
    return ids[: ends[0] + 1] if ends else ids


def write(decoder, ids, choose, n, **options):
    writing = Writing(decoder, ids, choose, max_new_tokens=n, **options)
    steps = list(writing)
    assert [step.id for step in steps] == writing.ids
    return writing


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_equals_generate(decoder, prompt, use_cache):
    ids = decoder.tokenizer.encode(prompt)
    ours = write(decoder, ids, sampling.greedy, 16, use_cache=use_cache)
    assert ours.ids == generate(decoder, ids, max_new_tokens=16, do_sample=False)
    assert ours.stop == ending(decoder, ours.ids)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("beams", [1, 4])
def test_beam_equals_generate(decoder, prompt, beams):
    ids = decoder.tokenizer.encode(prompt)
    search = BeamSearch(decoder, ids, beams=beams, max_new_tokens=10)
    list(search)
    expected = generate(decoder, ids, max_new_tokens=10, do_sample=False, num_beams=beams)
    assert search.finished[0].ids == expected
    assert search.stop == ending(decoder, expected)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("penalty", [1.3, 0.8])
def test_a_penalty_writes_what_generate_writes(decoder, prompt, penalty):
    ids = decoder.tokenizer.encode(prompt)
    settings = Settings(repetition_penalty=penalty)
    ours = write(decoder, ids, sampling.greedily(settings, ids), 16)
    assert ours.ids == generate(decoder, ids, max_new_tokens=16, do_sample=False, repetition_penalty=penalty)
    search = BeamSearch(decoder, ids, beams=3, max_new_tokens=8, repetition_penalty=penalty)
    list(search)
    options = {"max_new_tokens": 8, "do_sample": False, "num_beams": 3, "repetition_penalty": penalty}
    assert search.finished[0].ids == generate(decoder, ids, **options)


def test_the_end_token_can_be_ignored(nano):
    """The stock model, always its likeliest token, never stopping: past its end it begins another text."""
    ids = nano.tokenizer.encode("The cat sat on the")
    ended = write(nano, ids, sampling.greedy, 20)
    on = write(nano, ids, sampling.greedy, 20, ignore_end=True)
    text = list(ids)
    with torch.inference_mode():
        for _ in range(20):
            text.append(int(nano.model(torch.tensor([text])).logits[0, -1].argmax()))
    assert on.ids == text[len(ids) :]
    assert (ended.stop, on.stop) == ("end_of_text", "length")
    assert on.ids[: len(ended.ids)] == ended.ids
    search = BeamSearch(nano, ids, beams=2, max_new_tokens=12, ignore_end=True)
    list(search)
    assert {len(beam.ids) for beam in search.finished} == {12}


@pytest.mark.parametrize("beams", [2, 5])
def test_beam_with_endings_equals_generate(quick_to_end, beams):
    rng = random.Random(beams)
    endings = 0
    for _ in range(8):
        ids = [rng.randrange(60) for _ in range(rng.randrange(1, 8))]
        search = BeamSearch(quick_to_end, ids, beams=beams, max_new_tokens=10)
        list(search)
        with torch.inference_mode():
            output = quick_to_end.model.generate(
                torch.tensor([ids]),
                max_new_tokens=10,
                do_sample=False,
                num_beams=beams,
                num_return_sequences=beams,
                return_dict_in_generate=True,
                output_scores=True,
            )
        expected = [trimmed(row[len(ids) :].tolist(), {7}) for row in output.sequences]
        assert [beam.ids for beam in search.finished] == expected
        assert torch.allclose(torch.tensor([b.score for b in search.finished]), output.sequences_scores, atol=1e-5)
        endings += search.stop == "end_of_text"
        assert all((beam.stop == "end_of_text") == (beam.ids[-1] == 7) for beam in search.finished)
    assert endings > 0


def test_the_tree_holds_every_finished_text(quick_to_end):
    search = BeamSearch(quick_to_end, [1, 2], beams=3, max_new_tokens=8)
    grown = [node for added in search for node in added]
    assert grown == search.nodes
    for beam in search.finished:
        node, ids, total = search.nodes[beam.node], [], 0.0
        assert node.fate == "finished"
        while True:
            ids.insert(0, node.id)
            total += node.logp
            if node.parent < 0:
                break
            node = search.nodes[node.parent]
            assert node.fate == "kept"
        assert ids == beam.ids
        assert total == pytest.approx(beam.total, abs=1e-4)
    for depth in range(1, 9):
        assert sum(node.fate == "kept" for node in search.nodes if node.depth == depth) <= 3


def test_beam_scores_are_the_models_own(nano):
    ids = nano.tokenizer.encode("The dog")
    search = BeamSearch(nano, ids, beams=3, max_new_tokens=6)
    list(search)
    for beam in search.finished:
        logp = nano.run(ids + beam.ids).logits.double().log_softmax(-1)
        total = sum(float(logp[len(ids) - 1 + i, id]) for i, id in enumerate(beam.ids))
        assert total == pytest.approx(beam.total, abs=1e-3)
        assert beam.score == pytest.approx(total / len(beam.ids), abs=1e-3)


def test_drawn_text_follows_the_library_distribution(nano):
    """Replayed: each drawn token lies in the library's kept set, and a resumed run repeats the rest."""
    ids = nano.tokenizer.encode("The dog")
    settings = Settings(0.9, 20, 0.9)
    writing = write(nano, ids, sampling.sampler(settings, 11), 16, keep_logits=True)
    again = write(nano, ids + writing.ids[:4], sampling.sampler(settings, 11, start=4), 12)
    assert len(writing.ids) > 4
    assert again.ids == writing.ids[4:]
    for step in Writing(nano, ids, sampling.sampler(settings, 11), max_new_tokens=16, keep_logits=True):
        assert step.id in sampling.stages(step.logits, settings).kept_ids()


def test_temperature_zero_writes_as_greedy(nano):
    ids = nano.tokenizer.encode("The dog")
    drawn = write(nano, ids, sampling.sampler(Settings(temperature=0), 5), 12)
    assert drawn.ids == write(nano, ids, sampling.greedy, 12).ids


def test_it_stops_at_the_end_of_text(tiny_gpt2):
    writing = write(tiny_gpt2, [1, 2, 3], lambda logits: 50256, 10)
    assert (writing.ids, writing.stop) == ([50256], "end_of_text")


def test_it_stops_at_the_context(tiny_gpt2):
    context = tiny_gpt2.shape.context
    writing = write(tiny_gpt2, [5] * (context - 3), lambda logits: 9, 10)
    assert (writing.ids, writing.stop) == ([9, 9, 9], "context")
    assert write(tiny_gpt2, [5] * (context - 3), lambda logits: 9, 3).stop == "length"
    assert write(tiny_gpt2, [5] * context, lambda logits: 9, 3).stop == "context"
    search = BeamSearch(tiny_gpt2, [5] * (context - 3), beams=2, max_new_tokens=10)
    list(search)
    assert search.stop == "context"
    assert len(search.finished[0].ids) == 3
    full = BeamSearch(tiny_gpt2, [5] * context, beams=2, max_new_tokens=10)
    assert (list(full), full.stop) == ([], "context")


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_bad_lengths_are_refused(tiny_gpt2, n):
    with pytest.raises(UserError, match="max_new_tokens is"):
        Writing(tiny_gpt2, [1], sampling.greedy, max_new_tokens=n)


@pytest.mark.parametrize("beams", [0, -1, 17, 1.5, True])
def test_bad_beams_are_refused(tiny_gpt2, beams):
    with pytest.raises(UserError, match="beams is"):
        BeamSearch(tiny_gpt2, [1], beams=beams, max_new_tokens=3)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], []),
        ([1, 2, 3, 4], []),
        ([1, 1], []),
        ([7, 1, 1, 1, 2], [Loop(1, 4, 1, 3)]),
        ([9, 1, 2, 1, 2, 1, 2], [Loop(1, 7, 2, 3)]),
        ([1, 2, 1, 2, 1, 2, 1], [Loop(0, 7, 2, 3)]),
        ([1, 2, 1, 2, 3, 1, 2], []),
        ([*range(8), *range(8), 99], [Loop(0, 16, 8, 2)]),
        ([*range(7), *range(7)], []),
        ([5, 5, 5, 1, 2, 3, 3, 3], [Loop(0, 3, 1, 3), Loop(5, 8, 1, 3)]),
    ],
)
def test_loops(ids, expected):
    assert loops(ids) == expected


def test_loops_against_the_definition():
    """Every stretch reported repeats, cannot be longer, and every repeat of the definition lies in one reported."""
    rng = random.Random(1)
    for _ in range(300):
        ids = [rng.randrange(2) for _ in range(rng.randrange(1, 30))]
        found = loops(ids)
        for loop in found:
            part = ids[loop.start : loop.stop]
            assert all(a == b for a, b in zip(part, part[loop.period :], strict=False))
            assert loop.times == len(part) // loop.period
            assert loop.times >= 3 or loop.period >= 8
        for period in range(1, 8):
            for start in range(len(ids) - 3 * period + 1):
                if ids[start : start + 2 * period] == ids[start + period : start + 3 * period]:
                    assert any(loop.start <= start and loop.stop >= start + 3 * period for loop in found)

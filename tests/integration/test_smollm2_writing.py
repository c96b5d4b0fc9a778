"""The real SmolLM2-135M writes as transformers writes with it."""

import pytest
import torch

from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import BeamSearch, Writing

PROMPT = "The capital of France is"


def generate(decoder, ids, **options):
    stops = sorted(decoder.tokenizer.stops)
    with torch.inference_mode():
        found = decoder.model.generate(
            torch.tensor([ids]), do_sample=False, eos_token_id=stops, pad_token_id=stops[0], **options
        )
    return found[0, len(ids) :].tolist()


def test_greedy_and_beam_equal_generate(smollm2):
    ids = smollm2.tokenizer.encode(PROMPT)
    writing = Writing(smollm2, ids, sampling.greedy, max_new_tokens=16)
    list(writing)
    assert writing.ids == generate(smollm2, ids, max_new_tokens=16)
    search = BeamSearch(smollm2, ids, beams=3, max_new_tokens=8)
    list(search)
    assert search.finished[0].ids == generate(smollm2, ids, max_new_tokens=8, num_beams=3)


def test_it_knows_paris(smollm2):
    ids = smollm2.tokenizer.encode(PROMPT)
    result = sampling.stages(smollm2.run(ids, last_only=True).logits[-1], Settings())
    best = int(result.order[0])
    assert smollm2.tokenizer.token(best).shown == "·Paris"
    assert float(result.raw[best]) == pytest.approx(0.77, abs=0.02)

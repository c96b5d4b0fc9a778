"""The training lesson's numbers against the stock library model and torch's own loss."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.teaching import teacher_forcing

IDS = [(37 * i + 11) % 50257 for i in range(20)]


@pytest.fixture(params=["tiny_gpt2", "tiny_llama"])
def decoder(request) -> Decoder:
    return request.getfixturevalue(request.param)


@torch.inference_mode()
def library(decoder: Decoder, ids, **kwargs):
    model = copy.deepcopy(decoder.model).eval()
    model.set_attn_implementation("eager")
    return model(torch.tensor([ids]), use_cache=False, **kwargs)


def test_inputs_and_targets_are_one_apart():
    assert teacher_forcing.shift(["a", "b", "c", "d"]) == (["a", "b", "c"], ["b", "c", "d"])


def test_the_mean_is_the_librarys_own_training_loss(decoder):
    scored = teacher_forcing.score(decoder.run(IDS))
    expected = library(decoder, IDS, labels=torch.tensor([IDS])).loss  # the library shifts the labels itself
    assert len(scored.predictions) == 19
    assert abs(scored.loss - float(expected)) <= 1e-4
    assert abs(sum(p.nats for p in scored.predictions) / 19 - scored.loss) <= 1e-9
    assert scored.perplexity == pytest.approx(math.exp(float(expected)), rel=1e-3)


def test_guesses_and_ranks_come_from_the_whole_distribution(decoder):
    logits = library(decoder, IDS).logits[0].double()
    scored = teacher_forcing.score(decoder.run(IDS), count=3)
    for t, prediction in enumerate(scored.predictions):
        p = logits[t].softmax(-1)
        assert (prediction.given, prediction.target) == (IDS[t], IDS[t + 1])
        assert [g.id for g in prediction.guesses] == p.topk(3).indices.tolist()
        assert [g.p for g in prediction.guesses] == pytest.approx(p.topk(3).values.tolist(), abs=1e-6)
        assert prediction.p == pytest.approx(float(p[IDS[t + 1]]), rel=1e-3)
        assert prediction.rank == int((p > p[IDS[t + 1]]).sum()) + 1


def test_long_prompts_are_scored_in_pieces_with_the_same_result(tiny_gpt2, monkeypatch):
    run = tiny_gpt2.run(IDS)
    whole = teacher_forcing.score(run)
    monkeypatch.setattr("gptviz.lab.surprise.ROWS", 7)
    assert teacher_forcing.score(run) == whole


def test_a_model_without_a_clue_pays_ln_v():
    assert teacher_forcing.uniform_loss(50257) == pytest.approx(math.log(50257))


def test_unshifted_targets_score_the_token_just_read(decoder):
    logits = library(decoder, IDS).logits[0]
    assert teacher_forcing.unshifted_loss(decoder, IDS) == pytest.approx(
        float(F.cross_entropy(logits, torch.tensor(IDS))), abs=1e-4
    )


def test_padding_moves_the_mean_and_ignore_index_does_not(decoder):
    pad = decoder.tokenizer.end_of_text
    shown = teacher_forcing.padding(decoder, IDS, most=8)
    assert (shown.pad, len(shown.counted), len(shown.ignored)) == (pad, 9, 9)
    assert shown.counted[0] == shown.ignored[0] == pytest.approx(teacher_forcing.score(decoder.run(IDS)).loss, abs=1e-5)
    for n in (1, 5, 8):
        row = torch.tensor([*IDS, *[pad] * n])
        labels = row.clone()
        labels[20:] = -100
        logits = library(decoder, row.tolist()).logits[0, :-1]
        assert shown.counted[n] == pytest.approx(float(F.cross_entropy(logits, row[1:])), abs=1e-4)
        assert shown.ignored[n] == pytest.approx(float(F.cross_entropy(logits, labels[1:])), abs=1e-4)
        assert shown.ignored[n] == shown.ignored[0]  # exactly: the same terms
        assert abs(shown.counted[n] - shown.ignored[n]) > 1e-3


def test_padding_stops_at_the_context(tiny_gpt2):
    ids = (IDS * 4)[:60]
    assert len(teacher_forcing.padding(tiny_gpt2, ids, most=24).counted) == 1 + 64 - 60


def test_mask_losses_equal_the_library_with_that_mask(decoder):
    found = teacher_forcing.mask_losses(decoder, IDS)
    hidden = {
        "causal": torch.ones(20, 20).triu(1),
        "none": torch.zeros(20, 20),
        "wrong_way": torch.ones(20, 20).tril(-1),
    }
    for direction, hide in hidden.items():
        mask = torch.zeros(1, 1, 20, 20).masked_fill(hide.bool(), -torch.inf)
        logits = library(decoder, IDS, attention_mask=mask).logits[0, :-1]
        expected = F.cross_entropy(logits, torch.tensor(IDS[1:]))
        assert found[direction] == pytest.approx(float(expected), abs=1e-4)


def test_exposure_scores_one_tail_after_more_and_more_own_text(decoder):
    shown = teacher_forcing.exposure(decoder, IDS)
    assert shown.tail == IDS[14:]
    assert [row.count for row in shown.rows] == [0, 1, 2, 4, 8]  # 16 would leave no true token
    for row in shown.rows:
        begin = 14 - row.count
        text = IDS[:begin]
        for _ in range(row.count):
            text = [*text, int(library(decoder, text).logits[0, -1].argmax())]
        assert row.own == text[begin:]
        assert row.true == IDS[begin:14]
        logits = library(decoder, text + IDS[14:]).logits[0]
        expected = F.cross_entropy(logits[13:-1], torch.tensor(IDS[14:]))
        assert row.loss == pytest.approx(float(expected), abs=1e-4)


def test_signal_of_one_input():
    shown = teacher_forcing.signal(20)
    assert (shown.decoder_targets, len(shown.masked)) == (19, 3)  # 15 % of 20
    assert (shown.decoder_pairs, shown.encoder_pairs) == (210, 400)
    assert shown.masked == sorted(set(shown.masked))
    assert max(shown.masked) < 20
    assert shown.passes >= math.ceil(20 / 3)
    assert teacher_forcing.signal(20) == shown  # the same draw every time
    assert teacher_forcing.signal(20, seed=1).masked != shown.masked
    assert len(teacher_forcing.signal(2).masked) == 1  # never none


def test_masked_positions_are_fair():
    drawn = torch.zeros(10)
    for seed in range(2000):
        drawn[teacher_forcing.signal(10, seed).masked] += 1
    share = drawn / 2000  # round(1.5) = 2 of 10
    assert (share - 0.2).abs().max() < 5 * (0.2 * 0.8 / 2000) ** 0.5


@pytest.mark.parametrize(
    ("call", "least"),
    [
        (lambda d: teacher_forcing.score(d.run([5])), "2 are needed"),
        (lambda d: teacher_forcing.padding(d, [5]), "2 are needed"),
        (lambda d: teacher_forcing.mask_losses(d, [5]), "2 are needed"),
        (lambda d: teacher_forcing.exposure(d, [5, 6]), "3 are needed"),
        (lambda d: teacher_forcing.signal(1), "2 are needed"),
    ],
)
def test_texts_too_short_get_one_sentence(tiny_gpt2, call, least):
    with pytest.raises(UserError, match=least) as refusal:
        call(tiny_gpt2)
    assert str(refusal.value).endswith(".")

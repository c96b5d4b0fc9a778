"""The training lesson's numbers against the stock library model and torch's own loss."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.surprise import surprisal
from gptviz.lab.teaching import one_step, own_words, teacher_forcing

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


def test_each_mistake_place_by_place_equals_the_library(decoder):
    found = teacher_forcing.mistakes(decoder, IDS)
    hidden = {"none": torch.zeros(20, 20), "wrong_way": torch.ones(20, 20).tril(-1)}
    for direction, hide in hidden.items():
        mask = torch.zeros(1, 1, 20, 20).masked_fill(hide.bool(), -torch.inf)
        logits = library(decoder, IDS, attention_mask=mask).logits[0, :-1]
        expected = F.cross_entropy(logits, torch.tensor(IDS[1:]), reduction="none")
        assert found[direction] == pytest.approx(expected.tolist(), abs=1e-4)
    logits = library(decoder, IDS).logits[0, :-1]
    itself = F.cross_entropy(logits, torch.tensor(IDS[:-1]), reduction="none")  # asked for what it has just read
    assert found["unshifted"] == pytest.approx(itself.tolist(), abs=1e-4)


def test_the_ending_is_priced_after_true_own_and_other_words(decoder):
    others = [[(53 * i + 7 * n) % 50257 for i in range(6)] for n in range(3)]
    found = own_words.compare(decoder, IDS, 6, others, seed=3)
    assert (found.kept, found.true.ids, found.tail) == (IDS[:10], IDS[10:16], IDS[16:])
    assert [each.ids for each in found.other] == others
    assert found.own[0].ids == own_words.draw(decoder, IDS[:10], 6, 1, 3)[0]
    assert len({tuple(each.ids) for each in found.own}) == 3  # drawn, not the likeliest each time
    for each in [found.true, *found.own, *found.other]:
        logits = library(decoder, IDS[:10] + each.ids + IDS[16:]).logits[0]
        expected = F.cross_entropy(logits[15:-1], torch.tensor(IDS[16:]))
        assert each.loss == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize(
    ("own", "other", "verdict"),
    [
        ([5.0, 5.1, 5.2], [2.0, 2.1, 2.2], 1),
        ([5.0, 1.0, 9.0], [2.0, 2.1, 9.2], 0),  # dearer on average, and no more so than chance allows
        ([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], -1),
    ],
)
def test_the_verdict_needs_two_standard_errors(own, other, verdict):
    def rows(losses):
        return [own_words.Replaced([5], loss) for loss in losses]

    found = own_words.Compared([1], [2], own_words.Replaced([4], 0.5), rows(own), rows(other))
    assert found.verdict == verdict
    assert found.own_mean == pytest.approx(sum(own) / 3)


def test_one_step_moves_every_weight_against_its_slope(decoder):
    """Against the library's own loss and torch's own optimiser; the decoder itself stays as it was."""
    before = [p.detach().clone() for p in decoder.model.parameters()]
    found = one_step.learn(decoder, IDS, 0.01)
    assert all(torch.equal(p, kept) for p, kept in zip(decoder.model.parameters(), before, strict=True))
    assert all(p.grad is None for p in decoder.model.parameters())
    pupil = copy.deepcopy(decoder.model).eval()
    pupil.set_attn_implementation("eager")
    optimiser = torch.optim.SGD(pupil.parameters(), lr=0.01)
    row = torch.tensor([IDS])
    pupil(row, labels=row).loss.backward()
    optimiser.step()
    with torch.no_grad():
        after = F.cross_entropy(pupil(row).logits[0, :-1], row[0, 1:], reduction="none")
    assert found.before == pytest.approx(surprisal(decoder.run(IDS).logits[:-1], IDS[1:]).tolist(), abs=1e-4)
    assert found.after == pytest.approx(after.tolist(), abs=1e-3)
    assert sum(found.after) < sum(found.before)


def test_signal_of_one_input():
    shown = teacher_forcing.signal(20)
    assert (shown.decoder_targets, len(shown.masked)) == (19, 3)  # 15 % of 20
    assert (shown.decoder_pairs, shown.encoder_pairs) == (210, 400)
    assert shown.masked == sorted(set(shown.masked))
    assert max(shown.masked) < 20
    assert shown.passes == len(shown.asked) >= math.ceil(20 / 3)
    assert shown.asked[0] == 3
    assert shown.asked[-1] == 20 > shown.asked[-2]
    assert len(shown.fate) == 3
    assert teacher_forcing.signal(20) == shown  # the same draw every time
    assert teacher_forcing.signal(20, seed=1).masked != shown.masked
    assert len(teacher_forcing.signal(2).masked) == 1  # never none


def test_masked_positions_are_fair():
    drawn = torch.zeros(10)
    for seed in range(2000):
        drawn[teacher_forcing.signal(10, seed).masked] += 1
    share = drawn / 2000  # round(1.5) = 2 of 10
    assert (share - 0.2).abs().max() < 5 * (0.2 * 0.8 / 2000) ** 0.5


def test_four_of_five_selected_tokens_are_hidden():
    fates = [fate for seed in range(2000) for fate in teacher_forcing.signal(20, seed).fate]
    for fate, share in (("hidden", 0.8), ("swapped", 0.1), ("kept", 0.1)):
        error = (share * (1 - share) / len(fates)) ** 0.5
        assert abs(fates.count(fate) / len(fates) - share) < 5 * error


@pytest.mark.parametrize(
    ("call", "least"),
    [
        (lambda d: teacher_forcing.score(d.run([5])), "2 are needed"),
        (lambda d: teacher_forcing.padding(d, [5]), "2 are needed"),
        (lambda d: teacher_forcing.mistakes(d, [5]), "2 are needed"),
        (lambda d: teacher_forcing.signal(1), "2 are needed"),
        (lambda d: own_words.compare(d, [5, 6], 1, [[7], [8]]), "3 are needed"),
        (lambda d: own_words.compare(d, IDS, 16, [[7], [8]]), "from 1 to 15"),
        (lambda d: own_words.compare(d, IDS, 2, [[7], [8]]), "each of 2 tokens"),
        (lambda d: one_step.learn(d, [5], 0.1), "2 are needed"),
        (lambda d: one_step.learn(d, IDS, 0.0), "above 0"),
        (lambda d: one_step.learn(d, IDS, float("nan")), "above 0"),
    ],
)
def test_texts_too_short_get_one_sentence(tiny_gpt2, call, least):
    with pytest.raises(UserError, match=least) as refusal:
        call(tiny_gpt2)
    assert str(refusal.value).endswith(".")

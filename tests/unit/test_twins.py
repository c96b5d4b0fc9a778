"""The twins: what their losses and their sentences must be, on full runs as the page makes them."""

import itertools
import json
from math import log
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.errors import UserError
from gptviz.lab.teaching import judged, twins
from gptviz.lab.teaching.grammar import DATA, FLOOR, LENGTH, WORDS, verdict
from gptviz.lab.teaching.judged import next_token_losses
from gptviz.lab.teaching.twin import MAX_SEED, RECIPE, Twin
from gptviz.lab.teaching.twins import pair, train
from gptviz.service.wire import as_json

RECORDING = Path(__file__).parents[2] / "assets" / "twins.json"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sequences behind the final figures, for tests that are not about them."""
    for name, count in (("SAMPLES", 20), ("EVALUATED", 50), ("PREFIXED", 10)):
        monkeypatch.setattr(judged, name, count)


def values(**asked: Any) -> list[dict[str, Any]]:
    """Every state of a run, as /twins gives it."""
    return [as_json(state) for state in train(**asked)]


def last(**asked: Any) -> dict[str, Any]:
    return values(**asked)[-1]


def check_causal(end: dict[str, Any]) -> None:
    """At the floor: not above it by 0.05 nats, and below it by sampling noise at most."""
    causal = end["causal"]
    assert 0 < causal["error"] < 0.002
    assert end["floor"] - 3 * causal["error"] <= causal["loss"] <= end["floor"] + 0.05
    # Given the prefix alone it does as well as with the rest of the row beside it: it never read the rest.
    assert causal["writing_loss"] == pytest.approx(causal["loss"], abs=0.01)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_the_causal_twin_reaches_the_floor_and_the_open_one_dives_under_it(seed: int) -> None:
    end = last(seed=seed)
    assert end["floor"] == FLOOR
    check_causal(end)
    assert end["twin"]["loss"] <= FLOOR - 0.3
    assert end["twin"]["writing_loss"] > FLOOR + 0.3  # without the future it does worse than the honest twin
    assert end["causal"]["valid"] >= 0.9
    assert end["twin"]["valid"] <= 0.3


@pytest.mark.parametrize("variant", ["wrong_way", "unshifted"])
def test_the_other_mistakes_look_as_good_and_write_as_badly(variant: str) -> None:
    end = last(steps=150, seed=1, variant=variant)
    assert end["twin"]["loss"] <= FLOOR - 0.3
    assert end["twin"]["valid"] <= 0.3
    assert end["twin"]["writing_loss"] > FLOOR + 0.3


def test_nothing_can_be_learned_from_random_tokens() -> None:
    """The causal twin stays at ln V; the open one goes to zero, so what it learned is to copy the answer."""
    end = last(data="random")
    assert end["floor"] == pytest.approx(log(len(WORDS)))
    check_causal(end)
    assert end["twin"]["loss"] < 0.01
    assert end["causal"]["valid"] is None
    assert end["twin"]["valid"] is None


def test_each_mistake_teaches_something_else() -> None:
    """Recorded runs: the shares that each variant's sentence tells, held against the words that are written."""
    for variant, data in twins.RECORDED:
        run = twins.recorded(json.loads(RECORDING.read_text(encoding="utf-8")), variant, data)
        twin = run["twin"]
        ahead = variant != "unshifted"
        assert (twin["says_next"] > 0.95) == ahead  # it reads what follows, or it does not
        assert (twin["repeats_input"] > 0.95) == (not ahead)
        assert run["causal"]["says_next"] < 0.9
        assert ahead or twin["repeats"] > 0.9
        written = [line.split() for line in twin["text"].split("\n")]
        again = [a == b for words in written for a, b in itertools.pairwise(words)]
        assert abs(sum(again) / len(again) - twin["repeats"]) < 0.25  # six of the five hundred sentences


@pytest.mark.usefixtures("quick")
def test_the_shares_are_those_of_the_models_own_favourites() -> None:
    causal, other = pair(RECIPE, "unshifted", torch.Generator().manual_seed(4))
    end = judged.judge(other, DATA["sentences"], 4)
    fresh = torch.Generator().manual_seed(4 + MAX_SEED + 1)
    ids = DATA["sentences"].draw(judged.EVALUATED, fresh)
    with torch.no_grad():
        rows = [[int(x) for x in causal.model(row[None])[0].argmax(-1)] for row in ids]
    hits = [(told[t] == row[t], told[t] == row[t + 1]) for told, row in zip(rows, ids.tolist(), strict=True)
            for t in range(len(row) - 1)]  # fmt: skip
    assert end.repeats_input == pytest.approx(sum(a for a, _ in hits) / len(hits), abs=2e-3)
    assert end.says_next == pytest.approx(sum(b for _, b in hits) / len(hits), abs=2e-3)


@pytest.mark.usefixtures("quick")
def test_what_a_run_hands_out() -> None:
    states = values(steps=3, seed=7, variant="open")
    assert [value["step"] for value in states] == [1, 2, 3, 3]
    assert [value["done"] for value in states] == [False, False, False, True]
    end = states[-1]
    json.dumps(end, allow_nan=False)
    for name in ("causal", "twin"):
        assert end[name]["losses"] == pytest.approx([value[name]["loss"] for value in states[:3]], rel=1e-3)
        written = [line.split() for line in end[name]["text"].split("\n")]
        assert [verdict(words) for words in written] == end[name]["right"]
        assert all(len(words) == LENGTH for words in written)
        assert 0 <= end[name]["valid"] <= 1
    assert end["seconds"] > 0
    assert (end["steps"], end["seed"], end["variant"], end["data"]) == (3, 7, "open", "sentences")


@pytest.mark.usefixtures("quick")
def test_pausing_to_write_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "SKETCHED", 10)
    plain = list(train(steps=4, seed=2))
    paused = list(train(steps=4, seed=2, pauses=(0, 2, 4, 9)))
    assert [state.step for state in paused] == [0, 1, 2, 3, 4, 4]
    for name in ("causal", "twin"):
        assert [sketch.step for sketch in paused[-1].sketches[name]] == [0, 2]
        assert plain[-1].sketches[name] == []
        assert getattr(paused[-1], name) == getattr(plain[-1], name)
        assert [getattr(state, name).loss for state in paused[1:-1]] == [
            getattr(state, name).loss for state in plain[:-1]
        ]
        sketch = paused[-1].sketches[name][1]
        assert (sketch.written, len(sketch.text.split("\n"))) == (10, judged.QUOTED)
        assert 0 <= sketch.valid <= 1


@pytest.mark.usefixtures("quick")
def test_a_run_follows_its_seed() -> None:
    runs = [[value["twin"]["loss"] for value in values(steps=4, seed=seed)][:4] for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("variant", twins.VARIANTS)
def test_the_twins_differ_in_one_thing(variant: str) -> None:
    causal, other = pair(RECIPE, variant, torch.Generator().manual_seed(0))
    mine, theirs = causal.model.state_dict(), other.model.state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert {name: w.data_ptr() for name, w in mine.items()} != {name: w.data_ptr() for name, w in theirs.items()}
    ids = DATA["sentences"].draw(4, torch.Generator().manual_seed(1))
    same_logits = torch.equal(causal.model(ids), other.model(ids))
    same_targets = causal.shifted == other.shifted
    assert [same_logits, same_targets].count(False) == 1


@pytest.mark.usefixtures("quick")
def test_both_train_on_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, torch.Tensor]] = []
    step = Twin.step
    monkeypatch.setattr(Twin, "step", lambda self, ids, rate: (seen.append((id(self), ids)), step(self, ids, rate)))
    list(train(steps=5))
    rows = [ids for _, ids in seen]
    assert len({twin for twin, _ in seen}) == 2
    assert all(torch.equal(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True))
    assert not torch.equal(rows[0], rows[2])


def test_the_loss_is_the_library_s() -> None:
    """GPT2LMHeadModel with the same weights and labels: it shifts them itself."""
    causal, _ = pair(RECIPE, "open", torch.Generator().manual_seed(2))
    c = causal.model.config
    library = GPT2LMHeadModel(
        GPT2Config(vocab_size=c.vocabulary, n_positions=c.context, n_embd=c.width, n_head=c.heads, n_layer=c.layers)
    ).eval()
    state = causal.model.state_dict()
    conv1d = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    body = {name: w.T if name.endswith(conv1d) else w for name, w in state.items() if name != "lm_head.weight"}
    library.transformer.load_state_dict(body)
    ids = DATA["sentences"].draw(16, torch.Generator().manual_seed(3))
    with torch.no_grad():
        assert causal.token_losses(ids).mean().item() == pytest.approx(library(ids, labels=ids).loss.item(), abs=1e-5)


def test_only_the_open_twin_needs_the_rest_of_the_row() -> None:
    """Prefix by prefix against the whole row at once: equal under the mask, different without it."""
    causal, other = pair(RECIPE, "open", torch.Generator().manual_seed(4))
    ids = DATA["sentences"].draw(32, torch.Generator().manual_seed(5))
    with torch.no_grad():
        assert (next_token_losses(causal.model, ids) - causal.token_losses(ids)).abs().max() < 1e-5
        moved = (next_token_losses(other.model, ids) - other.token_losses(ids)).abs()
    assert moved.max() > 0.01


def test_a_closed_run_trains_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    step = Twin.step
    monkeypatch.setattr(Twin, "step", lambda self, ids, rate: (steps.append(1), step(self, ids, rate)))
    run = train(steps=100)
    next(run)
    next(run)
    run.close()
    assert len(steps) == 4
    assert next(run, None) is None
    assert len(steps) == 4


def test_the_size_of_a_twin() -> None:
    """Two tables, two blocks of 12 d² weights with their biases and norms, and the last norm."""
    d, blocks = 64, 2 * (12 * 64**2 + 13 * 64)
    assert RECIPE.parameters == (39 + 18) * d + blocks + 2 * d == 103_744


def test_the_rate_climbs_and_comes_down_to_zero() -> None:
    for steps in (2, 10, 400):
        rates = [RECIPE.rate_at(step, steps) for step in range(steps + 1)]
        assert max(rates) == pytest.approx(RECIPE.rate)
        assert rates.index(max(rates)) <= max(1, steps // 10)
        assert all(rate > 0 for rate in rates[:-1])
        assert rates[-1] == pytest.approx(0, abs=1e-12)
    assert RECIPE.rate_at(0, 1) == RECIPE.rate


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"steps": -1}, "steps is −1; it must be a whole number from 0 to 2,000."),
        ({"steps": 10**9}, "steps is 1,000,000,000; it must be a whole number from 0 to 2,000."),
        ({"steps": 2.5}, "steps is 2.5; it must be a whole number"),
        ({"steps": float("nan")}, "steps is not a number; it must be a whole number"),
        ({"seed": -3}, "seed is −3; it must be a whole number from 0"),
        ({"seed": 2**63}, "more than 16 digits; it must be a whole number from 0 to 2,147,483,647"),
        ({"seed": "7"}, 'seed is "7"; it must be a whole number'),
        ({"variant": "closed"}, 'variant is "closed"; it must be one of open, wrong_way, unshifted.'),
        ({"data": "wikipedia"}, 'data is "wikipedia"; it must be one of sentences, random.'),
    ],
)
def test_a_bad_value_is_refused_before_any_work(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        train(**asked)  # not even begun
    assert sentence in str(caught.value)


def test_the_recording_comes_from_this_code() -> None:
    """It states how it was made, its verdicts hold, and its first steps come out again."""
    recording = json.loads(RECORDING.read_text(encoding="utf-8"))
    assert recording["command"] == "python -m gptviz.lab.teaching.twins --record assets/twins.json"
    assert {"python", "torch"} <= set(recording["versions"])
    assert [(run["variant"], run["data"]) for run in recording["runs"]] == list(twins.RECORDED)
    for variant, data in twins.RECORDED:
        run = twins.recorded(recording, variant, data)
        assert run["floor"] == DATA[run["data"]].floor
        assert run["steps"] == RECIPE.steps
        check_causal(run)
        assert run["twin"]["loss"] < run["floor"] - 0.3
        for name in ("causal", "twin"):
            assert len(run[name]["losses"]) == run["steps"]
            if run["data"] == "sentences":
                written = [line.split() for line in run[name]["text"].split("\n")]
                assert [verdict(words) for words in written] == run[name]["right"]
                assert (run[name]["valid"] > 0.9) is (name == "causal")
            assert [sketch["step"] for sketch in run[name]["sketches"]] == list(twins.PAUSES)
            assert all(len(sketch["text"].split("\n")) == judged.QUOTED for sketch in run[name]["sketches"])
        again = train(seed=run["seed"], variant=run["variant"], data=run["data"])
        for step in range(5):
            value = as_json(next(again))
            for name in ("causal", "twin"):
                assert value[name]["loss"] == pytest.approx(run[name]["losses"][step], abs=0.01)


@pytest.mark.usefixtures("quick")
def test_the_recorder_keeps_the_runs_and_how_they_were_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "RECORDED", (("wrong_way", "random"),))
    monkeypatch.setattr(twins, "train", lambda **asked: train(steps=2, **asked))
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)  # more than one would slow all tests that follow
    monkeypatch.setattr(judged, "SKETCHED", 10)
    file = tmp_path / "runs.json"
    twins.main(["--record", str(file), "--seed", "5", "--threads", "2"])
    recording = json.loads(file.read_text(encoding="utf-8"))
    assert threads == [2]
    assert recording["command"].endswith("runs.json --seed 5")
    assert recording["versions"]["torch"] == torch.__version__
    (run,) = recording["runs"]
    assert (run["seed"], run["variant"], run["data"], run["steps"]) == (5, "wrong_way", "random", 2)
    again = last(steps=2, seed=5, variant="wrong_way", data="random")
    assert run["twin"]["text"] == again["twin"]["text"]

"""Two models of one name: every endpoint answers each of them as if it were alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.tokens import Tokenizer
from gptviz.lessons.questions import Question
from gptviz.service import Options, Service
from gptviz.service.wire import as_json
from gptviz.shell import build

TEXT = "The cat sat on the mat"
# endpoint -> what it is asked beside its defaults; None: its answer depends on no model
ASKED: dict[str, dict[str, Any] | None] = {
    "attention": {"layer": 1, "head": 1},
    "heads": {},
    "mask": {"position": 2, "open_layers": [1], "direction": "none"},
    "influence": {},
    "mask_ways": {"layer": 1},
    "prefix": {"keep": 3},
    "prefix_all": {"method": "truncate"},
    "prefix_toy": None,
    "twins": None,
    "next_token": {"temperature": 0.7},
    "generate": {"max_new_tokens": 4},
    "surprisal": {},
    "kv_cache": {"new_tokens": 2},
    "cache_memory": None,
    "anatomy": {},
    "tokenize": None,  # both have one tokenizer
    "models": None,
    "values": {"layer": 0, "head": 1},
    "ablate": {"heads": [[0, 1]]},
    "lens": {},
    "attribution": {},
    "cost": {},
    "alternatives": {},
    "speculative": {"new_tokens": 4},
    "neurons": {},
    "routes": {},
    "swap": None,
    "patching": {"source": "The mat sat on the cat"},
    # what the page alone asks
    "outlook": {},
    "logits": {},
    "contest": {"new": 3},
    "column": {},
    "grid": {},
    "lookup": {},
    "order": {},
    "stream": {},
    "boxes": {},
    "rivals": {},
    "head_grid": {},
    "head_rows": {"layer": 0, "head": 1, "last": 3},
    "head_off": {"heads": [[0, 1]]},
    "true_tokens": {"direction": "none"},
    "reach": {"direction": "none"},
    "leaked": {"direction": "none"},
    "mask_grid": {"direction": "none"},
    "influence_columns": {},
    "two_checks": {"direction": "none"},
    "evidence": {"direction": "none"},
    "prefix_rows": {"direction": "none"},
    "shifted": {},
    "learned": {},
    "mistakes": {},
    "padded": {},
    "own_text": {"count": 2},
    "kv_words": {"new": 8},
    "kv_count": {"new": 2},
    "kv_race": {"new": 2},
    "kv_rows": {},
    "kv_edge": {},
    "ref_equal": {},
    "ref_card": {},
    "ref_quiz": {},
}
PRIVATE = list(ASKED)[list(ASKED).index("outlook") :]
LEFT_OUT = ("seconds", "model", "smaller")  # measured, and so never twice the same; names of what is loaded


def small_model(seed: int, layers: int) -> GPT2LMHeadModel:
    torch.manual_seed(seed)
    return GPT2LMHeadModel(GPT2Config(n_layer=layers, n_head=2, n_embd=16, n_positions=64, initializer_range=0.3))


@pytest.fixture(scope="module")
def models() -> list[Decoder]:
    """Two models that share a name; one has another number of layers too."""
    return [Decoder.from_model(small_model(seed, 1 + seed), Tokenizer.gpt2(), name="nano") for seed in (1, 2)]


def ask(question: Question, given: dict[str, Any], model: str) -> Any:
    """The (last) answer, without what was timed."""
    values = {"text": TEXT, "model": model, **given}
    answer = question.ask({name: value for name, value in values.items() if name in question.signature.parameters})
    if question.streams:
        *_, answer = map(as_json, answer)
    return untimed(json.loads(json.dumps(as_json(answer), allow_nan=False)))


def untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: untimed(part) for key, part in value.items() if key not in LEFT_OUT}
    return [untimed(part) for part in value] if isinstance(value, list) else value


def alone(decoder: Decoder) -> Service:
    service, name = Service(), decoder.name
    decoder.name = "nano"
    service.add(decoder)
    decoder.name = name
    return service


def questions(service: Service) -> dict[str, Question]:
    """All that may be asked, by programs or by the page."""
    return {question.name: question for question in build(service).questions}


def test_every_endpoint_is_asked(models: list[Decoder]) -> None:
    names = {name for name, question in questions(alone(models[0])).items() if question.public}
    assert names == {name for name in ASKED if name not in PRIVATE}


@pytest.fixture(scope="module")
def both(models: list[Decoder]) -> dict[str, Question]:
    """The questions of a service with both models; one for all tests, so that it keeps the results of them all."""
    service = Service()
    for decoder in models:
        decoder.name = "nano"
        service.add(decoder, first=False)
    assert service.names == ["nano", "nano (2)"]
    return questions(service)


@pytest.fixture(scope="module")
def each(both: dict[str, Question], models: list[Decoder]) -> list[dict[str, Question]]:
    """The questions of two services with one model each."""
    return [questions(alone(decoder)) for decoder in models]


@pytest.mark.parametrize("name", [name for name, asked in ASKED.items() if asked is not None])
def test_nothing_is_answered_from_another_models_results(
    both: dict[str, Question], each: list[dict[str, Question]], name: str
) -> None:
    given = ASKED[name] or {}
    answers = [ask(both[name], given, model) for model in ("nano", "nano (2)") * 2]  # the second time from the cache
    expected = [ask(questions[name], given, "") for questions in each]
    assert answers == expected * 2
    assert expected[0] != expected[1]


def test_names_that_are_shown_always_differ(models, tiny_gpt2):
    service = Service(Options(max_models=3))
    for decoder in [*models, tiny_gpt2, *models]:  # offering one again changes nothing but the order
        service.add(decoder)
    assert sorted(service.names) == ["nano", "nano (2)", "tiny-gpt2"]
    assert service.default == models[1].name
    for name in service.names:
        assert service.decoder(name).name == name
    assert {service.decoder(name).identity for name in ("nano", "nano (2)")} == {d.identity for d in models}


def test_a_folder_called_nano_stands_beside_the_bundled_one(tmp_path: Path):
    folder = tmp_path / "nano"
    small_model(3, 1).save_pretrained(folder)
    service = Service(Options(model=str(folder), offline=True, device="cpu"))
    service.start(wait=True)
    assert service.names == ["nano (2)", "nano"]
    rows = {row["name"]: row for row in service.models()}
    assert rows["nano"]["source"] == "bundled"
    assert rows["nano (2)"]["source"] == 'from the folder "nano"'
    assert rows["nano (2)"]["layers"] == 1
    assert service.status.notes == []
    assert not service.status.loading

"""What the reference page asks: each number against the models themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.looking import family
from gptviz.lab.writing import cache_memory
from gptviz.lessons.described import default_text
from gptviz.lessons.questions import Question
from gptviz.lessons.reference import SIZES, questions
from gptviz.service import Service


def of(*decoders: Decoder) -> dict[str, Question]:
    service = Service()
    for decoder in decoders:
        service.add(decoder)
    return {question.name: question for question in questions(service)}


@pytest.fixture(scope="module")
def asked(nano: Decoder) -> dict[str, Question]:
    return of(nano)


def test_both_implementations_equal_the_library(asked: dict[str, Question], nano: Decoder) -> None:
    found = asked["ref_equal"].ask({"text": "Once upon a time"})
    assert max(found["short_library"], found["long_library"], found["short_long"]) <= 1e-3
    assert found["same_choices"]
    assert found["parameters"] == sum(p.numel() for p in nano.model.parameters())
    assert not found["other"]


def test_a_model_of_another_family_is_compared_by_one_that_fits(nano: Decoder, tiny_llama: Decoder) -> None:
    found = of(nano, tiny_llama)["ref_equal"].ask({"text": "a b", "model": "tiny-llama"})
    assert (found["asked"], found["model"], found["other"]) == ("tiny-llama", "nano", True)
    with pytest.raises(UserError, match="tiny-llama is no GPT-2"):
        of(tiny_llama)["ref_equal"].ask({"text": "a b"})


def test_every_preset_counts_to_its_own_total(asked: dict[str, Question]) -> None:
    for name, preset in asked["ref_presets"].ask({}).items():
        shape = {key: preset[key] for key in (*SIZES, "ffn", "tied")}
        found = asked["ref_count"].ask({"like": name, **shape})
        assert found["total"] == family.count(family.PUBLIC[name]).total
        assert found["source"] == preset["source"]


def test_a_shape_that_cannot_be_built_gets_one_sentence(asked: dict[str, Question]) -> None:
    shape: dict[str, Any] = {key: getattr(family.PUBLIC["gpt2"], key) for key in SIZES}
    with pytest.raises(UserError, match="d is 100, which 12 heads do not divide"):
        asked["ref_count"].ask({"like": "gpt2", **shape, "d": 100, "ffn": "gelu", "tied": True})


def test_the_family_marks_what_changed(asked: dict[str, Question]) -> None:
    columns = {column["name"]: column for column in asked["ref_family"].ask({})}
    assert columns["gpt2"]["changed"] == ["order"]
    assert columns["gpt3-175b"]["changed"] == []
    assert {"norm", "positions", "ffn", "kv_heads", "tied"} <= set(columns["Llama-3-8B"]["changed"])
    assert columns["Llama-3-8B"]["cache"] == 131_072


@pytest.mark.parametrize("name", ["nano", "tiny_llama"])
def test_the_quiz_knows_the_loaded_model(request: pytest.FixtureRequest, name: str) -> None:
    decoder = request.getfixturevalue(name)
    items = {item["key"]: item for item in of(decoder)["ref_quiz"].ask({})}
    assert items["cache"]["answer"] == sum(10 + i for i in range(20)) == 390
    assert items["llama"]["answer"] == 2 * 32 * 8 * 128 * 2
    assert items["context"]["answer"] == 1024 * 768
    norms = [m for m in decoder.model.modules() if "norm" in type(m).__name__.lower()]
    assert items["norms"]["answer"] == len(norms)
    table = decoder.model.get_input_embeddings().weight
    tied = decoder.shape.tied
    change = table.numel() if tied else -table.numel()
    assert items["untied" if tied else "tied"]["answer"] == decoder.shape.parameters + change


def test_the_card_shows_the_allocators_figures_or_none(
    asked: dict[str, Question], nano: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = asked["ref_card"].ask({})
    assert without["figures"] is None
    assert without["device"] == str(torch.device("cpu"))
    assert without["per_token"] == 2 * 4 * 4 * 16 * 4
    figures = {"allocated": 1, "peak": 2, "reserved": 3, "free": 4, "total": 5}
    monkeypatch.setattr(cache_memory, "allocator", lambda device: figures)
    assert asked["ref_card"].ask({})["figures"] == figures


def test_all_endpoints_are_listed_with_what_they_take(asked: dict[str, Question]) -> None:
    listed = {item["name"]: item for item in asked["ref_api"].ask({})}
    assert {"models", "tokenize", "next_token", "generate", "kv_cache", "cache_memory", "cost"} <= set(listed)
    assert listed["kv_cache"]["parameters"] == [["text", default_text()], ["new_tokens", 20], ["model", ""]]
    assert listed["kv_cache"]["streams"]
    assert all(item["says"] for item in listed.values())
    assert not any(name.startswith(("ref_", "kv_c")) and name != "kv_cache" for name in listed)

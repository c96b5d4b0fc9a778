"""The benchmarks run, on a shape that costs nothing; their figures belong to a quiet machine, not to a test."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench import decode, gpu, measure, painted, patching, report, tokens


@pytest.fixture
def tiny_shapes(monkeypatch):
    def tiny():
        config = GPT2Config(
            n_layer=2, n_head=2, n_embd=16, n_positions=128, vocab_size=300, initializer_range=0.3,
            eos_token_id=None, bos_token_id=None,
        )  # fmt: skip
        return GPT2LMHeadModel(config)

    for shape in list(decode.SHAPES):
        monkeypatch.setitem(decode.SHAPES, shape, tiny)


def test_each_kind_of_text_is_timed():
    found = tokens.run(quick=True)
    assert found["seconds"].keys() == tokens.TEXTS.keys()
    json.dumps(found, allow_nan=False)


def test_decoding_is_compared_in_turns_and_with_the_same_tokens(tiny_shapes):
    found = decode.run(quick=True)
    json.dumps(found, allow_nan=False)
    for row in found["decode"]:
        assert row["same_tokens"]
        assert len(row["seconds"]["gptviz float32"]) == 3
        speed = row["tokens_per_second"]
        assert row["speedup"] == speed["gptviz float32"] / speed["library float32"]
        assert row["share_of_read_bandwidth"] == pytest.approx(
            row["weight_bytes_per_token"] * speed["gptviz float32"] / row["read_bytes_per_second"][1]
        )
    for rows in decode.run_prefill(quick=True)["prefill"].values():
        assert all(row["max_logit_delta"] <= 1e-4 for row in rows)


def test_turns_are_taken_and_the_warm_up_is_not_counted():
    order: list[str] = []
    seconds = measure.take_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3)
    assert order == ["a", "b"] * 4
    assert [len(values) for values in seconds.values()] == [3, 3]
    assert measure.medians({"x": [3.0, 1.0, 2.0]}) == {"x": 2.0}


def test_the_gpu_checks_compute_what_they_say(tiny_shapes):
    """The same code on the CPU: equalities hold, bytes equal the formula, and time limits are kept."""
    found = gpu.run(torch.device("cpu"), new=4)
    json.dumps(found, allow_nan=False)
    assert not found["left_out"]
    assert len(found["results"]) == 4
    for row in found["results"]:
        assert row["memory"]["tensors"] == row["memory"]["formula"]
        assert row["equality"]["largest_weight_above_the_diagonal"] == 0.0
        assert set(row["speed"]["speedup"]) == {"library, dynamic cache", "library, static cache"}
        if row["dtype"] == "float32":
            assert row["equality"]["plain"] <= 1e-5
            assert row["equality"]["cached_against_uncached"] <= 1e-4
            assert row["equality"]["same_text_as_generate"]
    late = gpu.run(torch.device("cpu"), limit_s=-1.0)
    assert len(late["left_out"]) == 4 * 4 + 1


def test_without_cuda_the_gpu_checks_say_so_and_succeed(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["bench.gpu"])
    assert gpu.main() == 0
    assert "no CUDA" in capsys.readouterr().out


def test_the_report_has_every_part_and_is_whole_or_not_there(tmp_path):
    lanes = {"total_s": 0.5, "kb": 30.0}
    figures: dict[str, dict] = {
        "painted": {"heads": 144, "rows": [{"tokens": 16, "gptviz": lanes, "bertviz": lanes, "plotly": lanes}]},
        "slider": {"vocabulary": 50257, "moves": 3, "median_ms": 4.0, "p90_ms": 5.0},
        "start": {"ready_s": 3.0},
        "load": {"failed": "OSError: no room"},
    }
    for part in figures.values():
        part.update(load_before=0.5, took_s=2.0)
    report.write(tmp_path / "RESULTS.md", figures, quick=True)
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["RESULTS.md"]
    assert "| 16 | 0.50 s, 30 kB | 0.50 s, 30 kB | 0.50 s, 30 kB | 1.0× | 1.0× |" in text
    assert "- ready_s: 3.0" in text
    assert "Not measured: OSError: no room" in text
    assert "no figures to quote" in text


def test_every_text_of_the_race_to_paint_has_its_length(nano):
    for T in painted.LENGTHS:
        texts = [painted.text_of(nano, T, k) for k in range(6)]
        assert len(set(texts)) == len(texts)


def test_the_map_of_copied_places_is_timed_whole(tiny_shapes):
    found = patching.run(quick=True)
    json.dumps(found, allow_nan=False)
    for row in found["patching"]:
        assert 0 < row["seconds"]["stream"]["first"] <= row["seconds"]["stream"]["whole"]

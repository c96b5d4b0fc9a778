"""A prefix check in a file: confirmed from the file alone, and not where it was tampered with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.errors import UserError
from gptviz.lab.masking import evidence, leak, prefix

SENTENCE = "The cat that the dog saw sat on the old red mat"
ROOT = Path(__file__).resolve().parents[2]


def ids_of(decoder) -> list[int]:
    return decoder.tokenizer.encode(SENTENCE)[:12]


def saved(decoder, tmp_path, rule=CAUSAL, method="edit", **changes) -> Path:
    data = evidence.evidence(decoder, prefix.check(decoder, ids_of(decoder), 7, rule, method))
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps({**data, **changes}, allow_nan=False))
    return path


@pytest.mark.parametrize("method", prefix.METHODS)
@pytest.mark.parametrize("rule", [CAUSAL, MaskRule("none"), MaskRule("wrong_way", frozenset({1}))])
def test_evidence_is_confirmed_from_the_file_alone(nano, tmp_path, capsys, rule, method):
    assert evidence.main([str(saved(nano, tmp_path, rule, method)), "--offline"]) == 0
    said = capsys.readouterr().out
    assert ("not prefix-invariant" in said) == (rule != CAUSAL)
    assert "the same, byte for byte" in said


def test_the_command_line_check_is_one_command(nano, tmp_path):
    command = [sys.executable, "-m", "gptviz.lab.masking.evidence", str(saved(nano, tmp_path)), "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "CONFIRMED: prefix-invariant, largest change exactly\xa00."


@pytest.mark.parametrize("method", prefix.METHODS)
def test_evidence_that_claims_too_much_is_not_confirmed(nano, tmp_path, capsys, method):
    path = saved(nano, tmp_path, MaskRule("none"), method, deltas=[0.0] * 7, invariant=True)
    assert evidence.main([str(path), "--offline"]) == 1
    assert "NOT CONFIRMED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {"deltas": [0.0] * 6 + [1e-9]},
        {"invariant": False},
        {"mask": {"direction": "none", "open_layers": [2]}},
    ],
    ids=["a zero that was none", "a verdict that does not follow", "another mask"],
)
def test_evidence_that_was_tampered_with_is_not_confirmed(nano, tmp_path, changes):
    assert evidence.main([str(saved(nano, tmp_path, **changes)), "--offline"]) == 1


def test_evidence_names_the_weights_it_was_made_with(nano, tiny_gpt2, tmp_path, capsys):
    path = saved(tiny_gpt2, tmp_path, model={"name": "nano", "weights_sha256": evidence.fingerprint(tiny_gpt2)})
    assert evidence.main([str(path), "--offline"]) == 0  # invariance holds for these weights as well
    assert "not those of the evidence" in capsys.readouterr().out


def test_evidence_holds_what_it_takes_to_run_it_again(nano):
    found = prefix.check(nano, ids_of(nano), 7, MaskRule("none", frozenset({2})), "truncate")
    data = evidence.evidence(nano, found)
    assert data["model"]["name"] == "nano"
    assert data["mask"] == {"direction": "none", "open_layers": [2]}
    assert set(data["versions"]) == {"python", "torch", "transformers", "machine"}
    again = evidence.run_again(nano, evidence.read(json.dumps(data)))
    assert again.deltas.tolist() == data["deltas"]
    assert evidence.differences(data, again) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not evidence of this program"),
        ('{"format": "something else"}', "not evidence of this program"),
        (" " * (evidence.MAX_BYTES + 1), "at most"),
    ],
)
def test_a_file_that_is_no_evidence_gets_one_sentence(text, words):
    with pytest.raises(UserError, match=words):
        evidence.read(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ids": "abc"}, '"ids"'),
        ({"ids": [1, "2"]}, '"ids".*whole numbers'),
        ({"deltas": [0.0]}, '"deltas"'),
        ({"deltas": [0.0] * 6 + [-1.0]}, '"deltas"'),
        ({"other": [0] * 12}, "differ inside the prefix"),
        ({"mask": {}}, "open layers"),
        ({"model": {}}, "name its model"),
        ({"keep": None}, '"keep"'),
    ],
)
def test_evidence_with_a_broken_field_gets_one_sentence(nano, tmp_path, changes, words):
    with pytest.raises(UserError, match=words):
        evidence.read(saved(nano, tmp_path, **changes).read_text())


def test_a_file_that_is_not_there_gets_one_sentence(tmp_path, capsys):
    assert evidence.main([str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_rule_for_every_layer_survives_the_file(nano):
    data = evidence.evidence(nano, prefix.check(nano, ids_of(nano), 7, MaskRule("none"), "edit"))
    again = evidence.run_again(nano, data)
    assert leak.opened(again.rule, nano.shape.layers) == list(range(nano.shape.layers))
    assert torch.equal(again.deltas, torch.tensor(data["deltas"]))

"""A checkpoint is complete or refused in one sentence; what the library knows to be harmless still loads."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from tests.odd import defects, folders

IDS = [1, *range(5, 15)]


def copy(root: Path, family: str, name: str) -> Path:
    return defects.copy(folders.make(root, family), root / name)


@pytest.mark.parametrize("name", defects.REFUSED)
def test_a_damaged_folder_is_refused_in_one_sentence(root, name, monkeypatch):
    damage, words = defects.REFUSED[name]
    folder = copy(root, "llama", f"refused {name}")
    damage(folder)
    monkeypatch.setattr(builtins, "input", lambda *_: pytest.fail("somebody was asked"))
    with folders.quiet(), pytest.raises(UserError, match=words) as refusal:
        Decoder.load(folder, name="mine")
    said = str(refusal.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 500
    assert "trust_remote_code" not in said


@pytest.mark.parametrize("name", defects.LOADED)
def test_what_is_harmless_still_loads(root, name):
    family, damage = defects.LOADED[name]
    folder = copy(root, family, f"loaded {name}")
    expected = Decoder.load(folder).run(IDS).logits
    damage(folder)
    assert torch.equal(Decoder.load(folder).run(IDS).logits, expected)


@pytest.mark.parametrize("family", ["llama", "gpt2", "mixtral", "gemma2", "deepseek_v3"])
def test_two_loads_of_one_folder_are_bit_equal_and_the_librarys_own(root, family):
    folder = folders.make(root, family)
    first, second = Decoder.load(folder).run(IDS).logits, Decoder.load(folder).run(IDS).logits
    assert torch.equal(first, second)
    stock = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = stock(torch.tensor([IDS])).logits[0]
    assert (first - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_weights_that_are_tied_by_config_but_stored_apart_stay_apart(root):
    """The library does not tie two tensors that differ; neither may what is shown."""
    folder = copy(root, "llama, tied", "apart")
    defects.tensors(lambda f: {**f, "lm_head.weight": f["model.embed_tokens.weight"] + 1.0})(folder)
    decoder = Decoder.load(folder)
    assert not decoder.shape.tied
    with torch.inference_mode():
        expected = AutoModelForCausalLM.from_pretrained(folder).eval()(torch.tensor([IDS])).logits[0]
    assert torch.equal(decoder.run(IDS).logits, expected)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("bert", 'is an encoder \\("bert"\\)'),
        ("roberta", 'is an encoder \\("roberta"\\)'),
        ("distilbert", 'is an encoder \\("distilbert"\\)'),
        ("t5", 'is an encoder-decoder \\("t5"\\)'),
        ("bart", 'is an encoder-decoder \\("bart"\\)'),
        ("vit", 'architecture "vit", for which the library has no decoder-only model'),
    ],
)
def test_what_is_no_decoder_is_told_so(root, family, words):
    with pytest.raises(UserError, match=words):
        Decoder.load(folders.make(root, family), name="mine")


def test_code_of_a_checkpoint_is_not_run_for_its_tokenizer(root):
    folder = copy(root, "llama", "own tokenizer")
    defects.text("tokenizer.json", None)(folder)
    own = {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["own.OwnTokenizer", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(own))
    (folder / "own.py").write_text("raise SystemExit('the code of a checkpoint was run')\n")
    with folders.quiet(), pytest.raises(UserError, match="okenizer"):
        Decoder.load(folder, name="mine")

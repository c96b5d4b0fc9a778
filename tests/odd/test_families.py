"""Every family of decoders through every endpoint: equal to the stock library, or refused in one sentence."""

from __future__ import annotations

import pytest
import torch

from gptviz.service import Service
from tests.odd import compare, defects, folders, known
from tests.odd.endpoints import WITHOUT_A_MODEL, Refused, endpoints
from tests.odd.families import FAMILIES
from tests.odd.layouts import LAYOUTS

SHOWN = [name for name in FAMILIES if name not in known.REFUSED]
# What a keyboard can bring: accents of two kinds, ligatures, half characters, marks in plain letters, blanks.
STRANGE = "Émile’s café, e\u0301 ﬁ ½ ☃ \x00 x  <s>y</s> "


def cases() -> list:
    return [
        pytest.param(
            family,
            check,
            id=f"{family}-{check}",
            marks=pytest.mark.xfail(strict=True, reason=fault) if (fault := known.FAULTS.get((family, check))) else (),
        )
        for family in SHOWN
        for check in compare.CHECKS
    ]


@pytest.mark.parametrize(("family", "check"), cases())
def test_a_family_equals_the_stock_library(examine, family, check):
    found = examine(family)
    assert not found.refused
    assert check not in found.wrong, found.wrong[check]
    if words := known.PARTLY.get((family, check)):
        said = found.refusals[check]
        assert words in said
        assert said.endswith(".")
    else:
        assert check not in found.refusals, found.refusals[check]
        assert check in found.exact


@pytest.mark.parametrize("family", known.REFUSED)
def test_what_cannot_be_shown_is_refused_in_one_sentence(examine, family):
    said = examine(family).refused
    assert known.REFUSED[family] in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", [compare.TEXT, STRANGE], ids=["plain", "strange"])
def test_every_endpoint_works_with_every_vocabulary(examine, layout, text):
    """No default refuses, nothing raises, every number is the library's."""
    found = examine("llama", layout, text)
    assert (found.refused, found.wrong, found.refusals) == ("", {}, {})
    assert set(found.exact) == set(compare.CHECKS)


def test_every_endpoint_that_depends_on_a_model_is_checked(examine, nano):
    service = Service()
    service.add(nano)
    checked = {"models", "tokenize", "anatomy", *compare.CHECKS, "prefix_all"} - {"logits"}
    assert set(endpoints(service)) - WITHOUT_A_MODEL == checked


def test_pieces_that_a_model_has_no_vector_for_are_refused_by_name(root):
    """A vocabulary larger than the model, which has vectors for marks and bytes only: common where tokenizers grew."""
    case = compare.Case(folders.make(root, "llama", vocab_size=259), " old king")
    for name in ("attention", "heads", "mask", "influence", "mask_ways", "prefix", "prefix_all", "next_token",
                 "generate", "surprisal", "kv_cache"):  # fmt: skip
        more = {"keep": 1} if name == "prefix" else {}
        with pytest.raises(Refused, match=r"token id \d+ does not exist; ids run from 0 to 258\."):
            case.call[name](text=case.text, **more)
    assert case.call["tokenize"](text=case.text)["count"] == 2
    found = compare.examine(case.folder, "z, x; y ☃ z, x; z")  # bytes only: the usual replacement is found among them
    assert (found.wrong, found.refusals) == ({}, {})


def test_an_end_of_text_that_the_model_has_no_vector_for(root):
    """GPT-2's default of 50256 in the config.json of a small model: nothing that starts from that mark refuses."""
    folder = defects.copy(folders.make(root, "gpt2"), root / "end beyond the rows")
    defects.config(eos_token_id=50256)(folder)
    layout = (folder / "tokenizer.json").read_text().replace('"</s>"', '"<end>"')
    (folder / "tokenizer.json").write_text(layout)
    found = compare.examine(folder)
    assert (found.refused, found.wrong, found.refusals) == ("", {}, {})


def test_a_typed_replacement_is_a_piece_that_continues_the_text(root):
    """Llama 2's tokens of a word alone are no answer; a word that the vocabulary lacks is named as such."""
    llama = compare.Case(folders.make(root, "llama", "▁ by normaliser (Llama 2)"))
    for typed in (" sat", "s", "."):
        answer = llama.call["mask"](text=llama.text, replacement=typed)
        assert bytes(answer["replacement"]["bytes"]) == typed.encode()
    with pytest.raises(Refused, match='"sat", which is 3 tokens in this vocabulary'):
        llama.call["mask"](text=llama.text, replacement="sat")
    words = compare.Case(folders.make(root, "llama", "whole words"))
    with pytest.raises(Refused, match='" zebra", which is unknown in this vocabulary'):
        words.call["mask"](text=words.text, replacement=" zebra")


def test_a_text_is_told_what_became_of_each_stretch(root):
    case = compare.Case(folders.make(root, "llama", "unigram, NFKC, unknown"))
    answer = case.call["tokenize"](text="cat ☃ ﬁ")
    kept = [(loss["kind"], loss["start"], loss["stop"], loss["was"], loss["became"]) for loss in answer["losses"]]
    assert kept == [("added", 0, 0, "", "·"), ("unknown", 4, 5, "☃", "<unk>"), ("normalised", 6, 7, "ﬁ", "fi")]
    assert answer["lost_bytes"] == 3


def test_the_checks_can_fail(root):
    """A planted difference of every kind is found: else all of the above would say nothing."""
    case = compare.Case(folders.make(root, "llama"))
    with torch.no_grad():
        case.decoder.model.model.layers[1].self_attn.v_proj.weight[0, 0] += 0.01
    for name in ("logits", "surprisal", "next_token"):
        with pytest.raises(AssertionError, match="differs from the library's"):
            compare.CHECKS[name](case)
    with torch.no_grad():
        case.decoder.model.model.layers[0].self_attn.q_proj.weight.mul_(1.01)
    for name in ("attention", "heads"):
        with pytest.raises(AssertionError, match="differs from the library's"):
            compare.CHECKS[name](case)
    with pytest.raises(Refused, match="layer is 99"):
        case.call["attention"](text="the cat", layer=99)

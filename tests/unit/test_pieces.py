"""Pieces that continue a text, what a tokenizer loses, and texts that stay whole: over every layout of a vocabulary."""

from __future__ import annotations

import json

import pytest
import tokenizers

from gptviz.decoder.lost import Loss, losses, lost_bytes
from gptviz.decoder.pieces import continuing, distinct, everyday, single
from gptviz.decoder.tokens import Tokenizer
from gptviz.decoder.vocabularies import Fast
from gptviz.lab.looking.heads import PROBE
from tests.odd.layouts import LAYOUTS, WORDS

# Layouts whose tokens are the text's own bytes, but for a blank before it and for a normaliser's work.
EXACT = [name for name in LAYOUTS if name not in ("WordPiece", "end of word", "whole words", "unigram, NFKC, unknown")]


@pytest.fixture(scope="module")
def vocabularies() -> dict[str, Tokenizer]:
    return {name: Tokenizer(Fast(make(), [2]), name) for name, make in LAYOUTS.items()}


@pytest.fixture(params=LAYOUTS)
def tokenizer(request, vocabularies) -> Tokenizer:
    return vocabularies[request.param]


@pytest.mark.parametrize("word", WORDS[:8])
def test_a_word_with_its_blank_is_one_piece_that_continues_a_text(tokenizer, word):
    """The same id that the vocabulary itself gives the word in the middle of a sentence."""
    found = single(tokenizer, f" {word}")
    assert found is not None
    assert tokenizer.encode(f"it {word} it", begin=False)[-2] == found
    assert tokenizer.token(found).bytes.strip() == word.encode()


CONTINUED = [
    (name, text)
    for name in EXACT
    for text in (" the", "the", "s", " cat sat.", ".", "  the", "\n", "☃")
    if not ("unigram" in name and text in ("  the", "\n"))  # that normaliser rewrites blanks
]


@pytest.mark.parametrize(("name", "text"), CONTINUED)
def test_a_continuation_adds_its_own_bytes_and_nothing_else(vocabularies, name, text):
    tokenizer = vocabularies[name]
    ids = continuing(tokenizer, text)
    assert tokenizer.decode_bytes(ids) == text.encode()


def test_a_blank_put_before_every_text_is_no_part_of_a_replacement(vocabularies):
    """Llama 2's own tokens of " the" are two; of "the", the piece with a blank: neither is what was typed."""
    llama = vocabularies["▁ by normaliser (Llama 2)"]
    assert len(llama.encode(" the", begin=False)) == 2
    assert [t.shown for t in llama.tokens(continuing(llama, " the"))] == ["·the"]
    assert llama.decode_bytes(continuing(llama, "the")) == b"the"


def test_what_a_vocabulary_has_no_piece_for_is_none(vocabularies):
    assert single(vocabularies["whole words"], " zebra") is None  # the unknown mark is no answer
    assert single(vocabularies["byte-level"], " zebra") is None
    assert single(vocabularies["byte-level"], " the", vocabulary=200) is None  # the model has no vector for it


def test_gpt2_keeps_the_tokens_it_had():
    gpt2 = Tokenizer.gpt2()
    for text in (" the", "the", "ing", "'s", " Paris is", "\n\n", "é", "!!", ""):
        assert continuing(gpt2, text) == gpt2.encode(text)
    assert distinct(gpt2, PROBE.split()) == [gpt2.encode(f" {word}")[0] for word in PROBE.split()]


def test_induction_probes_are_distinct_single_pieces(tokenizer):
    found = distinct(tokenizer, PROBE.split())
    assert len(set(found)) == len(found) == len(PROBE.split())
    assert all(tokenizer.pieces.is_piece(id) for id in found)
    known = [single(tokenizer, f" {word}") for word in PROBE.split()]
    assert found[: len([id for id in known if id is not None])] == [id for id in known if id is not None]


def test_everyday_pieces_have_one_answer_for_the_poorest_vocabulary(tokenizer):
    text, id = next(everyday(tokenizer))
    assert (text, id) == (" the", single(tokenizer, " the"))
    assert next(everyday(tokenizer, vocabulary=5), (None, 5))[1] <= 5
    every = [id for _, id in everyday(tokenizer)]
    assert len(every) == len(set(every)) > 10


@pytest.mark.parametrize("prompt", ["the cat", "The cat", "a", "cat.", "the king of the old tree"])
def test_prompt_and_continuation_are_the_whole_text(tokenizer, prompt):
    """Against the decoding of all ids at once; the first blank of what is written stays."""
    ids = tokenizer.encode(prompt)
    more = continuing(tokenizer, " sat on the mat")
    assert tokenizer.decode(ids) + tokenizer.decode_after(ids, more) == tokenizer.decode([*ids, *more])
    assert tokenizer.decode_after(ids, more) == " sat on the mat"


@pytest.mark.parametrize("name", EXACT)
def test_prompt_and_continuation_are_the_typed_bytes(vocabularies, name):
    tokenizer = vocabularies[name]
    for prompt in ("the cat", "x", "old\tking.", "☃ and 漢"):
        ids = tokenizer.encode(prompt, begin=False)
        assert tokenizer.decode(ids) == prompt
        assert prompt + tokenizer.decode_after(ids, continuing(tokenizer, " the")) == prompt + " the"


@pytest.mark.parametrize("name", ["WordPiece", "end of word", "whole words"])
def test_words_are_not_glued(vocabularies, name):
    tokenizer = vocabularies[name]
    assert tokenizer.decode(tokenizer.encode("the cat sat on the mat")) == "the cat sat on the mat"
    assert name == "whole words" or tokenizer.decode(tokenizer.encode("cats sting")) == "cats sting"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("byte-level", "a  e\u0301 ﬁ ☃ \x00", []),
        ("byte-level, begin mark", "The cat", [("added", 0, 0, "<s>")]),
        ("byte-level, NFC", "cafe\u0301 e", [("normalised", 3, 5, "é")]),
        ("byte-level, blank before", "the cat", [("added", 0, 0, " ")]),
        ("byte-level, blank before", " the cat", []),
        ("▁ by normaliser (Llama 2)", "the ☃", [("added", 0, 0, "<s>"), ("added", 0, 0, " ")]),
        ("▁ by normaliser (Llama 2)", " the", [("added", 0, 0, "<s>"), ("added", 0, 0, " ")]),
        ("▁ by pre-tokenizer (Mistral)", " the", [("added", 0, 0, "<s>")]),
        ("▁, none before (Gemma)", "the cat é", [("added", 0, 0, "<s>")]),
        (
            "unigram, NFKC, byte fallback",
            "a  cat ﬁ ½",
            [("added", 0, 0, " "), ("lost", 1, 2, ""), ("normalised", 7, 8, "fi"), ("normalised", 9, 10, "1⁄2")],
        ),
        ("unigram, NFKC, unknown", "cat ☃ e\u0301", [("added", 0, 0, " "), ("unknown", 4, 5, "<unk>"),
                                                     ("unknown", 6, 8, "<unk>")]),
        ("WordPiece", "Cat ☃ sat", [("added", 0, 0, " "), ("normalised", 0, 1, "c"), ("unknown", 4, 5, "·<unk>")]),
        ("WordPiece", "cafe\u0301", [("added", 0, 0, " "), ("lost", 4, 5, "")]),
        ("whole words", "the zebra sat", [("added", 0, 0, " "), ("unknown", 4, 9, "·<unk>")]),
        ("end of word", "the cat", [("added", 7, 7, " ")]),
    ],
)  # fmt: skip
def test_each_stretch_that_was_not_kept_is_named(vocabularies, name, text, expected):
    assert losses(vocabularies[name], text) == [Loss(*loss) for loss in expected]


def test_a_kept_text_loses_nothing_and_a_lost_one_its_bytes(vocabularies):
    assert losses(Tokenizer.gpt2(), "e\u0301 ☃ <|endoftext|>\x00") == []
    words = vocabularies["whole words"]
    assert lost_bytes("the ☃ sat", losses(words, "the ☃ sat")) == len("☃".encode())
    nfc = vocabularies["byte-level, NFC"]
    assert lost_bytes("e\u0301", losses(nfc, "e\u0301")) == 0  # written another way, not lost


def test_the_stretches_account_for_the_whole_text(tokenizer):
    """Putting every stretch's replacement in its place gives what the tokens stand for."""
    for text in ("The cat sat.", "a  e\u0301 ﬁ ☃ ", " the", "x\x00y", "각 각 Ⅷ ½", "THE OLD KING, is it?"):
        body = [loss for loss in losses(tokenizer, text) if not (loss.kind == "added" and loss.became == "<s>")]
        rebuilt, done = "", 0
        for loss in body:
            assert done <= loss.start <= loss.stop <= len(text)
            rebuilt += text[done : loss.start] + loss.became.replace("·", " ")
            done = loss.stop
        rebuilt += text[done:]
        ids = tokenizer.encode(text, begin=False)
        assert "".join(rebuilt.split()) == "".join(tokenizer.decode_bytes(ids).decode().split())


def test_a_piece_that_no_table_has_is_shown_raw():
    layout = json.loads(LAYOUTS["byte-level"]().to_str())
    layout["model"]["vocab"]["→never"] = 400
    odd = Tokenizer(Fast(tokenizers.Tokenizer.from_str(json.dumps(layout)), [2]))
    assert (odd.token(400).shown, odd.token(400).bytes) == ("→never", "→never".encode())
    assert odd.token(399).shown == "⟨unused 399⟩"
    blanks = LAYOUTS["▁, none before (Gemma)"]().to_str()
    ugly = Tokenizer(Fast(tokenizers.Tokenizer.from_str(blanks.replace('"<0x54>"', '"<0xZZ>"')), [2]))
    assert isinstance(ugly.pieces, Fast)
    assert ugly.token(ugly.pieces.engine.token_to_id("<0xZZ>")).shown == "<0xZZ>"

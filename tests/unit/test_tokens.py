"""Tokens against transformers' own tokenizers, byte for byte."""

import json
import random
import re

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, GPT2Tokenizer

from gptviz.decoder.errors import UserError
from gptviz.decoder.tokens import END_OF_TEXT, Tokenizer, byte_letters

LETTERS = byte_letters()
PIECES = [
    *[" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\x00", "\x1b", "\x7f", "\x85", "\u200b"],
    *["'s", "'ll", "'RE", "’s", "don't", "Hello", "hello", "the", " the", "Zürich", "straße", "ﬁ", "ǅ"],
    *["0", "12345", "٣٤", "Ⅷ", "½", "1_000", "3.14e-7", "ाि", "नमस्ते", "e\u0301", "\u0301", "שלום", "مرحبا"],
    *["👨‍👩‍👧", "🏳️‍🌈", "👍🏽", "☃", "🇨🇭", "𝔘𝔫𝔦", "𐍈", "漢字", "かな", "한국어", "\ufffd", "\U0010ffff", "\ue000"],
    *["<|endoftext|>", "<|end", "|>", "...", "!?", "--", "==", "#", "$", "{}", "\\", "http://x.y/?a=1&b=2"],
]


def word(piece):
    return "".join(LETTERS[byte] for byte in piece)


def merges_of(ranks):
    """The merge rules behind the ranks: each piece splits into the two that lower ranks build."""
    rules = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [piece[i : i + 1] for i in range(len(piece))]
        while len(parts) > 2:
            _, i = min((ranks.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1))
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(piece) > 1:
            rules.append((word(parts[0]), word(parts[1])))
    return rules


@pytest.fixture(scope="module")
def gpt2():
    return Tokenizer.gpt2()


@pytest.fixture(scope="module")
def library(gpt2):
    ranks = gpt2.pieces.ranks
    vocabulary = {word(piece): rank for piece, rank in ranks.items()} | {END_OF_TEXT: 50256}
    return GPT2Tokenizer(vocab=vocabulary, merges=merges_of(ranks))


def any_character(rng):
    code = rng.choice([rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0x10000), rng.randrange(0x110000)])
    return "x" if 0xD800 <= code < 0xE000 else chr(code)


def any_text(rng):
    return "".join(
        rng.choice(PIECES) if rng.random() < 0.6 else any_character(rng) for _ in range(rng.randrange(1, 24))
    )


def test_equals_the_library_on_a_fuzz(gpt2, library):
    rng = random.Random(20)
    engine = library.backend_tokenizer
    engine.encode_special_tokens = True
    for _ in range(12_000):
        text = any_text(rng)
        ids = gpt2.encode(text)
        assert ids == engine.encode(text, add_special_tokens=False).ids, repr(text)
        assert gpt2.decode_bytes(ids) == text.encode()
        assert gpt2.decode(ids) == text
        assert not any("�" in token.shown for token in gpt2.tokens(ids))


@pytest.mark.parametrize("step", [49, pytest.param(7, marks=pytest.mark.slow)])
def test_equals_the_library_on_every_plane(gpt2, library, step):
    """Letters, digits and blanks are told apart by Unicode tables that must agree; one code point in `step`."""
    engine = library.backend_tokenizer
    for code in range(3, 0x110000, step):
        if not 0xD800 <= code < 0xE000:
            text = f"a{chr(code)}b 1{chr(code)}2 .{chr(code)}. {chr(code)}\n{chr(code)}  {chr(code)}"
            assert gpt2.encode(text) == engine.encode(text, add_special_tokens=False).ids, hex(code)


@pytest.mark.parametrize(
    "text",
    [
        " " * 300_000 + "x",
        "\n" * 1500 + " x",
        "a" + " " * 3000 + "\n" * 2000 + "b  ",
        "x" + "\u3000" * 1200 + "y",
        " " * 5000,
    ],
    ids=["blanks then a word", "newlines", "mixed", "wide blanks", "only blanks"],
)
def test_long_blanks_equal_the_library(gpt2, library, text):
    assert gpt2.encode(text) == library.backend_tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("text", ["a" * 10**6, " " * 10**6 + "x", "hello it's " * 90_000, "👨‍👩‍👧" * 55_000])
def test_a_megabyte_is_encoded_in_parts_that_stay_quick(gpt2, text, monkeypatch):
    """The engine looks back once for each blank of a run before a word: each part it is given ends with its run.

    How long that takes is measured by `python -m bench tokens`.
    """
    parts: list[str] = []
    engine = gpt2.pieces.encoding

    class Watched:
        def encode_ordinary(self, part: str) -> list[int]:
            parts.append(part)
            return engine.encode_ordinary(part)

    monkeypatch.setattr(gpt2.pieces, "encoding", Watched())
    ids = gpt2.encode(text)
    monkeypatch.undo()
    assert gpt2.decode_bytes(ids) == text.encode()
    assert "".join(parts) == text  # each character once
    assert len(parts) <= 2
    assert not any(re.search(r"\s{1000}", part.rstrip()) for part in parts)


def test_known_ids(gpt2):
    assert gpt2.encode("The dog") == [464, 3290]
    assert gpt2.vocabulary == 50257
    assert gpt2.end_of_text == 50256
    assert gpt2.stops == {50256}
    assert gpt2.encode("") == []


def test_typed_end_of_text_is_ordinary(gpt2):
    ids = gpt2.encode(END_OF_TEXT)
    assert 50256 not in ids
    assert gpt2.decode(ids) == END_OF_TEXT
    assert gpt2.token(50256).bytes == END_OF_TEXT.encode()


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "\udc00\ud800"])
def test_half_a_surrogate_is_refused(gpt2, text):
    with pytest.raises(UserError, match=r"half a surrogate pair \(U\+D[89A-F]"):
        gpt2.encode(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" a", "·a"),
        ("\n", "⏎"),
        ("\t", "⇥"),
        ("\r", "␍"),
        ("\x00", "␀"),
        ("\x7f", "␡"),
        ("\u00a0", "⍽"),
        ("\u200b", "⟨U+200B⟩"),
        ("\ufffd", "⟨U+FFFD⟩"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e◌\u0301"),  # two tokens, so the mark has nothing to sit on
        ("café", "café"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("\U0010ffff", "⟨U+10FFFF⟩"),
        ("é漢👍", "é漢👍"),
    ],
)
def test_glyphs(gpt2, text, shown):
    assert "".join(group.shown for group in gpt2.groups(gpt2.encode(text))) == shown


def test_half_characters_show_their_bytes_and_join(gpt2):
    ids = gpt2.encode(" ☃!")
    assert [token.shown for token in gpt2.tokens(ids)] == ["·⟨E2·98⟩", "⟨83⟩", "!"]
    assert [(g.start, g.stop, g.shown) for g in gpt2.groups(ids)] == [(0, 2, "·☃"), (2, 3, "!")]
    assert [(g.start, g.stop) for g in gpt2.groups(ids[1:])] == [(0, 1), (1, 2)]  # a stray tail joins nothing
    assert gpt2.token(ids[0]).as_json() == {"id": ids[0], "shown": "·⟨E2·98⟩", "bytes": [32, 0xE2, 0x98]}


def test_groups_cut_where_characters_end(gpt2):
    """Against Python's own decoder: text up to the end of every group decodes alone, inside a group it does not."""
    rng = random.Random(3)
    for _ in range(500):
        ids = gpt2.encode(any_text(rng))
        stops = {group.stop for group in gpt2.groups(ids)}
        for stop in range(1, len(ids) + 1):
            try:
                gpt2.decode_bytes(ids[:stop]).decode()
                whole = True
            except UnicodeDecodeError:
                whole = False
            assert (stop in stops) == whole


def test_every_token_is_visible(gpt2):
    for id in range(gpt2.vocabulary):
        shown = gpt2.token(id).shown
        assert shown
        assert "�" not in shown
        assert shown.isprintable()
        assert not shown.isspace()


def test_ids_outside_the_vocabulary(gpt2):
    assert gpt2.token(50300).shown == "⟨unused 50300⟩"
    assert gpt2.token(50300).bytes == b""
    with pytest.raises(UserError, match="−1"):
        gpt2.token(-1)


def write(folder, config, engine=None):
    (folder / "config.json").write_text(json.dumps(config))
    if engine:
        engine.save(str(folder / "tokenizer.json"))
    return folder


def byte_level_engine(library):
    """A vocabulary of its own: the first 2,000 ranks, a begin mark before every text, chat marks."""
    layout = json.loads(library.backend_tokenizer.to_str())
    pieces = {piece: id for piece, id in layout["model"]["vocab"].items() if id < 2000}
    merges = [tuple(rule) for rule in layout["model"]["merges"] if "".join(rule) in pieces]
    engine = tokenizers.Tokenizer(models.BPE(vocab=pieces, merges=merges))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    engine.add_special_tokens(["<|begin|>", "<|endoftext|>", "<|im_end|>"])
    engine.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A <|im_end|>", special_tokens=[("<|begin|>", 2000), ("<|im_end|>", 2002)]
    )
    return engine


def test_a_models_own_byte_level_vocabulary(tmp_path, library):
    engine = byte_level_engine(library)
    folder = write(tmp_path, {"model_type": "llama", "vocab_size": 2048, "eos_token_id": [2002]}, engine)
    own, stock = Tokenizer.from_folder(folder), AutoTokenizer.from_pretrained(folder)
    rng = random.Random(4)
    for _ in range(500):
        text = any_text(rng)
        expected = stock.encode(text, split_special_tokens=True, add_special_tokens=False)
        assert own.encode(text, begin=False) == expected
        assert own.encode(text) == [2000, *expected]  # the begin mark is there, and to be seen
        assert own.decode_bytes(expected) == text.encode()
    assert own.token(2000).shown == "<|begin|>"
    assert own.vocabulary == 2003
    assert own.end_of_text == 2001
    assert own.stops == {2001, 2002}
    assert own.token(2040).shown == "⟨unused 2040⟩"


def test_blank_pieces_with_byte_fallback(tmp_path):
    """The layout of Llama 2: ▁ for a blank, one piece per byte for what the vocabulary lacks."""
    pieces = ["<unk>", "<s>", "</s>", *[f"<0x{byte:02X}>" for byte in range(256)], "▁", "a", "b", "▁a", "▁ab", "é"]
    vocabulary = {piece: id for id, piece in enumerate(pieces)}
    engine = tokenizers.Tokenizer(
        models.BPE(vocabulary, [("▁", "a"), ("▁a", "b")], unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    engine.add_special_tokens(["<unk>", "<s>", "</s>"])
    own = Tokenizer.from_folder(write(tmp_path, {"model_type": "llama", "eos_token_id": 2}, engine))
    ids = own.encode("ab é☃")
    assert ids == engine.encode("ab é☃", add_special_tokens=False).ids
    assert [token.shown for token in own.tokens(ids)] == ["·ab", "·", "é", "⟨E2⟩", "⟨98⟩", "⟨83⟩"]
    assert own.groups(ids)[-1].shown == "☃"
    assert own.groups(ids)[-1].stop - own.groups(ids)[-1].start == 3
    assert own.decode(ids) == engine.decode(ids) == "ab é☃"
    assert own.decode_bytes(ids) == " ab é☃".encode()
    assert own.end_of_text == 2


def test_gpt2_folders(tmp_path, library):
    """A GPT-2 folder is served from the ranks; the same shape with another vocabulary is not."""
    config = {"model_type": "gpt2", "vocab_size": 50257, "eos_token_id": 50256}
    assert Tokenizer.from_folder(write(tmp_path, config)).name == "gpt2"
    vocabulary = library.get_vocab()
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    assert Tokenizer.from_folder(tmp_path).name == "gpt2"
    (tmp_path / "vocab.json").unlink()
    engine = byte_level_engine(library)
    assert Tokenizer.from_folder(write(tmp_path, config, engine)).vocabulary == 2003


def test_a_vocabulary_without_an_end_is_refused(tmp_path):
    engine = tokenizers.Tokenizer(models.BPE({"a": 0}, []))
    with pytest.raises(UserError, match="end-of-text"):
        Tokenizer.from_folder(write(tmp_path, {"model_type": "llama"}, engine))

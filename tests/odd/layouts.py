"""Every layout of a tokenizer.json that decoders use, each with a vocabulary of a few hundred pieces.

Id 0 is the unknown or padding mark, 1 begins and 2 ends a text, as the tiny models of `families` expect.
"""

from __future__ import annotations

from collections.abc import Callable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from gptviz.decoder.tokens import byte_letters

MARKS = ["<unk>", "<s>", "</s>"]
WORDS = "the a of and in to cat sat on mat red dog sun it was king old new tree bread".split()  # noqa: SIM905
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS = ".,!?'\""
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(prefix: bool = False) -> Tokenizer:
    """GPT-2, Llama 3, Qwen …: every byte is a letter, a blank belongs to the word after it."""
    pieces, merges = [*MARKS, *byte_letters().values()], list[tuple[str, str]]()
    for word in WORDS:
        _spell("Ġ" + word, pieces, merges)
    engine = Tokenizer(models.BPE(_ids(pieces), merges))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    engine.decoder = decoders.ByteLevel()
    return _marked(engine)


def byte_level_with_begin() -> Tokenizer:
    """A begin mark before every text, as in Llama 3."""
    return _begins(byte_level())


def byte_level_nfc() -> Tokenizer:
    """Qwen: an e and its accent become one é before anything else happens."""
    engine = byte_level()
    engine.normalizer = normalizers.NFC()
    return engine


def byte_level_prefix() -> Tokenizer:
    """RoBERTa-like byte pieces with a blank put before a text."""
    return byte_level(prefix=True)


def llama2() -> Tokenizer:
    """Llama 2: a ▁ put before every text by the normaliser, and one piece per byte for what is lacking."""
    engine = _blank_pieces()
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    engine.decoder = decoders.Sequence(steps)
    return _begins(engine)


def metaspace(scheme: str = "always") -> Tokenizer:
    """Mistral v0.1, TinyLlama, Phi-3: the same by a pre-tokenizer."""
    engine = _blank_pieces()
    engine.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=False)
    engine.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", prepend_scheme=scheme)])
    return _begins(engine)


def metaspace_first() -> Tokenizer:
    """A ▁ before the first piece of a text only."""
    return metaspace("first")


def gemma() -> Tokenizer:
    """Gemma: ▁ for a blank, none put before a text."""
    engine = _blank_pieces()
    engine.normalizer = normalizers.Replace(" ", "▁")
    engine.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return _begins(engine)


def unigram(byte_fallback: bool = True) -> Tokenizer:
    """SentencePiece's unigram with NFKC, which rewrites ﬁ and ½."""
    pieces = [*MARKS, *(BYTES if byte_fallback else []), "▁", *LETTERS, *SIGNS, *("▁" + word for word in WORDS)]
    scores = [(piece, 0.0 if piece in MARKS else -8.0 + len(piece)) for piece in pieces]
    engine = Tokenizer(models.Unigram(scores, 0, byte_fallback=byte_fallback))
    engine.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    engine.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always")
    engine.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace("▁", prepend_scheme="always")])
    return _marked(engine)


def unigram_without_bytes() -> Tokenizer:
    """The same without byte pieces: what it lacks becomes <unk>."""
    return unigram(byte_fallback=False)


def wordpiece() -> Tokenizer:
    """BERT's: words in lower case without accents, ## for what continues a word; blanks are no tokens."""
    pieces = [*MARKS, *WORDS, *LETTERS, *SIGNS, *("##" + letter for letter in LETTERS), "##s", "##ing"]
    engine = Tokenizer(models.WordPiece(_ids(pieces), unk_token="<unk>"))
    engine.normalizer = normalizers.BertNormalizer()
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece("##")
    return _marked(engine)


def end_of_word() -> Tokenizer:
    """GPT-1 and BioGPT: the last piece of a word carries </w>."""
    pieces, merges = [*MARKS, *LETTERS, *SIGNS, *(c + "</w>" for c in LETTERS + SIGNS)], list[tuple[str, str]]()
    for word in WORDS:
        _spell([*word[:-1], word[-1] + "</w>"], pieces, merges)
    engine = Tokenizer(models.BPE(_ids(pieces), merges, unk_token="<unk>", end_of_word_suffix="</w>"))
    engine.normalizer = normalizers.BertNormalizer()
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.BPEDecoder("</w>")
    return _marked(engine)


def word_level() -> Tokenizer:
    """Whole words only."""
    engine = Tokenizer(models.WordLevel(_ids([*MARKS, *WORDS, *SIGNS]), unk_token="<unk>"))
    engine.pre_tokenizer = pre_tokenizers.Whitespace()
    return _marked(engine)


LAYOUTS: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level,
    "byte-level, begin mark": byte_level_with_begin,
    "byte-level, NFC": byte_level_nfc,
    "byte-level, blank before": byte_level_prefix,
    "▁ by normaliser (Llama 2)": llama2,
    "▁ by pre-tokenizer (Mistral)": metaspace,
    "▁ before the first": metaspace_first,
    "▁, none before (Gemma)": gemma,
    "unigram, NFKC, byte fallback": unigram,
    "unigram, NFKC, unknown": unigram_without_bytes,
    "WordPiece": wordpiece,
    "end of word": end_of_word,
    "whole words": word_level,
}


def _blank_pieces() -> Tokenizer:
    pieces, merges = [*MARKS, *BYTES, "▁", *LETTERS, *SIGNS, "é"], list[tuple[str, str]]()
    for word in WORDS:
        _spell("▁" + word, pieces, merges)
    return Tokenizer(models.BPE(_ids(pieces), merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))


def _spell(parts: str | list[str], pieces: list[str], merges: list[tuple[str, str]]) -> None:
    """Add a word and the pieces on the way to it, from the left."""
    done = parts[0]
    for part in parts[1:]:
        if done + part not in pieces:
            pieces.append(done + part)
            merges.append((done, part))
        done += part


def _ids(pieces: list[str]) -> dict[str, int]:
    return {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}


def _marked(engine: Tokenizer) -> Tokenizer:
    engine.add_special_tokens(MARKS)
    return engine


def _begins(engine: Tokenizer) -> Tokenizer:
    _marked(engine).post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return engine

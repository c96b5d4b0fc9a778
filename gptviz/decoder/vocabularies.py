"""The two kinds of vocabulary: GPT-2's ranks as tiktoken runs them, and whatever a tokenizer.json describes."""

import base64
import itertools
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import tiktoken
import tokenizers

from gptviz.decoder.errors import UserError
from gptviz.places import ASSETS

END_OF_TEXT = "<|endoftext|>"
# GPT-2's own pattern, with possessive quantifiers where they change only the speed.
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
# tiktoken's pattern engine runs out of stack on some hundred thousand blanks before a word. The pattern ends a piece
# before the last blank of such a run, so cutting the text there first gives the same tokens.
_LONG_BLANK = re.compile(r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{1000,}")


Span = tuple[int, int, int]  # a token's id and the characters of the text [start, stop) that it came from


class Pieces(Protocol):
    """What a vocabulary must offer; one class for GPT-2's ranks, one for a tokenizer.json."""

    size: int  # how many ids it knows
    begin: list[int]  # ids the model expects before every text
    stops: frozenset[int]  # ids that end a text
    end_of_text: int
    unknown: int | None  # the id of whatever the vocabulary has no piece for, where there is one

    def encode(self, text: str) -> list[int]: ...
    def spans(self, text: str) -> list[Span]: ...
    def bytes_of(self, token: int) -> bytes | None: ...
    def is_piece(self, token: int) -> bool: ...
    def whole(self, data: bytes) -> bytes: ...


class Ranks:
    """GPT-2's vocabulary as tiktoken runs it."""

    def __init__(self, ranks: dict[bytes, int]) -> None:
        self.size = len(ranks) + 1
        self.end_of_text = len(ranks)
        self.unknown: int | None = None
        self.begin: list[int] = []
        self.stops = frozenset({self.end_of_text})
        self.ranks = ranks
        self.encoding = tiktoken.Encoding(
            "gpt2",
            pat_str=GPT2_PATTERN,
            mergeable_ranks=ranks,
            special_tokens={END_OF_TEXT: self.end_of_text},
            explicit_n_vocab=self.size,
        )

    @classmethod
    def gpt2(cls) -> "Ranks":
        """Read the bundled ranks: one line a piece, base64 and rank."""
        lines = (ASSETS / "gpt2.tiktoken").read_bytes().splitlines()
        return cls({base64.b64decode(piece): int(rank) for piece, rank in (line.split() for line in lines)})

    def encode(self, text: str) -> list[int]:
        cuts = [0, *(run.end() - 1 for run in _LONG_BLANK.finditer(text)), len(text)]
        parts = (text[start:stop] for start, stop in itertools.pairwise(cuts))
        return [id for part in parts for id in self.encoding.encode_ordinary(part)]

    def bytes_of(self, token: int) -> bytes | None:
        return self.encoding.decode_single_token_bytes(token) if token < self.size else None

    def is_piece(self, token: int) -> bool:
        """True for a piece of text, False for a mark."""
        return 0 <= token < self.end_of_text

    def spans(self, text: str) -> list[Span]:
        """None: these tokens are the text's own bytes, so nothing has to be traced."""
        return []

    def whole(self, data: bytes) -> bytes:
        """The bytes of a whole text as they are."""
        return data


class Fast:
    """A vocabulary kept as tokenizer.json: byte-level pieces, ▁ pieces with byte fallback, or pieces of words.

    Whatever the layout writes for a blank (Ġ, ▁, a missing ##, </w>) is a blank in the bytes of a token.
    """

    def __init__(self, engine: tokenizers.Tokenizer, stop_ids: Sequence[int] = ()) -> None:
        engine.encode_special_tokens = True  # typed <|…|> stays ordinary text
        engine.no_truncation()
        engine.no_padding()
        self.engine = engine
        layout = json.loads(engine.to_str())
        self.model: dict[str, Any] = layout["model"]
        steps = [step for part in ("normalizer", "pre_tokenizer", "decoder") for step in _steps(layout.get(part))]
        self.byte_level = any(step["type"] == "ByteLevel" for step in steps)
        self.blank = next((step["replacement"] for step in steps if step["type"] == "Metaspace"), "▁")
        self.added = {entry["id"]: entry["content"] for entry in layout.get("added_tokens", [])}
        self.size = max(engine.get_vocab(with_added_tokens=True).values()) + 1
        self.begin = _leading(engine)
        self.unknown = _unknown(engine, self.model)
        marks = [engine.token_to_id(mark) for mark in (END_OF_TEXT, "</s>", "<eos>", "<|end_of_text|>")]
        known = [mark for mark in marks if mark is not None and mark in self.added]
        self.stops = frozenset(stop_ids) | frozenset(known[:1])
        if not self.stops:
            raise UserError("loading.no_end_of_text")
        self.end_of_text = known[0] if known else min(self.stops)

    @classmethod
    def from_folder(cls, folder: Path) -> "Fast":
        """Read tokenizer.json, or let transformers build it from the folder's older files."""
        engine: tokenizers.Tokenizer
        if (folder / "tokenizer.json").is_file():
            engine = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        else:
            from transformers import AutoTokenizer  # slow to import, and only needed for old folders

            try:
                old = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
                engine = old.backend_tokenizer
            except Exception as error:
                raise UserError("loading.no_fast_tokenizer", folder=folder.name) from error
        return cls(engine, _stop_ids(folder))

    def encode(self, text: str) -> list[int]:
        return self.engine.encode(text, add_special_tokens=False).ids

    def spans(self, text: str) -> list[Span]:
        """Each token's id and the characters [start, stop) of the text that it came from."""
        found = self.engine.encode(text, add_special_tokens=False)
        return [(id, start, stop) for id, (start, stop) in zip(found.ids, found.offsets, strict=True)]

    def bytes_of(self, token: int) -> bytes | None:
        if token in self.added and token != self.unknown:  # the unknown mark stands for a piece, blank and all
            return self.added[token].encode()
        piece = self.engine.id_to_token(token)
        if piece is None:
            return None
        if self.byte_level:
            known = all(letter in _BYTE_OF for letter in piece)  # a piece that no table has stays as it is written
            return bytes(_BYTE_OF[letter] for letter in piece) if known else piece.encode()
        if _BYTE_PIECE.fullmatch(piece):
            return bytes([int(piece[3:5], 16)])
        ends = self.model.get("end_of_word_suffix") or ""
        return self._spelled(piece + ends if token == self.unknown else piece).encode()

    def is_piece(self, token: int) -> bool:
        """True for a piece of text, False for a mark, the unknown piece, or an id of no piece."""
        return token not in self.added and token != self.unknown and self.engine.id_to_token(token) is not None

    def _spelled(self, piece: str) -> str:
        ends, continues = self.model.get("end_of_word_suffix"), self.model.get("continuing_subword_prefix")
        if ends:
            return piece.removesuffix(ends) + " " * piece.endswith(ends)
        if self.model["type"] == "WordPiece" and continues:
            return piece.removeprefix(continues) if piece.startswith(continues) else " " + piece
        if self.model["type"] == "WordLevel":
            return " " + piece
        return piece.replace(self.blank, " ")

    @cached_property
    def around(self) -> tuple[bytes, bytes]:
        """What this vocabulary puts before and after every text: a blank or nothing, found by asking it."""
        for letter in "aeinothx.":
            ids = self.encode(letter)
            data = b"".join(self.bytes_of(id) or b"" for id in ids)
            before, found, after = data.partition(letter.encode())
            if found and self.unknown not in ids:
                return (b" " if before == b" " else b""), (b" " if after == b" " else b"")
        return b"", b""

    def whole(self, data: bytes) -> bytes:
        """The bytes of a whole text without what the vocabulary puts around it."""
        return data.removeprefix(self.around[0]).removesuffix(self.around[1])


def byte_letters() -> dict[int, str]:
    """The letter byte-level vocabularies write for each byte: printable Latin-1 as itself, the rest from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in set(plain)]
    return {byte: chr(byte) for byte in plain} | {byte: chr(0x100 + i) for i, byte in enumerate(rest)}


_BYTE_PIECE = re.compile("<0x[0-9A-Fa-f]{2}>")
_BYTE_OF = {letter: byte for byte, letter in byte_letters().items()}


def _steps(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """All steps in one section of a tokenizer.json, sequences unfolded."""
    if not part:
        return []
    inner = [*part.get("normalizers", []), *part.get("pretokenizers", []), *part.get("decoders", [])]
    return [part, *(found for step in inner for found in _steps(step))]


def _unknown(engine: tokenizers.Tokenizer, model: dict[str, Any]) -> int | None:
    """The id that stands for what the vocabulary lacks."""
    if isinstance(model.get("unk_id"), int):
        return model["unk_id"]
    mark = model.get("unk_token")
    return engine.token_to_id(mark) if isinstance(mark, str) else None


def _leading(engine: tokenizers.Tokenizer) -> list[int]:
    """Ids the model's own template puts before a text (a begin-of-text mark), found by asking it."""
    bare = engine.encode("a", add_special_tokens=False).ids
    full = engine.encode("a", add_special_tokens=True).ids
    extra = len(full) - len(bare)
    return next((full[:n] for n in range(extra + 1) if full[n : n + len(bare)] == bare), [])


def _stop_ids(folder: Path) -> list[int]:
    """eos_token_id of config.json and generation_config.json, as one list. UserError for anything but whole numbers."""
    found: list[int] = []
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        value = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.is_file() else None
        ids = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(id, int) and not isinstance(id, bool) and id >= 0 for id in ids):
            raise UserError("loading.odd_end_of_text", file=name, value=value)
        found += ids
    return found


def holds_gpt2(folder: Path) -> bool:
    """True when a folder is a GPT-2 whose vocabulary, if it ships one, is the original 50,257 tokens."""
    config = folder / "config.json"
    if not config.is_file():
        return False
    values = json.loads(config.read_text())
    if (values.get("model_type"), values.get("vocab_size")) != ("gpt2", 50257):
        return False
    vocabulary = _shipped_vocabulary(folder)
    if vocabulary is None:
        return True
    letters = byte_letters()
    ranks = Ranks.gpt2().ranks
    return all(vocabulary.get("".join(letters[b] for b in piece)) == rank for piece, rank in ranks.items())


def _shipped_vocabulary(folder: Path) -> dict[str, int] | None:
    for name in ("vocab.json", "tokenizer.json"):
        if (folder / name).is_file():
            values = json.loads((folder / name).read_text(encoding="utf-8"))
            pieces = values if name == "vocab.json" else values["model"]["vocab"]
            return pieces if isinstance(pieces, dict) else {}  # a list in the unigram layout: not GPT-2's
    return None

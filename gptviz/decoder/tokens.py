"""Text to tokens and back. A token is bytes, not text: nothing here trims, normalises or guesses."""

import base64
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import tiktoken
import tokenizers

from gptviz.decoder import glyphs
from gptviz.decoder.errors import UserError

ASSETS = Path(__file__).resolve().parents[2] / "assets"
END_OF_TEXT = "<|endoftext|>"
# GPT-2's own pattern, with possessive quantifiers where they change only the speed.
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
# tiktoken's pattern engine runs out of stack on some hundred thousand blanks before a word. The pattern ends a piece
# before the last blank of such a run, so cutting the text there first gives the same tokens.
_LONG_BLANK = re.compile(r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{1000,}")


@dataclass(frozen=True)
class Token:
    """One entry of the vocabulary: its id, a form a reader can see, and the bytes it stands for."""

    id: int
    shown: str
    bytes: bytes

    def as_json(self) -> dict[str, object]:
        """The token object of every endpoint: `{"id", "shown", "bytes"}`."""
        return {"id": self.id, "shown": self.shown, "bytes": list(self.bytes)}


@dataclass(frozen=True)
class Group:
    """Consecutive tokens [start, stop) that share a character; most groups hold one token."""

    start: int
    stop: int
    shown: str


class Pieces(Protocol):
    """What a vocabulary must offer; one class for GPT-2's ranks, one for a tokenizer.json."""

    size: int  # how many ids it knows
    begin: list[int]  # ids the model expects before every text
    stops: frozenset[int]  # ids that end a text
    end_of_text: int

    def encode(self, text: str) -> list[int]: ...
    def bytes_of(self, token: int) -> bytes | None: ...
    def text_of(self, data: bytes) -> str: ...


@dataclass
class Tokenizer:
    """Text ↔ token ids ↔ bytes for one model.

    Encoding takes about a second per megabyte; callers limit the length of a text before they encode it.
    """

    pieces: Pieces
    name: str = ""
    _known: dict[int, Token] = field(default_factory=dict, repr=False)

    @classmethod
    def gpt2(cls) -> "Tokenizer":
        """GPT-2's 50,257 tokens from the ranks bundled with the project; needs no network."""
        return cls(Ranks.gpt2(), "gpt2")

    @classmethod
    def from_folder(cls, folder: Path) -> "Tokenizer":
        """The tokenizer of a checkpoint folder; GPT-2's own vocabulary is served from the bundled ranks."""
        folder = Path(folder)
        if _holds_gpt2(folder):
            return cls.gpt2()
        return cls(Fast.from_folder(folder), folder.name)

    @property
    def vocabulary(self) -> int:
        """How many token ids there are (a model may have a few unused rows more)."""
        return self.pieces.size

    @property
    def end_of_text(self) -> int:
        """The id that marks the end of a text, and the one an empty prompt starts from."""
        return self.pieces.end_of_text

    @property
    def stops(self) -> frozenset[int]:
        """Every id at which writing stops."""
        return self.pieces.stops

    def encode(self, text: str, *, begin: bool = True, name: str = "The text") -> list[int]:
        """Ids of a text; `<|endoftext|>` typed by hand is ordinary characters.

        A model that expects a mark before every text gets it as a visible first id; `begin=False` leaves it out.
        `name` is what an error calls the text.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"{name} holds half a surrogate pair (U+{ord(text[error.start]):04X}) at character "
                f"{error.start}; only whole Unicode characters can be tokenized."
            ) from None
        ids = self.pieces.encode(text)
        return self.pieces.begin + ids if begin else ids

    def token(self, id: int) -> Token:
        """The token with this id; a row of the model that no text uses reads `⟨unused 50300⟩`."""
        if id not in self._known:
            if id < 0:
                raise UserError(f"Token id {id} is not a token; ids start at 0.")
            data = self.pieces.bytes_of(id)
            look = glyphs.shown(data) if data else f"⟨unused {id}⟩"
            self._known[id] = Token(id, look, data or b"")
        return self._known[id]

    def tokens(self, ids: Sequence[int]) -> list[Token]:
        """The tokens with these ids, in order."""
        return [self.token(id) for id in ids]

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The exact bytes the ids stand for."""
        return b"".join(self.token(id).bytes for id in ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids; bytes that are no whole character become U+FFFD (the strip shows them as bytes)."""
        return self.pieces.text_of(self.decode_bytes(ids))

    def groups(self, ids: Sequence[int]) -> list[Group]:
        """Split a sequence where no character is cut: tokens that form one character together stay together."""
        parts = [self.token(id).bytes for id in ids]
        whole = b"".join(parts)
        groups, start, offset = [], 0, 0
        for index, part in enumerate(parts):
            offset += len(part)
            if index + 1 < len(parts) and glyphs.inside_character(whole, offset):
                continue
            look = self.token(ids[index]).shown if start == index else glyphs.shown(b"".join(parts[start : index + 1]))
            groups.append(Group(start, index + 1, look))
            start = index + 1
        return groups


class Ranks:
    """GPT-2's vocabulary as tiktoken runs it."""

    def __init__(self, ranks: dict[bytes, int]) -> None:
        self.size = len(ranks) + 1
        self.end_of_text = len(ranks)
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

    def text_of(self, data: bytes) -> str:
        return data.decode(errors="replace")


class Fast:
    """A vocabulary kept as tokenizer.json: byte-level pieces, or ▁ pieces with byte fallback."""

    def __init__(self, engine: tokenizers.Tokenizer, stop_ids: Sequence[int] = ()) -> None:
        engine.encode_special_tokens = True  # typed <|…|> stays ordinary text
        engine.no_truncation()
        engine.no_padding()
        self.engine = engine
        layout = json.loads(engine.to_str())
        kinds = _kinds(layout.get("pre_tokenizer")) | _kinds(layout.get("decoder"))
        self.byte_level = "ByteLevel" in kinds
        self.strips_first_blank = "Strip" in _kinds(layout.get("decoder"))
        self.added = {entry["id"]: entry["content"] for entry in layout.get("added_tokens", [])}
        self.size = max(engine.get_vocab(with_added_tokens=True).values()) + 1
        self.begin = _leading(engine)
        marks = [engine.token_to_id(mark) for mark in (END_OF_TEXT, "</s>", "<eos>", "<|end_of_text|>")]
        known = [mark for mark in marks if mark is not None and mark in self.added]
        self.stops = frozenset(stop_ids) | frozenset(known[:1])
        if not self.stops:
            raise UserError("The tokenizer names no end-of-text token; a checkpoint needs eos_token_id in config.json.")
        self.end_of_text = known[0] if known else min(self.stops)

    @classmethod
    def from_folder(cls, folder: Path) -> "Fast":
        """Read tokenizer.json, or let transformers build it from the folder's older files."""
        engine: tokenizers.Tokenizer | None
        if (folder / "tokenizer.json").is_file():
            engine = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        else:
            from transformers import AutoTokenizer  # slow to import, and only needed for old folders

            old = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            engine = getattr(old, "backend_tokenizer", None)
            if engine is None:
                raise UserError(f"The folder {folder.name} holds no fast tokenizer; tokenizer.json is needed.")
        return cls(engine, _stop_ids(folder))

    def encode(self, text: str) -> list[int]:
        return self.engine.encode(text, add_special_tokens=False).ids

    def bytes_of(self, token: int) -> bytes | None:
        if token in self.added:
            return self.added[token].encode()
        piece = self.engine.id_to_token(token)
        if piece is None:
            return None
        if self.byte_level:
            return bytes(_BYTE_OF[char] for char in piece)
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes([int(piece[3:5], 16)])
        return piece.replace("▁", " ").encode()

    def text_of(self, data: bytes) -> str:
        # Vocabularies of ▁ pieces put a blank before every text, which their own decoder takes away again.
        return data.removeprefix(b" " if self.strips_first_blank else b"").decode(errors="replace")


def byte_letters() -> dict[int, str]:
    """The letter byte-level vocabularies write for each byte: printable Latin-1 as itself, the rest from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in set(plain)]
    return {byte: chr(byte) for byte in plain} | {byte: chr(0x100 + i) for i, byte in enumerate(rest)}


_BYTE_OF = {letter: byte for byte, letter in byte_letters().items()}


def _kinds(part: dict | None) -> set[str]:
    """Names of all steps in one section of a tokenizer.json, sequences unfolded."""
    if not part:
        return set()
    inner = part.get("pretokenizers", []) + part.get("decoders", [])
    return {part["type"]} | {kind for step in inner for kind in _kinds(step)}


def _leading(engine: tokenizers.Tokenizer) -> list[int]:
    """Ids the model's own template puts before a text (a begin-of-text mark), found by asking it."""
    bare = engine.encode("a", add_special_tokens=False).ids
    full = engine.encode("a", add_special_tokens=True).ids
    extra = len(full) - len(bare)
    return next((full[:n] for n in range(extra + 1) if full[n : n + len(bare)] == bare), [])


def _stop_ids(folder: Path) -> list[int]:
    """eos_token_id of config.json and generation_config.json, as one list."""
    found: list[int] = []
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        value = json.loads(path.read_text()).get("eos_token_id") if path.is_file() else None
        found += [value] if isinstance(value, int) else value or []
    return found


def _holds_gpt2(folder: Path) -> bool:
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
            return values if name == "vocab.json" else values["model"]["vocab"]
    return None

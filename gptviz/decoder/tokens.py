"""Text to tokens and back. A token is bytes, not text: nothing here trims, normalises or guesses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gptviz.decoder import glyphs
from gptviz.decoder.errors import UserError
from gptviz.decoder.vocabularies import END_OF_TEXT, Fast, Pieces, Ranks, byte_letters, holds_gpt2

__all__ = ["END_OF_TEXT", "Group", "Token", "Tokenizer", "byte_letters"]


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
        if holds_gpt2(folder):
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

    def encode(self, text: str, *, begin: bool = True, name: str = "text") -> list[int]:
        """Ids of a text; `<|endoftext|>` typed by hand is ordinary characters.

        A model that expects a mark before every text gets it as a visible first id; `begin=False` leaves it out.
        `name` is what an error calls the text.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(text[error.start]):04X}"
            raise UserError("half_a_character", name=name, half=half, at=error.start) from None
        ids = self.pieces.encode(text)
        return self.pieces.begin + ids if begin else ids

    def token(self, id: int) -> Token:
        """The token with this id; a row of the model that no text uses reads `⟨unused 50300⟩`."""
        if id not in self._known:
            if id < 0:
                raise UserError("id_negative", value=id)
            data = self.pieces.bytes_of(id)
            look = glyphs.shown(data) if data else f"⟨unused {id}⟩"  # not words: stands for a token
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
        return self.pieces.whole(self.decode_bytes(ids)).decode(errors="replace")

    def decode_after(self, prompt: Sequence[int], ids: Sequence[int]) -> str:
        """The text by which the ids continue the prompt's: a first blank is kept, so that prompt and text are one."""
        before = self.pieces.whole(self.decode_bytes(prompt))
        after = self.pieces.whole(self.decode_bytes([*prompt, *ids]))
        return after[len(before) :].decode(errors="replace")

    @cached_property
    def entries(self) -> dict[bytes, int]:
        """Every piece of the vocabulary by its bytes, in the order of the ids; marks are left out."""
        found: dict[bytes, int] = {}
        for id in range(self.vocabulary):
            if self.pieces.is_piece(id) and (data := self.pieces.bytes_of(id)):
                found.setdefault(data, id)
        return found

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

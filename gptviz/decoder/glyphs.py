"""Bytes to something a reader can see: every blank, control character and half character gets a mark."""

import unicodedata
from collections.abc import Iterator

_BLANKS = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\x7f": "␡", "\u00a0": "⍽"}
# Letters and marks by category that draw nothing: joiners, fillers, variation selectors, the blank braille cell.
_UNSEEN = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0, 0xFFFD}
_UNSEEN |= set(range(0xFE00, 0xFE10)) | set(range(0xE0100, 0xE01F0))
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}


def segments(data: bytes) -> Iterator[tuple[int, bytes, str | None]]:
    """Cut bytes into runs (offset, bytes, text); text is None where the bytes are not UTF-8."""
    start = 0
    while start < len(data):
        try:
            yield start, data[start:], data[start:].decode()
            return
        except UnicodeDecodeError as error:
            bad, end = start + error.start, start + error.end
            if error.start:
                yield start, data[start:bad], data[start:bad].decode()
            yield bad, data[bad:end], None
            start = end


def shown(data: bytes) -> str:
    """Visible form of bytes: `·` space, `⏎` newline, `⇥` tab, `⟨U+200D⟩` unseen, `⟨E2·98⟩` half a character."""
    out: list[str] = []
    broken = b""
    for _, part, text in segments(data):
        if text is None:
            broken += part
            continue
        if broken:
            out.append(_hex(broken))
            broken = b""
        out.append("".join(map(_visible, text)))
        if unicodedata.category(text[0]).startswith("M") and out[-1].startswith(text[0]):
            out[-1] = "◌" + out[-1]  # a combining mark with nothing to sit on
    if broken:
        out.append(_hex(broken))
    return "".join(out)


def _visible(char: str) -> str:
    if char in _BLANKS:
        return _BLANKS[char]
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ␀ ␁ …
    if code in _UNSEEN or unicodedata.category(char) in _UNSEEN_CATEGORIES:
        return f"⟨U+{code:04X}⟩"
    return char


def _hex(data: bytes) -> str:
    return "⟨" + "·".join(f"{byte:02X}" for byte in data) + "⟩"


def inside_character(data: bytes, offset: int) -> bool:
    """True when cutting `data` at `offset` would cut one whole UTF-8 character in two."""
    if not 0 < offset < len(data) or data[offset] & 0xC0 != 0x80:
        return False
    for lead in range(offset - 1, max(offset - 4, -1), -1):
        byte = data[lead]
        if byte & 0xC0 == 0x80:
            continue
        size = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if lead + size <= offset:
            return False
        try:
            return len(data[lead : lead + size].decode()) == 1
        except UnicodeDecodeError:
            return False
    return False

"""The file itself: scripts, styles and fonts of one page in one document, and a place for the data."""

from __future__ import annotations

import base64
import functools
import json
import re
from pathlib import Path
from typing import Any

from gptviz.places import ASSETS
from gptviz.widgets import WIDGETS, fonts

ENTRY = "kit/saved.js"
PLACE = ">null</script>"  # the browser's "save this picture" looks for it, too
RELATIVE = re.compile(r"""((?:from|import)\s+["'])(\.{1,2}/[^"']+)(["'])""")
FONTS = ("sans-latin-400-normal", "sans-latin-500-normal", "mono-latin-400-normal", "mono-latin-500-normal",
         "serif-latin-500-normal")  # fmt: skip
# Nothing may be fetched: what the document needs stands in it.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; font-src data:; "
    "img-src data: blob:"
)


@functools.cache
def template(page: str, *, with_fonts: bool = True) -> str:
    """The document of a page's picture without its data."""
    modules = needed(page)
    imports = {f"gv/{path}": _data("text/javascript", _bare(path).encode()) for path in modules}
    rooms = sorted({path.split("/")[0] for path in modules}, key=lambda room: (room != "kit", room))
    style = (_fonts() if with_fonts else "") + "".join(_style(room) for room in rooms)
    return (
        '<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>gptviz</title><style>{style}</style>'
        f'<script type="importmap">{_script({"imports": imports})}</script></head><body>'
        f'<script type="application/json" id="gv-saved"{PLACE}'
        f'<script type="module">import "gv/{ENTRY}"</script></body></html>'
    )


def document(page: str, data: dict[str, Any], *, with_fonts: bool = True) -> str:
    """The whole file. Nothing of the data can end the script it stands in, so whatever was typed stays a text."""
    return template(page, with_fonts=with_fonts).replace(PLACE, f">{_script(data)}</script>", 1)


def needed(page: str) -> list[str]:
    """The scripts of a page's picture, followed from its entry; the page's own is fetched by name."""
    waiting, found = [ENTRY, f"{page}/page.js"], list[str]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            source = (WIDGETS / path).read_text(encoding="utf-8")
            waiting += [_beside(path, other) for _, other, _ in RELATIVE.findall(source)]
    return sorted(found)


def _beside(path: str, other: str) -> str:
    return (WIDGETS / path).parent.joinpath(other).resolve().relative_to(WIDGETS.resolve()).as_posix()


def _bare(path: str) -> str:
    """A script whose imports are names that the document's import map knows."""
    source = (WIDGETS / path).read_text(encoding="utf-8")
    return RELATIVE.sub(lambda found: f"{found[1]}gv/{_beside(path, found[2])}{found[3]}", source)


def _style(room: str) -> str:
    sheets = sorted((WIDGETS / room).glob("*.css"), key=lambda p: (p.name != "tokens.css", p.name))
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


def _fonts() -> str:
    faces = fonts(ASSETS / "fonts").replace("@font-face", "\n@font-face").splitlines()
    return "".join(_inside(face) for face in faces if any(f"ibm-plex-{name}.woff2" in face for name in FONTS))


def _inside(face: str) -> str:
    path = re.search(r'url\("fonts/([^"]+)"\)', face)
    assert path is not None
    return face.replace(path[0], f'url("{_data("font/woff2", (ASSETS / "fonts" / path[1]).read_bytes())}")')


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _script(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def write(path: str | Path, text: str) -> Path:
    """Put a file in its place whole, or not at all."""
    place = Path(path)
    draft = place.with_name(f".{place.name}.part")
    draft.write_text(text, encoding="utf-8")
    return draft.replace(place)

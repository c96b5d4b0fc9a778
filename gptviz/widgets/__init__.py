"""What the browser draws: ES modules in rooms, `kit/` for what all share and a folder a page; styles beside them."""

from __future__ import annotations

from pathlib import Path

WIDGETS = Path(__file__).parent
LATIN_EXTENDED = "U+0100-02FF, U+1E00-1EFF, U+2C60-2C7F, U+A720-A7FF"


def scripts() -> list[str]:
    """The addresses of what every page needs, to be fetched ahead: the kit."""
    return [f"widgets/kit/{p.name}" for p in sorted((WIDGETS / "kit").glob("*.js"))]


def style() -> str:
    """All stylesheets as one: the kit's first, its tokens before everything."""
    kit = sorted((WIDGETS / "kit").glob("*.css"), key=lambda p: (p.name != "tokens.css", p.name))
    pages = sorted(p for p in WIDGETS.glob("*/*.css") if p.parent.name != "kit")
    return "\n".join(p.read_text(encoding="utf-8") for p in [*kit, *pages])


def fonts(folder: Path) -> str:
    """@font-face rules for the bundled fonts, their addresses relative to the stylesheet."""
    return "".join(_face(path) for path in sorted(folder.glob("*.woff2")))


def _face(path: Path) -> str:
    family, subset, weight, slope = path.stem.removeprefix("ibm-plex-").replace("latin-ext", "latinext").split("-")
    reach = f"unicode-range: {LATIN_EXTENDED};" if subset == "latinext" else ""
    return (
        f'@font-face {{ font-family: "Plex {family.capitalize()}"; font-weight: {weight}; font-style: {slope}; '
        f'font-display: swap; src: url("fonts/{path.name}") format("woff2"); {reach} }}'
    )

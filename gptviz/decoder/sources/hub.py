"""Models of the Hub: in the local cache, or fetched over the network after a short look whether it answers."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx2  # the HTTP client of huggingface_hub
from huggingface_hub import HfApi, constants, get_session, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoSibling
from tqdm import tqdm  # type: ignore[import-untyped]

from gptviz.decoder.sources import checkpoint, converted
from gptviz.decoder.sources.catalogue import Model
from gptviz.decoder.sources.progress import Meter, Progress, Report, Unavailable, explain
from gptviz.words import Said

PROBE_LIMIT = 2.0  # seconds; the library itself takes 23 to admit that nobody answers
_FAILURES = (OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, RuntimeError)


class Hub:
    """The Hub as one start of the program sees it: asked at most once whether it is there."""

    def __init__(self, *, offline: bool = False) -> None:
        self.offline = offline
        self.endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self._answers: bool | None = None

    def cached(self, model: Model) -> Path | None:
        """The snapshot folder of a model in the local cache; None where there is no whole one.

        Reads only. Unavailable, with one sentence, where a file of the cache is damaged.
        """
        for cache in _caches():
            for repo in model.hub:
                config = _in_cache(cache, repo, "config.json")
                if config is not None and _has_all(config.parent):
                    checkpoint.check(config.parent)
                    return config.parent
        return None

    def fetch(self, model: Model, report: Report) -> Path:
        """Download a model into the Hub cache and return its snapshot folder.

        Every file is checked against the checksum the Hub lists. Unavailable, with one sentence, on failure.
        """
        repo = model.hub[0]
        if constants.is_offline_mode():
            raise Unavailable("loading.hub_forbidden", model=model.name)
        report(Progress("look", 0, 0, Said("loading.asking_hub", name=model.name)))
        if not self.answers():
            raise Unavailable("loading.hub_silent", model=model.name, limit=PROBE_LIMIT)
        try:
            listed = HfApi(endpoint=self.endpoint).model_info(repo, files_metadata=True, timeout=10).siblings or []
            files = _needed({file.rfilename: file for file in listed}, model)
            cache = _writable_cache(files, model)
            size = sum(file.size or 0 for file in files)
            meter = Meter(report, "download", size, Said("loading.downloading", name=model.name))
            paths = [self._one(repo, file, cache, meter, report) for file in files]
        except GatedRepoError as error:
            raise Unavailable("loading.hub_terms", model=model.name) from error
        except RepositoryNotFoundError as error:
            raise Unavailable("loading.hub_lacks", repo=repo) from error
        except HFValidationError as error:
            raise Unavailable("loading.no_hub_id", repo=repo) from error
        except _FAILURES as error:
            raise Unavailable("loading.hub_failed", model=model.name, why=explain(error)) from error
        folder = paths[0].parent
        checkpoint.check(folder)
        return folder

    def answers(self) -> bool:
        """True when the Hub answers within PROBE_LIMIT seconds, looking up its name included."""
        if self._answers is None:
            self._answers = not self.offline and _answers(self.endpoint)
        return self._answers

    def _one(self, repo: str, file: RepoSibling, cache: Path, meter: Meter, report: Report) -> Path:
        """One file, checked; what arrives damaged is fetched once more, and discarded if that does not help."""
        before = meter.done
        for again in (False, True):
            meter.at(before)
            path = Path(
                hf_hub_download(
                    repo,
                    file.rfilename,
                    cache_dir=cache,
                    endpoint=self.endpoint,
                    force_download=again,
                    tqdm_class=_bar(meter),
                )
            )
            if _as_listed(path, file, report):
                meter.at(before + (file.size or 0))
                return path
        _discard(path)
        raise Unavailable("loading.arrived_damaged", file=file.rfilename, repo=repo)


def _answers(endpoint: str) -> bool:
    answered = threading.Event()

    def ask() -> None:
        try:
            if get_session().head(endpoint, timeout=PROBE_LIMIT).status_code < 500:
                answered.set()
        except _FAILURES:
            return  # no answer is the answer
        finally:
            done.set()

    # In a thread of its own: a name server that is silent heeds no time limit of the request.
    done = threading.Event()
    threading.Thread(target=ask, name="hub-probe", daemon=True).start()
    done.wait(PROBE_LIMIT)
    return answered.is_set()


def _caches() -> list[Path]:
    """Where Hub models are looked for: the user's Hub cache, then our own for when that one is read-only."""
    users = os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE
    return [Path(users).expanduser(), converted.cache_folder() / "hub"]


def _in_cache(cache: Path, repo: str, name: str) -> Path | None:
    """A file of the local cache, without asking the network."""
    try:
        found = try_to_load_from_cache(repo, name, cache_dir=cache)
    except HFValidationError:  # an id the Hub would refuse is in no cache either
        return None
    except OSError as error:
        raise Unavailable("loading.hub_cache_not_read", folder=cache, why=explain(error)) from error
    return Path(found) if isinstance(found, str) else None


def _writable_cache(files: list[RepoSibling], model: Model) -> Path:
    """The first cache that may be written and has room for what it lacks; Unavailable where there is none."""
    reasons: list[Said] = []
    for cache in _caches():
        lacking = (file for file in files if _in_cache(cache, model.hub[0], file.rfilename) is None)
        need = sum(file.size or 0 for file in lacking)
        try:
            cache.mkdir(parents=True, exist_ok=True)
            if not os.access(cache, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(cache))
            free = shutil.disk_usage(cache).free
        except OSError as error:
            reasons.append(explain(error))
            continue
        if free >= need:
            return cache
        reasons.append(Said("loading.too_little_free", folder=str(cache), free=free, need=need))
    raise Unavailable("loading.nowhere", model=model.name, why=reasons)


def _has_all(folder: Path) -> bool:
    """True when a snapshot was fetched whole; one that only ever held a config, say, is no damage."""
    weights = (folder / checkpoint.WEIGHTS).exists() or (folder / checkpoint.INDEX).exists()
    return weights and checkpoint.has_tokenizer(folder)


def _needed(listed: dict[str, RepoSibling], model: Model) -> list[RepoSibling]:
    """The files to fetch, small ones first. Unavailable where the repository has no config or no safetensors."""
    if checkpoint.WEIGHTS in listed:
        weights = [checkpoint.WEIGHTS]
    elif checkpoint.INDEX in listed:
        weights = [checkpoint.INDEX, *sorted(name for name in listed if checkpoint.SHARD.fullmatch(name))]
    else:
        raise Unavailable("loading.hub_no_safetensors", model=model.name)
    if "config.json" not in listed:
        raise Unavailable("loading.hub_no_config", model=model.name)
    texts = [name for name in checkpoint.TEXT_FILES if name in listed]
    return [listed[name] for name in texts + weights]


def _as_listed(path: Path, file: RepoSibling, report: Report) -> bool:
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return False
    if file.lfs is not None:
        meter = Meter(report, "check", size, Said("loading.checking", name=file.rfilename))
        return checkpoint.sha256(path, meter.add) == file.lfs.sha256
    return file.blob_id is None or checkpoint.git_sha1(path) == file.blob_id


def _discard(path: Path) -> None:
    """Remove a file of the cache and the blob it points to."""
    blob = path.resolve()
    path.unlink(missing_ok=True)
    blob.unlink(missing_ok=True)


def _bar(meter: Meter) -> type[tqdm]:
    """A progress bar for huggingface_hub that draws nothing and tells the meter the bytes that reach the disk."""

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            meter.add(n or 0)

        def update_transfer(self, n: float) -> None:
            """Bytes on the wire, fewer than on the disk where the transfer compresses; not shown."""

        def set_transfer_postfix_str(self, text: str = "", refresh: bool = True) -> None:
            """The speed on the wire; not shown."""

    return Bar

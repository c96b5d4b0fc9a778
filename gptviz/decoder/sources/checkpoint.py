"""Is this folder a whole checkpoint? Cheap checks that need no model in memory."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gptviz.decoder.sources.progress import Unavailable, explain

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
# Everything the decoder and the tokenizer read; nothing else is fetched, and never a pickle.
TEXT_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
)
SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
_LONGEST_HEADER = 100_000_000  # bytes; the format's own limit


def check(folder: Path) -> None:
    """Unavailable, with one sentence, unless the folder holds a readable config.json and whole safetensors."""
    config = _json(folder / "config.json")
    if not isinstance(config.get("model_type"), str):
        raise Unavailable("loading.no_model_type", folder=folder)
    for name in weight_files(folder):
        check_safetensors(folder / name)


def has_tokenizer(folder: Path) -> bool:
    """True when the text of a model can be read: by its own files, or for a GPT-2 by the bundled ranks."""
    own = (folder / "tokenizer.json").exists() or (folder / "vocab.json").exists()
    return own or _json(folder / "config.json").get("model_type") == "gpt2"


def weight_files(folder: Path) -> list[str]:
    """Names of the safetensors files the checkpoint consists of. Unavailable where there are none."""
    if (folder / WEIGHTS).exists():
        return [WEIGHTS]
    if (folder / INDEX).exists():
        shards = _json(folder / INDEX).get("weight_map")
        names = set(shards.values()) if isinstance(shards, dict) else set()
        if not names or not all(isinstance(name, str) and SHARD.fullmatch(name) for name in names):
            raise Unavailable("loading.no_weight_files", index=INDEX, folder=folder)
        return sorted(names)
    if (folder / WEIGHTS).is_symlink():
        raise Unavailable("loading.weights_gone", weights=WEIGHTS, folder=folder)
    if any(next(folder.glob(pattern), None) for pattern in _PICKLES):
        raise Unavailable("loading.pickle", folder=folder, weights=WEIGHTS)
    raise Unavailable("loading.no_weights", folder=folder, weights=WEIGHTS)


def check_safetensors(path: Path) -> None:
    """Unavailable unless the file is as long as its own header says it must be."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
                raise Unavailable("loading.not_whole", file=path)
            header = json.loads(file.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        wanted = 8 + length + max(ends, default=0)
    except OSError as error:
        raise Unavailable("loading.not_read", file=path, why=explain(error)) from error
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise Unavailable("loading.odd_header", file=path) from error
    if size != wanted:
        raise Unavailable("loading.odd_length", file=path, size=size, wanted=wanted)


def sha256(path: Path, seen: Callable[[int], None] | None = None) -> str:
    """The SHA-256 of a file in hex; `seen` is told the bytes of each piece read."""
    return _digest(hashlib.sha256(), path, seen)


def git_sha1(path: Path) -> str:
    """The name git gives a file's content, which is what the Hub lists for its small files."""
    return _digest(hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False), path, None)


def _digest(digest: Any, path: Path, seen: Callable[[int], None] | None) -> str:
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
            if seen is not None:
                seen(len(piece))
    return str(digest.hexdigest())


def _json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; Unavailable, with one sentence, where it is not one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Unavailable("loading.file_missing", folder=path.parent, file=path.name) from error
    except OSError as error:
        raise Unavailable("loading.not_read", file=path, why=explain(error)) from error
    except (ValueError, RecursionError) as error:
        raise Unavailable("loading.not_json", file=path) from error
    if not isinstance(value, dict):
        raise Unavailable("loading.no_object", file=path)
    return value

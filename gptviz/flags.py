"""What the command line and the GPTVIZ_ variables say, checked without any heavy import: mistakes are found at once."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gptviz.decoder.errors import UserError, brief
from gptviz.decoder.sources import catalogue
from gptviz.words import Said

ON, OFF = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")
DTYPES = ("float32", "bfloat16", "float16")
DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,2})?")
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
NAME = re.compile(r"\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:]+")
CACHE = "GPTVIZ_CACHE"  # the one variable without a flag: where converted models are kept


@dataclass(frozen=True)
class Chosen:
    """What to start: every value is one that can be used, as far as that shows without loading anything."""

    model: str
    device: str
    dtype: str
    host: str
    port: int
    root_path: str
    offline: bool
    share: bool
    mcp: bool
    hosts: frozenset[str]
    proxied: bool
    per_client: int
    per_minute: int
    body_mb: int
    cache_mb: int
    max_models: int
    metrics: bool
    access_log: bool


class Wrong(ValueError):
    """A value that cannot be: what is allowed, as the end of a sentence."""

    def __init__(self, allowed: Said) -> None:
        super().__init__(allowed)
        self.allowed = allowed


@dataclass(frozen=True)
class Flag:
    """One flag and its variable; `check` gives the value, or says with `Wrong` what is allowed."""

    name: str
    default: str
    text: Said
    check: Callable[[str], Any]

    @property
    def variable(self) -> str:
        return "GPTVIZ_" + self.name.upper().replace("-", "_")

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")


def read(arguments: Sequence[str] | None = None, variables: Mapping[str, str] = os.environ) -> Chosen:
    """The flags, then the variables, then the defaults. Exit 2 with one sentence for the first value that cannot be."""
    parser = _parser(variables)
    given = vars(parser.parse_args(arguments))
    try:
        values = {flag.field: _value(flag, given[flag.field], variables) for flag in FLAGS}
        _check_cache(variables)
    except UserError as error:
        parser.error(str(error))
    return Chosen(**values)


def unknown(variables: Mapping[str, str] = os.environ) -> list[Said]:
    """A sentence for each GPTVIZ_ variable that means nothing here, and so was probably meant as another."""
    known = [*(flag.variable for flag in FLAGS), CACHE]
    odd = sorted(name for name in variables if name.startswith("GPTVIZ_") and name not in known)
    return [_unknown(name, _meant(name, known)) for name in odd]


def _unknown(name: str, meant: str) -> Said:
    if meant:
        return Said("door.unknown_variable_meant", name=brief(name), meant=meant)
    return Said("door.unknown_variable", name=brief(name))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the usage and a fragment."""
        sentence = message[0].upper() + message[1:]
        self.exit(2, sentence if sentence.endswith(".") else Said("door.see_help", words=sentence) + "\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(status, message and message.rstrip("\n") + "\n")


def _parser(variables: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(description=Said("door.about"), allow_abbrev=False)
    for flag in FLAGS:
        now = _shown(variables.get(flag.variable) or flag.default or "-").replace("%", "%%")
        help_ = Said("door.help", text=flag.text, variable=flag.variable, now=now)
        if flag.check in (_switch, _mcp):
            parser.add_argument(f"--{flag.name}", action="store_const", const="1", help=help_)
        else:
            parser.add_argument(f"--{flag.name}", help=help_)
    return parser


def _value(flag: Flag, given: str | None, variables: Mapping[str, str]) -> Any:
    """A flag that was given wins over its variable; an empty variable counts as none."""
    where, text = (
        (f"--{flag.name}", given) if given is not None else (flag.variable, variables.get(flag.variable) or "")
    )
    if given is None and not text:
        return flag.check(flag.default)
    try:
        return flag.check(text or "")
    except Wrong as error:
        raise UserError("door.value", name=where, value=_shown(text or ""), allowed=error.allowed) from None


def _switch(text: str) -> bool:
    if text.lower() not in (*ON, *OFF):
        raise Wrong(Said("door.switch", on=ON, off=OFF[1:]))
    return text.lower() in ON


def _whole(low: int, high: int) -> Callable[[str], int]:
    def check(text: str) -> int:
        if not (re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high):
            raise Wrong(Said("door.whole", low=low, high=high))
        return int(text)

    return check


def _names(text: str) -> frozenset[str]:
    names = frozenset(name.strip().lower() for name in text.split(",") if name.strip())
    if not all(name == "*" or NAME.fullmatch(name) for name in names):
        raise Wrong(Said("door.hosts"))
    return names


def _mcp(text: str) -> bool:
    if wanted := _switch(text):
        check_mcp()
    return wanted


def check_mcp() -> None:
    """UserError unless the extra is installed that --mcp needs."""
    if importlib.util.find_spec("mcp") is None:
        raise UserError("door.needs_mcp")


def _port(text: str) -> int:
    if not (re.fullmatch(r"[0-9]{1,5}", text) and 1 <= int(text) <= 65535):
        raise Wrong(Said("door.port"))
    return int(text)


def _host(text: str) -> str:
    host = text.removeprefix("[").removesuffix("]")
    if not host or len(host) > 253 or not re.fullmatch(r"[A-Za-z0-9._:%-]+", host):
        raise Wrong(Said("door.host"))
    return host


def _device(text: str) -> str:
    if not DEVICE.fullmatch(text):
        raise Wrong(Said("door.device"))
    return text


def _dtype(text: str) -> str:
    if text not in DTYPES:
        raise Wrong(Said("door.dtype", allowed=DTYPES))
    return text


def _root_path(text: str) -> str:
    path = text.rstrip("/")
    if path and (not ROOT_PATH.fullmatch(path) or {".", ".."} & set(path.split("/"))):
        raise Wrong(Said("door.root_path"))
    return path


def _model(text: str) -> str:
    """A name that something could be loaded for. Whether it then can be is seen later, with the page up."""
    if not text:
        return ""
    found = catalogue.find(text)  # UserError, and so a sentence of its own, for what can be no name
    if isinstance(found, Path) or found.name in catalogue.MODELS or "/" in text or _in_hub_cache(text):
        return text
    # What is left is an id without an owner, as in the Hub's first years: now hardly ever anything but a slip.
    if meant := _meant(text, list(catalogue.MODELS)):
        raise Wrong(Said("door.no_model_meant", meant=meant, allowed=catalogue.allowed()))
    raise Wrong(Said("door.no_model", allowed=catalogue.allowed()))


def _in_hub_cache(name: str) -> bool:
    from huggingface_hub import constants

    users = os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE
    return (Path(users).expanduser() / f"models--{name}").is_dir()


def _check_cache(variables: Mapping[str, str]) -> None:
    """UserError where converted models could never be kept: a file stands in the way."""
    text = variables.get(CACHE, "")
    try:
        path = Path(text).expanduser() if text else None
        while path is not None and not path.exists() and path != path.parent:
            path = path.parent
        usable = path is None or path.is_dir()
    except (OSError, RuntimeError, ValueError):
        usable = False
    if not usable:
        raise UserError("door.value", name=CACHE, value=_shown(text), allowed=Said("door.cache"))


def _meant(name: str, known: list[str]) -> str:
    """What was probably meant; empty where nothing is near."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.7)), "")


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in brief(text))


FLAGS = (
    Flag("model", "", Said("door.help_model"), _model),
    Flag("device", "auto", Said("door.help_device"), _device),
    Flag("dtype", "float32", Said("door.help_dtype"), _dtype),
    Flag(
        "host",
        "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1",
        Said("door.help_host"),
        _host,
    ),
    Flag("port", "7860", Said("door.help_port"), _port),
    Flag("root-path", "", Said("door.help_root_path"), _root_path),
    Flag("offline", "", Said("door.help_offline"), _switch),
    Flag("share", "", Said("door.help_share"), _switch),
    Flag("mcp", "", Said("door.help_mcp"), _mcp),
    Flag("hosts", "", Said("door.help_hosts"), _names),
    Flag("proxied", "", Said("door.help_proxied"), _switch),
    Flag("per-client", "250", Said("door.help_per_client"), _whole(1, 100_000)),
    Flag("per-minute", "6000", Said("door.help_per_minute"), _whole(0, 10_000_000)),
    Flag("body-mb", "4", Said("door.help_body_mb"), _whole(1, 100)),
    Flag("cache-mb", "512", Said("door.help_cache_mb"), _whole(8, 1_000_000)),
    Flag("max-models", "2", Said("door.help_max_models"), _whole(1, 16)),
    Flag("metrics", "", Said("door.help_metrics"), _switch),
    Flag("access-log", "", Said("door.help_access_log"), _switch),
)

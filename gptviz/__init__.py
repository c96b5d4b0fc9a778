"""See how a decoder-only language model works, on a real model, with numbers you can check.

`gptviz.load("nano")` gives a model for a notebook; nothing heavy is imported until it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gptviz.api import Model, load
    from gptviz.decoder.errors import UserError

__version__ = "0.1.0"
__all__ = ["Model", "UserError", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in ("Model", "load"):
        from gptviz import api

        return getattr(api, name)
    if name == "UserError":
        from gptviz.decoder.errors import UserError

        return UserError
    raise AttributeError(f"module 'gptviz' has no attribute {name!r}")  # not words: a mistake in code


def __dir__() -> list[str]:
    return sorted(__all__)

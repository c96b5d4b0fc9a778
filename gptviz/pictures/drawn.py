"""What a result in Python can do beside holding numbers: say itself in a line, and be drawn. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gptviz.decoder.errors import UserError

if TYPE_CHECKING:
    from gptviz.pictures.picture import Picture

T = TypeVar("T", bound="Drawn")
LINE = 40  # characters of one value


class Drawn:
    """A result that can be seen: `show()` in a notebook, `save_html(name)` as one file."""

    _make: Callable[[], Picture] | None = None

    def picture(self) -> Picture:
        """The page's picture of this result. UserError where there is none."""
        if self._make is None:
            raise UserError("no_picture")
        return self._make()

    def show(self) -> None:
        """Draw it below the cell of a notebook. UserError outside of one."""
        try:
            from IPython import get_ipython
            from IPython.display import display
        except ImportError:
            raise UserError("no_notebook") from None
        if get_ipython() is None:
            raise UserError("no_notebook")
        display(self.picture())

    def save_html(self, path: str | Path) -> Path:
        """Write the picture as one file that opens from a disk, without a server or a network. Returns its path."""
        return self.picture().save_html(path)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={_short(value)}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({said})"


def drawn(kind: type[T], found: Any, make: Callable[[], Picture] | None) -> T:
    """The same result as one that can be drawn; `kind` is a subclass of its class."""
    whole = object.__new__(kind)
    whole.__dict__.update(vars(found), _make=make)
    return whole


def _short(value: Any) -> str:
    """A tensor by its shape, all else in a few characters."""
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return f"[{' × '.join(map(str, shape))}]"
    if is_dataclass(value):
        return "…"
    said = repr(value)
    return said if len(said) <= LINE else f"{said[: LINE - 1]}…"

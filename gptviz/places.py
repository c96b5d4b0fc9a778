"""Where the files are that come with gptviz: beside the package in a checkout, inside it once it is installed."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
ASSETS = _HERE / "assets" if (_HERE / "assets").is_dir() else _HERE.parent / "assets"
LESSONS = ASSETS / "lessons"

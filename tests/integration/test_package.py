"""The package as pip makes it, from a folder with blanks: whole, with its command, and light to import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "gptviz",
    "assets",
    "pyproject.toml",
    "setup.py",
    "MANIFEST.in",
    "requirements.txt",
    "requirements-mcp.txt",
    "README.md",
    "LICENSE",
)
LIGHT = """
import sys, gptviz
assert not {"torch", "transformers", "gradio", "numpy", "babel"} & set(sys.modules), "import gptviz loads too much"
from gptviz import words_check
from gptviz.decoder.sources import catalogue, checkpoint
from gptviz.places import ASSETS
words_check.check()
checkpoint.check(catalogue.MODELS["nano"].bundled)
print(ASSETS, gptviz.__version__, sep="\\n")
from gptviz.cli import main
main(["--help"])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made without the network from a copy under a path with blanks."""
    folder = tmp_path_factory.mktemp("a folder with blanks")
    source = folder / "the source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source / part)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "-w", str(folder / "out"), str(source)], check=True, timeout=170)
    (wheel,) = (folder / "out").glob("*.whl")
    return wheel


def test_the_package_holds_every_file(built: Path) -> None:
    with zipfile.ZipFile(built) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    code = {p.relative_to(ROOT).as_posix() for p in (ROOT / "gptviz").rglob("*") if p.is_file()}
    assets = {"gptviz/" + p.relative_to(ROOT).as_posix() for p in (ROOT / "assets").rglob("*") if p.is_file()}
    assert inside == {name for name in code | assets if not name.endswith(".pyc")}


def test_the_package_has_its_command_and_needs_what_requirements_txt_says(built: Path) -> None:
    with zipfile.ZipFile(built) as wheel:
        (about,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        told = wheel.read(about).decode().splitlines()
        entries = wheel.read(about.replace("METADATA", "entry_points.txt")).decode()
    pins = [line.split()[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line[:40]]
    assert [line.partition(": ")[2] for line in told if line.startswith("Requires-Dist: ")] == [
        *pins,
        'gradio[mcp]==6.31.0; extra == "mcp"',
    ]
    assert "gptviz = gptviz.cli:main" in entries
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.15"


def test_the_installed_package_finds_its_files_and_imports_nothing_heavy(built: Path, tmp_path: Path) -> None:
    place = tmp_path / "in stalled"
    with zipfile.ZipFile(built) as wheel:
        wheel.extractall(place)
    done = subprocess.run(
        [sys.executable, "-c", LIGHT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assets, version, usage = done.stdout.split("\n", 2)
    assert Path(assets) == place / "gptviz" / "assets"
    assert built.name.startswith(f"gptviz-{version}-")
    assert "--model" in usage

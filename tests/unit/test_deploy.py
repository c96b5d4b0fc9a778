"""What documents and files for deployment say is what the code takes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from gptviz import __version__
from gptviz.flags import CACHE, FLAGS

ROOT = Path(__file__).parents[2]
VARIABLES = {flag.variable for flag in FLAGS} | {CACHE}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_lists_every_flag_with_its_variable_and_default() -> None:
    rows = re.findall(r"^\| `--([\w-]+)` \| `(\w+)` \|([^|]*)\|", text("README.md"), re.MULTILINE)
    assert [(name, variable) for name, variable, _ in rows] == [(flag.name, flag.variable) for flag in FLAGS]
    said = {name: default.strip(" `") for name, _, default in rows}
    for flag in FLAGS:
        if flag.default:
            assert said[flag.name] == flag.default


def test_only_variables_that_mean_something_are_named() -> None:
    for name in ("README.md", "docs/deploy.md", "Dockerfile", "compose.yaml"):
        named = set(re.findall(r"\bGPTVIZ_[A-Z_]*[A-Z]\b", text(name)))
        assert named <= VARIABLES, name


def test_the_dockerfile_copies_what_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in text(".dockerignore").splitlines() if line.startswith("!")}
    copied = {
        part for line in re.findall(r"^COPY (.+) \S+$", text("Dockerfile"), re.MULTILINE) for part in line.split()
    }
    assert copied <= kept
    for name in kept:
        assert (ROOT / name).exists(), name


def test_one_version_is_stated_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in text("CITATION.cff")
    pins = dict(re.findall(r"^(\w+)==([\w.]+)", text("requirements.txt"), re.MULTILINE))
    assert f"sdk_version: {pins['gradio']}\n" in text("README.md")
    for name in ("README.md", "docs/deploy.md"):
        assert set(re.findall(r"torch==([\d.]+\d)", text(name))) == {pins["torch"]}


def test_dockerfile_python_is_one_that_the_package_takes() -> None:
    found = re.search(r"python:3\.(\d+)-", text("Dockerfile"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert found
    assert project["requires-python"] == ">=3.11,<3.15"
    assert 11 <= int(found[1]) < 15

"""The example of docs/adding-a-lesson.md is a lesson: written into a copy of the project it opens, and is short."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from gptviz.lessons import PAGES

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "adding-a-lesson.md"
FILE = re.compile(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The example's files by path."""
    return dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def address(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a copy of the app that has the example among its pages."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("gptviz", "assets"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", copy)
    for path, text in files.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    registry = copy / "gptviz" / "lessons" / "__init__.py"
    keys = ", ".join(page.KEY for page in PAGES)
    registry.write_text(f"from gptviz.lessons import {keys}, sure\n\nPAGES = [{keys}, sure]\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "app.py", "--model", "nano", "--port", str(port)]
    server = subprocess.Popen(command, cwd=copy, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": ""})
    address = f"http://127.0.0.1:{port}"
    _wait(f"{address}/health", server)
    yield address
    server.terminate()
    server.wait()


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    """Until the server answers; a server that has ended will not."""
    for _ in range(600):
        assert server.poll() is None
        with contextlib.suppress(OSError), urllib.request.urlopen(address):
            return
        time.sleep(0.2)
    raise AssertionError(f"{address} never answered")


def test_it_costs_at_most_seven_files_and_a_hundred_and_twenty_lines(files: dict[str, str]) -> None:
    assert len(files) + 1 <= 7  # and one line in the registry
    assert sum(len(text.splitlines()) for text in files.values()) <= 120


def test_it_opens_and_steps(address: str, chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(f"{address}/?lesson=sure")
    page.wait_for_selector('.gv-app[data-shown="sure/1/live"]')
    assert page.locator(".gv-sure-bar").count() == 14
    expect(page.locator(".gv-say")).to_contain_text("After ·to the choice is")
    page.get_by_role("button", name="Next step").click()
    expect(page.locator(".gv-say")).to_contain_text("After When the choice is")
    page.close()
    assert trouble == []


def test_programs_can_ask_it_too(address: str) -> None:
    request = urllib.request.Request(
        f"{address}/ask/sureness", b'{"text": "The cat"}', {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        assert b'"nats"' in response.read()

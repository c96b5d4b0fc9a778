"""The app at an address, and the system's own Chromium: for the tests, the benchmarks and the pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from gptviz.decoder.decoder import Decoder
from gptviz.service import Options, Service
from gptviz.shell import build

NANO = Path(__file__).resolve().parents[1] / "assets" / "nano"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def service_of(model: str) -> Service:
    """A service with one model of the catalogue, loaded."""
    service = Service(Options(model))
    service.start(wait=True)
    return service


def bundled() -> Service:
    """A service with the bundled model only."""
    service = Service()
    service.add(Decoder.load(NANO, name="nano", source="bundled"))
    return service


@contextmanager
def served(service: Service, **options: Any) -> Iterator[str]:
    """The address of an app with this service, on a port of its own, until the block ends."""
    app = build(service)
    _, address, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, **options)
    try:
        yield address
    finally:
        app.demo.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this system, or the one that CHROMIUM names."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), MAC)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()

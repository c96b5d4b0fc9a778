"""The running app without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gradio_client import Client

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from gptviz.shell import build


@pytest.fixture(scope="session")
def api_url(nano: Decoder) -> Iterator[str]:
    """The address of an app with the bundled model only."""
    service = Service()
    service.add(nano)
    app = build(service)
    _, address, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    yield address
    app.demo.close()


@pytest.fixture(scope="session")
def client(api_url: str) -> Client:
    """A client of the running app."""
    return Client(api_url, verbose=False)

"""The running app without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gradio_client import Client

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from tools.browsing import served


@pytest.fixture(scope="session")
def api_url(nano: Decoder) -> Iterator[str]:
    """The address of an app with the bundled model only."""
    service = Service()
    service.add(nano)
    with served(service) as address:
        yield address


@pytest.fixture(scope="session")
def client(api_url: str) -> Client:
    """A client of the running app."""
    return Client(api_url, verbose=False)

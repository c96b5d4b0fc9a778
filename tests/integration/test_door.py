"""The front door: the start, Ctrl-C at any moment, the health of the server, and the page below a path."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
from gradio_client import Client

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from gptviz.service.service import Status
from tests.proxy import KINDS, free_port, needs_nginx, nginx
from tools.browsing import served

ROOT = Path(__file__).parents[2]
PATIENCE = 150  # seconds; no figure, only an end for a start that hangs
# The worst moment for an interpreter to be taken down: a thread is deep in torch's own code, and stays there.
LOADING = """
import sys
from gptviz.decoder.sources import weights
def for_ever(*args, **kwargs):
    import torch
    print("loading", flush=True)
    while True:
        torch.randn(300, 300) @ torch.randn(300, 300)
weights.locate_default = for_ever
from gptviz.cli import main
main()
"""


def start(*arguments: str, code: str = "") -> subprocess.Popen[str]:
    """The app in a process of its own, on a free port, with nothing but the bundled model."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPTVIZ_")}
    begin = ["-c", code] if code else ["app.py"]
    return subprocess.Popen(
        [sys.executable, *begin, "--model", "nano", "--offline", "--port", str(free_port()), *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONUNBUFFERED": "", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """The lines that were printed, up to the one that holds this."""
    assert process.stdout
    stop = threading.Timer(PATIENCE, process.kill)
    stop.start()
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if wanted in line:
            stop.cancel()
            return lines
    stop.cancel()
    raise AssertionError(f"{wanted!r} was not printed; {lines}, {process.stderr.read() if process.stderr else ''}")


def interrupted(process: subprocess.Popen[str]) -> str:
    """What was printed as errors after Ctrl-C; the process must be gone by the signal itself."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    return errors


@pytest.mark.parametrize("wait", [0.0, 1.5])
def test_ctrl_c_while_libraries_are_imported_ends_without_a_word(wait: float) -> None:
    process = start()
    assert "is starting" in read_until(process, "is starting")[0]
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=wait)
    assert interrupted(process) == ""


def test_ctrl_c_while_a_model_loads_ends_without_traceback_or_abort() -> None:
    process = start(code=LOADING)
    lines = read_until(process, "http://")
    if "loading" not in lines:
        read_until(process, "loading")
    errors = interrupted(process)
    assert "Traceback" not in errors
    assert "terminate" not in errors


def test_the_address_stands_on_a_line_of_its_own_and_is_the_pages() -> None:
    process = start("--host", "0.0.0.0", "--root-path", "/viz")
    try:
        lines = read_until(process, "http://")
        assert "is starting" in lines[0]
        assert re.fullmatch(r"http://localhost:\d+/viz/", lines[-1])
        assert 'type="module"' in httpx.get(lines[-1]).text
        assert httpx.get(urljoin(lines[-1], "health")).json()["model"] == "nano"
    finally:
        assert "Traceback" not in interrupted(process)


@pytest.mark.skipif(sys.platform == "darwin", reason="what is asked for is a device that this system does not know")
def test_a_device_that_is_not_there_is_one_sentence() -> None:
    process = start("--device", "mps")
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert output.count("\n") == 1
    assert errors == 'device is "mps", which this machine does not have; it must be auto, cpu, cuda or mps.\n'


# Health


def test_health_says_ready_or_how_far_the_loading_is(nano: Decoder) -> None:
    service = Service()
    service.add(nano)
    with served(service) as url:
        assert httpx.get(f"{url}health").json() == {"status": "ready", "model": "nano", "fraction": None}
        service.status = Status(loading=True, sentence="Downloading.", fraction=0.25)
        answer = httpx.get(f"{url}health")
        assert answer.json() == {"status": "loading", "model": "nano", "fraction": 0.25}
        assert answer.headers["cache-control"] == "no-store"


# Below a path


@pytest.fixture(scope="module")
def below(nano: Decoder) -> Iterator[str]:
    """The address of a server that was told it is below /gptviz; without that path."""
    service = Service()
    service.add(nano)
    with served(service, root_path="/gptviz") as url:
        yield url


class Links(HTMLParser):
    """What a document asks for: scripts, stylesheets, icons."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        wanted = {"script": "src", "link": "href"}.get(tag)
        if wanted and given.get(wanted) and given.get("rel") not in ("preconnect", "canonical"):
            self.found.append(str(given[wanted]))


def everything_at(page: str) -> int:
    """Ask for all that the page names, scripts within scripts and fonts within styles too; returns how many files."""
    document = httpx.get(page)
    assert document.status_code == 200
    links = Links()
    links.feed(document.text)
    waiting, seen = [urljoin(page, link) for link in links.found], set[str]()
    while waiting:
        address = waiting.pop()
        if address in seen or not address.startswith("http://127.0.0.1"):
            continue
        seen.add(address)
        assert address.startswith(page), address
        answer = httpx.get(address)
        assert answer.status_code == 200, address
        if "/gv/" in address and address.endswith((".js", ".css")):
            named = re.findall(r"""(?:from |import |url\()["'](\.{0,2}/?[\w./-]+)["']""", answer.text)
            waiting += [urljoin(address, name) for name in named]
    assert any(address.endswith(".woff2") for address in seen)
    return len(seen)


def answers_at(page: str) -> None:
    """A question of the page, a long one, and a program's."""
    kit = re.search(r'src="(gv/\w+/)widgets/kit/main.js"', httpx.get(page).text)
    assert kit
    assert httpx.get(urljoin(page, kit[1] + "manifest-en.json")).json()["language"] == "en"
    assert httpx.post(urljoin(page, "ask/tokenize"), json={"text": "one two"}).json()["count"] == 2
    assert Client(page, verbose=False).predict(text="one two", api_name="/tokenize")["count"] == 2
    assert httpx.get(urljoin(page, "health")).json()["status"] == "ready"


@pytest.mark.parametrize("path", ["", "gptviz/"])
def test_every_file_and_question_is_there_with_the_path_and_without(below: str, path: str) -> None:
    assert everything_at(below + path) > 30
    answers_at(below + path)


def test_the_path_without_its_slash_is_sent_on_with_the_state_of_the_page(below: str) -> None:
    answer = httpx.get(f"{below}gptviz?prompt=a%20b&step=2")
    assert answer.status_code == 308
    assert answer.headers["location"] == "/gptviz/?prompt=a%20b&step=2"


@pytest.mark.parametrize("path", ["gptvizard/", "gptviz/gptviz/health", "other/health"])
def test_other_paths_are_not_the_page(below: str, path: str) -> None:
    assert httpx.get(below + path).status_code == 404


@needs_nginx
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_and_question_is_there_behind_nginx(below: str, kind: str, tmp_path: Path) -> None:
    with nginx(tmp_path, kind, int(below.rstrip("/").rpartition(":")[2])) as page:
        assert everything_at(page) > 30
        answers_at(page)
        assert httpx.get(page.rstrip("/") + "?step=2", follow_redirects=True).status_code == 200

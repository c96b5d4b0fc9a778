"""What operators set and see: figures, an access log without inputs, bounds on models and memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gptviz.cli import _serving
from gptviz.decoder.decoder import Decoder
from gptviz.flags import read
from gptviz.service import Keep, Options, Service
from gptviz.shell import build
from gptviz.web.serving import Serving


@pytest.fixture(scope="module")
def watched(nano: Decoder) -> Iterator[str]:
    service = Service()
    service.add(nano)
    app = build(service, Serving(metrics=True, access_log=True))
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    yield url
    app.demo.close()


def figures(url: str) -> dict[tuple, float]:
    families = text_string_to_metric_families(httpx.get(f"{url}metrics").text)
    return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}


def test_figures_count_requests_by_question_and_outcome(watched: str) -> None:
    for text in ("a", "b", ""):
        httpx.post(f"{watched}ask/reading", json={"text": text})
    httpx.post(f"{watched}ask/secret_name", json={})
    found = figures(watched)
    assert found["gptviz_requests_total", "200", "ask", "reading"] == 2
    assert found["gptviz_requests_total", "400", "ask", "reading"] == 1
    assert found["gptviz_requests_total", "", "404", "ask"] == 1
    assert found["gptviz_models",] == 1
    assert found["gptviz_line_quick",] == 0
    assert found["process_resident_memory_bytes",] > 1e8
    assert not any("secret_name" in str(key) for key in found)


def logged(caplog: pytest.LogCaptureFixture, count: int) -> list[str]:
    """The lines of the access log; the last is written only after its answer went out."""
    end = time.monotonic() + 30
    while True:
        lines = [record.getMessage() for record in caplog.records if record.name == "gptviz.access"]
        if len(lines) >= count or time.monotonic() > end:
            return lines
        time.sleep(0.01)


def test_the_access_log_has_a_line_for_each_request_and_no_input(watched: str, caplog) -> None:
    with caplog.at_level(logging.INFO, logger="gptviz.access"):
        httpx.post(f"{watched}ask/reading?q=zqxj1", json={"text": "zqxj2"})
        httpx.get(f"{watched}zqxj3/zqxj4%0azqxj5?x=zqxj6", headers={"user-agent": "zqxj7", "referer": "zqxj8"})
        httpx.post(f"{watched}ask/zqxj9", json={})
        lines = logged(caplog, 3)
    assert [line.split()[1:5] for line in lines] == [
        ["POST", "ask", "reading", "200"], ["GET", "other", "-", "404"], ["POST", "ask", "-", "404"],
    ]  # fmt: skip
    assert "zqxj" not in "".join(lines)


def test_without_its_flag_there_are_no_figures(api_url: str) -> None:
    assert httpx.get(f"{api_url}metrics").status_code == 404


def test_a_model_too_many_goes_with_all_that_was_kept_of_it(nano: Decoder, tiny_gpt2: Decoder) -> None:
    service = Service(Options(max_models=1))
    service.add(nano)
    service.run(nano, [1, 2, 3], keep=Keep(residual=True))
    assert service.cache_bytes > 0
    service.add(tiny_gpt2)
    assert service.names == [tiny_gpt2.name]
    assert service.cache_bytes == 0


def test_the_cache_takes_no_more_than_its_flag_says(nano: Decoder) -> None:
    service = Service(Options(cache_mb=8))
    service.add(nano)
    for i in range(30):
        service.run(nano, [i, 2, 3, 4, 5, 6, 7, 8])
    assert 4 * 2**20 < service.cache_bytes <= 8 * 2**20


@pytest.mark.parametrize(
    ("flags", "knows", "not_"),
    [
        ([], ["127.0.0.1:7860", "localhost", "[::1]:7860"], ["viz.example", "192.168.0.7"]),
        (["--host", "0.0.0.0"], ["viz.example", "192.168.0.7:7860"], []),
        (["--hosts", "viz.example,.school.org"], ["viz.example", "a.school.org", "localhost"], ["evil.example"]),
        (["--hosts", "*"], ["evil.example"], []),
        (["--share"], ["x.gradio.live", "localhost"], ["evil.example"]),
    ],
)
def test_the_names_it_answers_to_follow_the_flags(flags: list[str], knows: list[str], not_: list[str]) -> None:
    hosts = _serving(read(flags, {})).hosts
    assert all(map(hosts.knows, knows))
    assert not any(map(hosts.knows, not_))


def test_the_bounds_follow_the_flags() -> None:
    serving = _serving(read(["--per-client", "7", "--per-minute", "0", "--body-mb", "1", "--proxied"], {}))
    bounds = serving.bounds
    assert (bounds.per_client, bounds.per_minute, bounds.body_bytes) == (7, 0, 1_000_000)
    assert serving.hosts.proxied

"""The gate: what is there, who may ask, what browsers are told; nothing of what was typed reaches the log."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from gptviz.decoder.decoder import Decoder
from gptviz.service import Service
from gptviz.shell import build
from gptviz.web.gate import Hosts
from gptviz.web.serving import Serving

GONE = [
    "upload", "gradio_api/upload", "gradio_api/file=/etc/passwd", "gradio_api/file/etc/passwd", "gradio_api/proxy=x",
    "gradio_api/run/generate", "gradio_api/api/generate", "gradio_api/component_server", "gradio_api/vibe-edit",
    "gradio_api/process_recording", "gradio_api/runs", "gradio_api/deep_link", "gradio_api/stream/a", "login", "token",
    "monitoring", "custom_component/a", "docs", "openapi.json", "redoc", "nothing", "ask/", "ask/a/b", "%00",
    "..%2f..%2fetc",
]  # fmt: skip


@pytest.mark.parametrize("path", GONE)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_the_app_does_not_need_is_not_there(api_url: str, path: str, method: str) -> None:
    answer = httpx.request(method, f"{api_url}{path}")
    assert answer.status_code == 404
    assert answer.json()["error"] == "There is nothing at this address."


@pytest.mark.parametrize("path", ["ask/nothing", "gradio_api/call/nothing", "gradio_api/call/outlook"])
def test_an_unknown_question_is_404(api_url: str, path: str) -> None:
    answer = httpx.post(f"{api_url}{path}", json={"data": []})
    assert answer.status_code == 404
    assert answer.json()["error"].startswith("There is no such")


@pytest.mark.parametrize("path", ["", "health", "ask/nothing", "nothing", "config", "assets/nothing"])
def test_browsers_are_told_what_the_page_may_do(api_url: str, path: str) -> None:
    headers = httpx.get(f"{api_url}{path}").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    policy = headers["content-security-policy"]
    assert "unsafe-eval" not in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors" not in policy  # it may be embedded
    assert "'unsafe-inline'" not in policy.split("style-src")[0]


def test_every_inline_script_of_the_page_is_allowed_by_its_hash_alone(api_url: str) -> None:
    answer = httpx.get(f"{api_url}?deep_link=x&page=y")
    inline = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>", answer.text)
    assert inline
    assert answer.headers["content-security-policy"].count("'sha256-") == len(inline)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("path", ["ask/outlook", "gradio_api/call/generate", "gradio_api/queue/join"])
def test_another_page_cannot_make_it_compute(api_url: str, path: str, headers: dict[str, str]) -> None:
    answer = httpx.post(f"{api_url}{path}", json={"text": "The cat"}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"] == "Another page may not ask here."


def test_its_own_page_and_programs_may_ask(api_url: str) -> None:
    origin = api_url.rstrip("/")
    for headers in ({}, {"origin": origin}, {"sec-fetch-site": "same-origin", "origin": origin}):
        assert httpx.post(f"{api_url}ask/reading", json={"text": "a"}, headers=headers).status_code == 200


@pytest.fixture(scope="module")
def named(nano: Decoder) -> Iterator[str]:
    """An app that answers to two names, behind a proxy."""
    service = Service()
    service.add(nano)
    names = frozenset({"127.0.0.1", "viz.example", ".school.example"})
    app = build(service, Serving(hosts=Hosts(names, proxied=True)))
    _, url, _ = app.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True)
    yield url
    app.demo.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("viz.example", 200),
        ("VIZ.example:80", 200),
        ("a.school.example", 200),
        ("evil.example", 421),
        ("viz.example.evil", 421),
        ("school.example.evil", 421),
        ("a b", 421),
        ("<script>", 421),
    ],
)
def test_only_its_own_names_are_answered(named: str, host: str, status: int) -> None:
    answer = httpx.get(named, headers={"host": host})
    assert answer.status_code == status
    if status == 421:
        assert "--hosts" in answer.json()["error"]


def test_a_pages_origin_behind_a_proxy_is_the_name_it_is_reached_by(named: str) -> None:
    headers = {"host": "127.0.0.1", "origin": "https://viz.example"}
    assert httpx.post(f"{named}ask/reading", json={"text": "a"}, headers=headers).status_code == 200
    headers["origin"] = "https://evil.example"
    assert httpx.post(f"{named}ask/reading", json={"text": "a"}, headers=headers).status_code == 403

"""A page in a busy room: it waits its turn, comes back after the server, and obeys its own policy."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from gptviz.lessons import PAGES
from tests.proxy import free_port

Opener = Callable[..., Page]
ROOT = Path(__file__).parents[2]
WATCH = """window.broken = []; document.addEventListener("securitypolicyviolation", (e) =>
    window.broken.push(`${e.violatedDirective} ${e.blockedURI}`));"""


@pytest.mark.parametrize("search", [*(f"lesson={page.KEY}" for page in PAGES), "lesson=kv_cache&step=7", "view=docs"])
def test_no_page_does_what_its_policy_forbids(url: str, chromium: Browser, search: str) -> None:
    page = chromium.new_page()
    page.add_init_script(WATCH)
    page.goto(f"{url}?{search}")
    page.wait_for_selector(".gv-app[data-shown$=live]" if "lesson" in search else "text=/next_token")
    page.wait_for_timeout(700)
    assert page.evaluate("window.broken") == []
    page.close()


def test_the_page_may_stand_in_another(url: str, chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content(f'<iframe src="{url}?embed=1"></iframe>')  # of no origin at all, and so another
    page.frame_locator("iframe").locator(".gv-app[data-shown$=live]").wait_for(state="attached")
    page.close()


def test_a_full_line_is_said_with_its_place_and_asked_again(open_page: Opener, chromium: Browser, url: str) -> None:
    page = chromium.new_page()
    times = [0]

    def busy(route: Route) -> None:
        times[0] += 1
        if times[0] > 2:
            return route.continue_()
        body = json.dumps({"error": "The line is full.", "place": 40 + times[0], "retry_s": 1})
        return route.fulfill(status=503, body=body, content_type="application/json")

    page.route(re.compile("/ask/outlook"), busy)
    page.goto(f"{url}?lesson=next_token&prompt=A+cat+in+line")
    expect(page.locator(".gv-notice")).to_contain_text("you are number 41 in the line")
    page.wait_for_selector(".gv-app[data-shown$=live]")
    assert times[0] == 3
    page.close()


def serve(port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "app.py", "--model", "nano", "--offline", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).json()["status"] == "ready":
                return process
        except httpx.HTTPError:
            time.sleep(0.3)
    raise AssertionError("the server did not start")


def test_after_a_restart_in_the_middle_of_writing_the_page_is_where_it_was(chromium: Browser) -> None:
    port = free_port()
    process = serve(port)
    page = chromium.new_page()
    asked = f"lesson=next_token&step=6&guesses=0&prompt={quote('The cat sat on')}&show=writing&new=200"
    try:
        page.goto(f"http://127.0.0.1:{port}/?{asked}")
        page.wait_for_selector(".gv-app[data-shown$=live]")
        before = page.evaluate("({ page: gptviz.app.state.page, step: gptviz.app.state.step })")
        page.evaluate("gptviz.app.run('The dog ran to')")  # another text, which is now being written
        page.wait_for_timeout(150)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        page.evaluate("gptviz.app.run('The dog ran away')")
        expect(page.locator(".gv-fail")).to_contain_text("The server does not answer", timeout=20_000)
        process = serve(port)
        expect(page.locator(".gv-fail")).to_be_hidden(timeout=30_000)
        page.wait_for_selector(f".gv-app[data-shown='next_token/{before['step']}/live']")
        assert page.locator(".gv-prompt").input_value() == "The dog ran away"
        assert page.evaluate("({ page: gptviz.app.state.page, step: gptviz.app.state.step })") == before
    finally:
        process.kill()
        page.close()

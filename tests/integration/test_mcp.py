"""The endpoints as an agent's tools: a real MCP client against the app started with --mcp."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loops import finish
from tests.proxy import free_port

ROOT = Path(__file__).parents[2]
needs_mcp = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="needs the extra of requirements-mcp.txt"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the tools are, as the app itself says."""
    process = subprocess.Popen(
        [sys.executable, "app.py", "--model", "nano", "--offline", "--mcp", "--port", str(free_port())],
        cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    stop = threading.Timer(150, process.kill)
    stop.start()
    yield next(line for line in process.stdout if "/gradio_api/mcp/" in line).split()[-1]
    stop.cancel()
    process.kill()
    process.wait()


def told(address: str, calls: list[tuple[str, dict]]) -> tuple[list, list]:
    """The tools there are, and the results of some calls."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def talk() -> tuple[list, list]:
        async with streamable_http_client(address) as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            return tools, [await session.call_tool(name, arguments) for name, arguments in calls]

    return finish(talk())


@needs_mcp
def test_tools_are_the_endpoints_and_answer_in_json(address: str) -> None:
    from tests.integration.test_described import PUBLIC

    calls = [
        ("attention", {"text": "The cat sat", "layer": 1, "head": 2}),
        ("generate", {"text": "The cat sat", "max_new_tokens": 3}),
        ("attention", {"layer": 99}),
    ]
    tools, (attention, written, wrong) = told(address, calls)
    assert {tool.name for tool in tools} == set(PUBLIC)
    tool = next(tool for tool in tools if tool.name == "attention")
    assert tool.description.startswith("One head's")
    assert "from 0" in tool.inputSchema["properties"]["layer"]["description"]
    assert tool.inputSchema["properties"]["stage"]["enum"] == ["weights", "scores", "masked"]
    assert "required" not in tool.inputSchema
    matrix = json.loads(attention.content[0].text)["matrix"]
    assert [sum(row) for row in matrix] == pytest.approx([1.0] * len(matrix), abs=1e-5)
    assert json.loads(written.content[0].text)["stop"] == "length"
    assert wrong.isError
    assert "layer is 99" in wrong.content[0].text


@pytest.mark.skipif(importlib.util.find_spec("mcp") is not None, reason="the extra is installed here")
def test_without_the_extra_one_sentence_says_how_to_get_it() -> None:
    done = subprocess.run(
        [sys.executable, "app.py", "--mcp"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "--mcp needs the package mcp; pip install -r requirements-mcp.txt brings it.\n"

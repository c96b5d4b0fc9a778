"""A real nginx before a page, with the prefix taken off or left on: the recipe of docs/deploy.md, run."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[1] / "docs" / "deploy.md"
NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx-light")
KINDS = ("stripped", "kept")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def recipe(kind: str, upstream: int) -> str:
    """The location block of the recipe, as it is printed there, with this page's port."""
    blocks = re.findall(r"```nginx\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    slash = {"stripped": "7860/;", "kept": "7860;"}[kind]
    (block,) = [block for block in blocks if slash in block]
    return block.replace("7860", str(upstream))


@contextmanager
def nginx(folder: Path, kind: str, upstream: int) -> Iterator[str]:
    """The address of the page below /gptviz/ of an nginx of our own."""
    assert NGINX
    port = free_port()
    temporary = " ".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid nginx.pid; error_log stderr warn; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary}\n"
        f"server {{ listen 127.0.0.1:{port};\n{recipe(kind, upstream)}\n}} }}\n",
        encoding="utf-8",
    )
    process = subprocess.Popen([NGINX, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")])
    try:
        _wait(port, process)
        yield f"http://127.0.0.1:{port}/gptviz/"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    while True:
        assert process.poll() is None, "nginx did not start"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)

"""The page's own files, held in memory: hashed addresses, kept a year by the browser, compressed once at the start."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import brotli
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

YEAR = "public, max-age=31536000, immutable"  # not words: a header
PACKED = (".js", ".css", ".json", ".svg", ".html")  # fonts are compressed already
MODULE = "text/javascript; charset=utf-8"  # not words: a header


@dataclass
class File:
    """One file as it is sent; each packed form is made when it is first asked for."""

    data: bytes
    media: str
    packs: bool

    @cached_property
    def brotli(self) -> bytes:
        return brotli.compress(self.data, quality=11 if len(self.data) < 2**20 else 5)

    @cached_property
    def gzip(self) -> bytes:
        return gzip.compress(self.data, 6)


class Files:
    """All files under one hash: a change of any of them gives every one a new address, so none is ever stale."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}

    def add(self, path: str, data: bytes) -> None:
        """Serve these bytes at `gv/HASH/path`."""
        media = MODULE if path.endswith(".js") else mimetypes.guess_type(path)[0] or "application/octet-stream"
        self._files[path] = File(data, media, path.endswith(PACKED))

    def add_folder(self, folder: Path, under: str, *endings: str) -> list[str]:
        """Serve a folder's files with these endings; returns their paths below `gv/HASH/`."""
        found = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.name.endswith(endings)]
        paths = [f"{under}/{p.relative_to(folder).as_posix()}" for p in found]
        for path, file in zip(paths, found, strict=True):
            self.add(path, file.read_bytes())
        return paths

    @cached_property
    def hash(self) -> str:
        """Of all names and contents; asked for once, when everything is added."""
        digest = hashlib.sha256()
        for path in sorted(self._files):
            digest.update(path.encode() + b"\0" + self._files[path].data)
        return digest.hexdigest()[:16]

    def address(self, path: str) -> str:
        """The file's address, relative to the page, so that the app also works below a path."""
        return f"gv/{self.hash}/{path}"

    def route(self) -> Route:
        return Route("/gv/{hash}/{path:path}", self.answer, methods=["GET", "HEAD"])

    async def answer(self, request: Request) -> Response:
        """The file, packed as the browser likes it; 404 for an address of another version or no file at all."""
        file = self._files.get(request.path_params["path"])
        if file is None or request.path_params["hash"] != self.hash:
            return Response(status_code=404)
        headers = {"Cache-Control": YEAR, "X-Content-Type-Options": "nosniff"}
        if not file.packs:
            return Response(file.data, media_type=file.media, headers=headers)
        headers["Vary"] = "Accept-Encoding"
        wanted = request.headers.get("accept-encoding", "")
        if "br" in wanted:
            return Response(file.brotli, media_type=file.media, headers={**headers, "Content-Encoding": "br"})
        if "gzip" in wanted:
            return Response(file.gzip, media_type=file.media, headers={**headers, "Content-Encoding": "gzip"})
        return Response(file.data, media_type=file.media, headers=headers)

"""A stand-in for the Hub on loopback: what huggingface_hub asks for, a GPT-2 of random weights, faults on order."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import torch
from safetensors.torch import save
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
LARGE = (".safetensors", ".bin", ".msgpack", ".h5")  # kept apart from the small files, as on the Hub

# The config.json of openai-community/gpt2, but for the sizes.
CONFIG: dict[str, Any] = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1,
    "bos_token_id": 50256,
    "embd_pdrop": 0.1,
    "eos_token_id": 50256,
    "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2",
    "n_ctx": 64,
    "n_embd": 48,
    "n_head": 4,
    "n_layer": 3,
    "n_positions": 64,
    "resid_pdrop": 0.1,
    "summary_activation": None,
    "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True,
    "summary_type": "cls_index",
    "summary_use_proj": True,
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    "vocab_size": 50257,
}


def gpt2_tensors(seed: int = 0) -> dict[str, torch.Tensor]:
    """Random tensors under the keys of openai-community/gpt2: no prefix, [in, out] matrices, the mask buffers."""
    d, C = CONFIG["n_embd"], CONFIG["n_ctx"]
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=rng) * 0.2

    tensors = {"wte.weight": normal(CONFIG["vocab_size"], d), "wpe.weight": normal(C, d)}
    for n in range(CONFIG["n_layer"]):
        layer = f"h.{n}."
        tensors[layer + "attn.bias"] = torch.ones(C, C).tril()[None, None].contiguous()  # [1, 1, C, C]
        sizes = {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
        for name, (rows, columns) in sizes.items():
            tensors[f"{layer}{name}.weight"], tensors[f"{layer}{name}.bias"] = normal(rows, columns), normal(columns)
        for name in ("ln_1", "ln_2"):
            tensors[f"{layer}{name}.weight"], tensors[f"{layer}{name}.bias"] = 1 + normal(d), normal(d)
    tensors["ln_f.weight"], tensors["ln_f.bias"] = 1 + normal(d), normal(d)
    return tensors


def gpt2_files(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> dict[str, bytes]:
    """The files of the real repository by name; those that must never be fetched are filled with a warning."""
    engine = Tokenizer(models.BPE(vocabulary, merges))
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    never = b"this file must never be fetched"
    return {
        ".gitattributes": never,
        "README.md": never,
        "config.json": json.dumps(CONFIG, indent=2).encode(),
        "flax_model.msgpack": never,
        "generation_config.json": json.dumps({"bos_token_id": 50256, "eos_token_id": 50256}).encode(),
        "merges.txt": "\n".join(["#version: 0.2", *(" ".join(rule) for rule in merges), ""]).encode(),
        "model.safetensors": save(gpt2_tensors(), metadata={"format": "pt"}),
        "onnx/config.json": never,
        "onnx/decoder_model.onnx": never,
        "pytorch_model.bin": never,
        "rust_model.ot": never,
        "tf_model.h5": never,
        "tokenizer.json": engine.to_str().encode(),
        "tokenizer_config.json": json.dumps({"model_max_length": 1024}).encode(),
        "vocab.json": json.dumps(vocabulary).encode(),
    }


@dataclass
class Faults:
    """What goes wrong, by file name. Numbers count down: a fault is over when its number reaches 0."""

    cut: dict[str, tuple[int, int]] = field(default_factory=dict)  # (times, the connection dies after so many bytes)
    corrupt: dict[str, int] = field(default_factory=dict)  # times a byte in the middle is flipped
    gated: set[str] = field(default_factory=set)  # repositories behind terms
    silent: bool = False  # accepts connections and never answers


class HubStandin:
    """`with HubStandin({"owner/model": {"config.json": b"…"}}) as hub:` serves at `hub.url` until the block ends."""

    def __init__(self, repositories: dict[str, dict[str, bytes]]) -> None:
        self.repositories, self.faults = repositories, Faults()
        self.requests: list[tuple[str, str, str | None]] = []  # method, path, Range
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        # The real Hub sends large files from another host, which huggingface_hub treats differently.
        self.url_of_blobs = f"http://localhost:{self.server.server_port}"

    def __enter__(self) -> HubStandin:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def fetched(self) -> Counter[str]:
        """How often the content of each file was asked for."""
        paths = (urlsplit(path).path for method, path, _ in self.requests if method == "GET")
        return Counter(path.rpartition("/")[2] for path in paths if not path.startswith("/api/"))

    def blobs(self) -> dict[str, tuple[str, bytes]]:
        """Large files by their SHA-256."""
        files = (item for repository in self.repositories.values() for item in repository.items())
        return {_sha256(data): (name, data) for name, data in files if name.endswith(LARGE)}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _sibling(name: str, data: bytes) -> dict[str, object]:
    """One file as the Hub lists it."""
    entry: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": _git_sha1(data)}
    if name.endswith(LARGE):
        entry["blobId"] = _git_sha1(b"pointer to " + _sha256(data).encode())
        entry["lfs"] = {"sha256": _sha256(data), "size": len(data), "pointerSize": 134}
    return entry


class _Handler(BaseHTTPRequestHandler):
    hub: HubStandin
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def log_message(self, *args: object) -> None:
        """The tests read self.hub.requests instead."""

    def answer(self) -> None:
        with self.hub.lock:
            self.hub.requests.append((self.command, self.path, self.headers.get("Range")))
        if self.hub.faults.silent:
            self.hub.closing.wait()
            return
        path = unquote(urlsplit(self.path).path).strip("/")
        if path == "":
            self.reply(200, b"the Hub", {})
        elif path.startswith("api/models/"):
            self.listing(path.removeprefix("api/models/"))
        elif path.startswith("blobs/"):
            name, data = self.hub.blobs()[path.split("/")[1]]
            self.content(name, data, {"ETag": f'"{_sha256(data)}"'})
        else:
            self.resolve(*path.split("/resolve/main/"))

    def listing(self, repo: str) -> None:
        if repo in self.hub.faults.gated:
            self.reply(403, b"{}", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."})
        elif repo not in self.hub.repositories:
            self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        else:
            files = [_sibling(name, data) for name, data in self.hub.repositories[repo].items()]
            body = {"_id": "0", "id": repo, "modelId": repo, "sha": COMMIT, "siblings": files, "tags": []}
            self.reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def resolve(self, repo: str, name: str = "") -> None:
        data = self.hub.repositories.get(repo, {}).get(name)
        headers = {"X-Repo-Commit": COMMIT}
        if data is None:
            self.reply(404, b"", {**headers, "X-Error-Code": "EntryNotFound"})
        elif name.endswith(LARGE):
            digest = _sha256(data)
            headers |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data))}
            self.reply(302, b"", {**headers, "Location": f"{self.hub.url_of_blobs}/blobs/{digest}/{name}"})
        else:
            self.content(name, data, {**headers, "ETag": f'"{_git_sha1(data)}"'})

    def content(self, name: str, data: bytes, headers: dict[str, str]) -> None:
        begin, status = 0, 200
        if wanted := self.headers.get("Range"):
            begin, status = int(wanted.removeprefix("bytes=").partition("-")[0]), 206
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        if self.command == "GET" and self.strikes(self.hub.faults.corrupt, name):
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        self.reply(status, data[begin:], {**headers, "Accept-Ranges": "bytes"}, name)

    def strikes(self, fault: dict[str, int], name: str) -> bool:
        with self.hub.lock:
            left = fault.get(name, 0)
            fault[name] = max(0, left - 1)
        return left > 0

    def reply(self, status: int, body: bytes, headers: dict[str, str], name: str = "") -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        times, limit = self.hub.faults.cut.get(name, (0, 0))
        if times:
            self.hub.faults.cut[name] = (times - 1, limit)
            self.wfile.write(body[:limit])
            self.wfile.flush()
            time.sleep(0.05)
            self.close_connection = True
        else:
            self.wfile.write(body)

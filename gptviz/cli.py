"""The door: flags and variables in, the app out. Every mistake of the caller is one sentence and exit 2.

Heavy libraries are imported only once the flags are known to be right and something was printed.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from gptviz import __version__

if TYPE_CHECKING:
    from gptviz.flags import Chosen
    from gptviz.web.serving import Serving

NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EINVAL)  # how a system says that an address is not its own
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DAY = 86_400  # seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the service, then serve until interrupted."""
    end_on_interrupt()
    try:
        from gptviz import flags, words_check
        from gptviz.decoder.errors import UserError
        from gptviz.words import Said

        chosen = flags.read(arguments)
        try:
            check_address(chosen.host, chosen.port)
            _say(Said("door.starting", version=__version__))
            for sentence in flags.unknown():
                _say(sentence)
            words_check.check()
            serve(chosen)
        except (UserError, words_check.WordsError) as error:
            _stop(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "gptviz":
            raise
        brings = "pip install -r requirements.txt brings all it needs"  # not words: what reads them may be missing
        _stop(f"{error.name} is not installed for {sys.executable}; {brings}.")  # not words: the same


def end_on_interrupt() -> None:
    """Ctrl-C ends the process at once, whatever it is doing.

    Python's own way, an exception in the main thread, waits for a long import to end, and then takes the interpreter
    down under threads that are still loading a model, which aborts. Nothing has to be put away first: a download goes
    to a folder of its own, and a lock ends with its process.
    """
    first = os.getpid() == 1  # of a container: the system drops the signals that this process does not handle itself
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave if first else signal.SIG_DFL)


def _leave(number: int, frame: Any) -> NoReturn:
    os._exit(128 + number)


def check_address(host: str, port: int) -> None:
    """UserError unless this machine can listen there; Gradio wants the port on the loopback address as well."""
    from gptviz.decoder.errors import UserError
    from gptviz.words import Said

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UserError("door.value", name="host", value=host, allowed=Said("door.host")) from error
    places = [(entry[0], entry[4]) for entry in found]
    for family, address in [*places, (socket.AF_INET, ("127.0.0.1", port))]:
        try:
            _bind(family, address)
        except OSError as error:
            if error.errno in NOT_HERE:
                raise UserError("door.value", name="host", value=host, allowed=Said("door.host")) from error
            if error.errno == errno.EACCES:
                raise UserError("door.port_forbidden", port=str(port)) from error
            raise UserError("door.port_used", port=str(port)) from error


def _bind(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # elsewhere it would take the port from another program
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


def serve(chosen: Chosen) -> None:
    """Load what is heavy, then serve; never returns. UserError for a device that is not there."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported
    if chosen.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # before huggingface_hub is
    from gptviz.decoder.device import pick_device

    pick_device(chosen.device)
    from gptviz.service import Options, Service
    from gptviz.shell import build

    _quiet()
    options = Options(chosen.model, chosen.offline, chosen.device, chosen.dtype, chosen.cache_mb, chosen.max_models)
    service = Service(options)
    service.start()
    try:
        _, _, public = build(service, _serving(chosen)).launch(
            root_path=chosen.root_path or None,
            server_name=f"[{chosen.host}]" if ":" in chosen.host else chosen.host,
            server_port=chosen.port,
            share=chosen.share,
            mcp=chosen.mcp,
            quiet=True,
            prevent_thread_lock=True,
        )
    except OSError:
        check_address(chosen.host, chosen.port)  # another program may have taken the port since
        raise
    _say_where(chosen, public)
    while True:
        time.sleep(DAY)


def _serving(chosen: Chosen) -> Serving:
    """How the page is served. Where it listens on this machine alone, it answers to this machine's names alone."""
    from gptviz.web.gate import Hosts
    from gptviz.web.line import Bounds
    from gptviz.web.serving import Serving

    names = set(chosen.hosts)
    if names or chosen.host in LOOPBACK:
        names |= {*LOOPBACK, chosen.host.lower(), *([".gradio.live"] if chosen.share else [])}
    return Serving(
        Bounds(chosen.per_client, chosen.per_minute, body_bytes=chosen.body_mb * 1_000_000),
        Hosts(frozenset() if "*" in names else frozenset(names), chosen.proxied),
        chosen.metrics,
        chosen.access_log,
    )


def _quiet() -> None:
    """Sentences of the app itself, and nothing of the libraries."""
    from transformers.utils.logging import disable_progress_bar

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    disable_progress_bar()


def _say_where(chosen: Chosen, public: str | None) -> None:
    """The address on a line of its own, so that a person, a terminal or a script can take it."""
    from gptviz.words import Said

    everywhere = chosen.host in ("0.0.0.0", "::")
    name = "localhost" if everywhere else f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    _say(Said("door.page_is_at"))
    _say(f"http://{name}:{chosen.port}{chosen.root_path}/")
    if everywhere:
        _say(Said("door.for_others", port=str(chosen.port)))
    if public:
        _say(public)
    if chosen.mcp:
        _say(Said("door.agents", address=f"http://{name}:{chosen.port}{chosen.root_path}/gradio_api/mcp/"))


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _stop(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr, flush=True)
    raise SystemExit(2)

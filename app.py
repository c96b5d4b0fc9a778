"""The door: flags and environment variables in, the app out. `python app.py --help` explains them."""

from __future__ import annotations

import argparse
import logging
import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported

from transformers.utils.logging import disable_progress_bar

from gptviz.service import Options, Service
from gptviz.shell import build


def flags(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; each flag's default is its environment variable."""
    parser = argparse.ArgumentParser(description="gptviz: see how a decoder-only language model works.")

    def add(flag: str, default: str, text: str, choices: list[str] | None = None) -> None:
        variable = "GPTVIZ_" + flag.upper()
        value = os.environ.get(variable, default)
        parser.add_argument(
            f"--{flag}", default=value, choices=choices, help=f"{text} [{variable}, now: {value or '-'}]"
        )

    def switch(flag: str, text: str) -> None:
        variable = "GPTVIZ_" + flag.upper()
        on = os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")
        parser.add_argument(f"--{flag}", action="store_true", default=on, help=f"{text} [{variable}=1]")

    add("model", "", "gpt2, smollm2-135m, nano, another name of the catalogue, a Hub id, or a checkpoint folder")
    add("device", "auto", "auto, cpu, cuda, cuda:1 or mps")
    add("dtype", "float32", "number format of the weights", ["float32", "bfloat16", "float16"])
    add("host", "127.0.0.1", "address to listen on; 0.0.0.0 lets a class in")
    add("port", "7860", "port to listen on")
    switch("offline", "use only what is on this machine")
    switch("share", "ask Gradio for a public link")
    return parser.parse_args(arguments)


def main() -> None:
    """Start the service, then serve until interrupted."""
    chosen = flags()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    disable_progress_bar()
    if chosen.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    service = Service(Options(chosen.model, chosen.offline, chosen.device, chosen.dtype))
    service.start()
    on_spaces = "SPACE_ID" in os.environ
    build(service).launch(
        server_name="0.0.0.0" if on_spaces else chosen.host,
        server_port=int(chosen.port),
        share=chosen.share,
    )


if __name__ == "__main__":
    main()

"""A prefix check as a file anybody can hold, and the same check run again from that file.

python -m gptviz.lab.masking.evidence evidence.json      runs a downloaded check again
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils.logging import disable_progress_bar

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import weights
from gptviz.lab.masking import leak, prefix
from gptviz.lab.masking.prefix import Check
from gptviz.words import Said, words

FORMAT = "gptviz prefix check 1"  # not words: told by programs
FIELDS: dict[str, type | tuple[type, ...]] = {
    "model": dict,
    "ids": list,
    "other": list,
    "keep": int,
    "method": str,
    "mask": dict,
    "deltas": list,
    "tolerance": (int, float),
    "invariant": bool,
}
COMMAND = "python -m gptviz.lab.masking.evidence"
MAX_BYTES = 4 * 2**20
SAME = 1e-3  # a change measured again may differ by this share (other processor, other rounding)


def evidence(decoder: Decoder, found: Check) -> dict[str, Any]:
    """Everything needed to run a check again elsewhere, as JSON: model, ids, dtype, mask, deltas, versions."""
    tokens = decoder.tokenizer.tokens(found.ids)
    deltas = [float(delta) for delta in found.deltas]
    return {
        "format": FORMAT,
        "claim": str(Said("evidence.claim")),
        "model": {
            "name": decoder.name,
            "source": str(decoder.source),
            "parameters": decoder.shape.parameters,
            "weights_sha256": fingerprint(decoder),
        },
        "dtype": str(decoder.dtype).removeprefix("torch."),
        "device": decoder.device.type,
        "ids": found.ids,
        "tokens": [token.shown for token in tokens],
        "other": found.other,
        "keep": found.keep,
        "method": found.method,
        "mask": {"direction": found.rule.direction, "open_layers": leak.opened(found.rule, decoder.shape.layers)},
        "measure": str(Said("evidence.measure")),
        "deltas": deltas,
        "changed": found.changed,
        "max_delta": max(deltas),
        **leak.basis_json(found.basis),
        "invariant": not any(found.changed),
        "versions": versions(),
        "verify": f"{COMMAND} FILE",
    }


def versions() -> dict[str, str]:
    """The versions that decide how the numbers round."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def fingerprint(decoder: Decoder) -> str:
    """SHA-256 over the names, shapes and values of all parameters, as float32."""
    digest = hashlib.sha256()
    for name, values in sorted(decoder.model.named_parameters()):
        digest.update(f"{name} {tuple(values.shape)}\n".encode())
        digest.update(values.detach().float().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def read(text: str) -> dict[str, Any]:
    """Evidence from JSON text. UserError, in one sentence, for anything that is not a whole check."""
    if len(text) > MAX_BYTES:
        raise UserError("evidence.too_long", n=len(text), most=MAX_BYTES)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError("evidence.no_json", words=str(error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError("evidence.other_format", format=FORMAT)
    for name, kind in FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise UserError("evidence.no_field", field=name)
    _check_numbers(data)
    return data


def _check_numbers(data: dict[str, Any]) -> None:
    for name in ("ids", "other"):
        if not all(type(i) is int for i in data[name]):
            raise UserError("evidence.no_whole", field=name)
    if not all(type(d) in (int, float) and d >= 0 for d in data["deltas"]) or len(data["deltas"]) != data["keep"]:
        raise UserError("evidence.odd_deltas")
    if data["other"][: data["keep"]] != data["ids"][: data["keep"]]:
        raise UserError("evidence.other_prefix")
    if not isinstance(data["model"].get("name"), str) or not isinstance(data["mask"].get("open_layers"), list):
        raise UserError("evidence.no_names")


def run_again(decoder: Decoder, data: dict[str, Any]) -> Check:
    """The check the evidence describes, on this machine."""
    mask, keep, method = data["mask"], data["keep"], data["method"]
    opened = mask["open_layers"]
    direction = mask.get("direction", "causal") if opened else "causal"
    rule = leak.rule_of(opened, direction, decoder.shape.layers)
    ending = data["other"][keep:] if method == "edit" else None
    return prefix.check(decoder, list(data["ids"]), keep, rule, method, ending)


def differences(data: dict[str, Any], again: Check) -> list[Said]:
    """What the second run does not confirm, one sentence each; empty when it confirms everything.

    The verdict of every position must be the same, an exact zero must be an exact zero again, and a change must
    be of the same size up to rounding.
    """
    found: list[Said] = []
    if again.other != data["other"]:
        found.append(Said("evidence.other_prompt"))
    noise = max(again.tolerance, float(data["tolerance"]))
    pairs = zip(data["deltas"], again.deltas.tolist(), again.changed, strict=True)
    for index, (stated, measured, changed) in enumerate(pairs):
        if changed != (stated > data["tolerance"]):
            verdict = Said("evidence.is_changed") if changed else Said("evidence.is_unchanged")
            found.append(Said("evidence.differs", i=index, verdict=verdict, here=measured, stated=stated))
        elif changed and abs(measured - stated) > SAME * max(stated, measured) + noise:
            found.append(Said("evidence.moves", i=index, here=measured, stated=stated))
    if data["invariant"] != (not any(stated > data["tolerance"] for stated in data["deltas"])):
        found.append(Said("evidence.contradicts"))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check of an evidence file again and say whether it holds: 0 confirmed, 1 not, 2 unusable."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=Said("evidence.about"))
    parser.add_argument("file", type=Path, help=Said("evidence.help_file"))
    parser.add_argument("--model", default="", help=Said("evidence.help_model"))
    parser.add_argument("--device", default="cpu", help=Said("evidence.help_device"))
    parser.add_argument("--offline", action="store_true", help=Said("evidence.help_offline"))
    options = parser.parse_args(arguments)
    disable_progress_bar()
    try:
        try:
            data = read(options.file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError("evidence.not_read", file=options.file, kind=type(error).__name__) from error
        decoder = _load(data, options.model, options.device, options.offline)
        again = run_again(decoder, data)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return _say(data, decoder, again)


def _load(data: dict[str, Any], model: str, device: str, offline: bool) -> Decoder:
    located = weights.locate(model or data["model"]["name"], offline=offline)
    dtype = str(data.get("dtype", "float32"))
    return Decoder.load(located.folder, name=located.name, source=located.source, device=device, dtype=dtype)


def _say(data: dict[str, Any], decoder: Decoder, again: Check) -> int:
    same_weights = fingerprint(decoder) == data["model"].get("weights_sha256")
    model, source = decoder.name, decoder.source
    run = Said("evidence.run", model=model, source=source, n=len(again.ids), keep=again.keep, method=again.method)
    print(run)
    print(Said("evidence.same_weights") if same_weights else Said("evidence.other_weights"))
    head = (Said("evidence.position"), Said("evidence.token"), Said("evidence.stated"), Said("evidence.here"))
    print(_row(*head))
    number = words().numbers.number
    for index, (stated, measured) in enumerate(zip(data["deltas"], again.deltas.tolist(), strict=True)):
        shown = decoder.tokenizer.token(again.ids[index]).shown
        verdict = Said("evidence.is_changed") if again.changed[index] else Said("evidence.is_unchanged")
        print(_row(number(index), shown, number(stated), number(measured)), verdict)
    problems = differences(data, again)
    for sentence in problems:
        print(sentence)
    largest = float(again.deltas.max())
    verdict = Said("evidence.leaks", delta=largest) if any(again.changed) else Said("evidence.invariant", delta=largest)
    print(Said("evidence.not_confirmed", verdict=verdict) if problems else Said("evidence.confirmed", verdict=verdict))
    return 1 if problems else 0


def _row(position: str, token: str, stated: str, here: str) -> str:
    return f"{position:>8}  {token:<16} {stated:>12} {here:>12}"


if __name__ == "__main__":
    sys.exit(main())

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

FORMAT = "gptviz prefix check 1"
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
MAX_BYTES = 4 * 2**20
SAME = 1e-3  # a change measured again may differ by this share (other processor, other rounding)


def evidence(decoder: Decoder, found: Check) -> dict[str, Any]:
    """Everything needed to run a check again elsewhere, as JSON: model, ids, dtype, mask, deltas, versions."""
    tokens = decoder.tokenizer.tokens(found.ids)
    deltas = [float(delta) for delta in found.deltas]
    return {
        "format": FORMAT,
        "claim": "The output at a position depends on the tokens up to it, and on nothing after.",
        "model": {
            "name": decoder.name,
            "source": decoder.source,
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
        "measure": "largest |difference| of the logits at each position of the prefix",
        "deltas": deltas,
        "changed": found.changed,
        "max_delta": max(deltas),
        **leak.basis_json(found.basis),
        "invariant": not any(found.changed),
        "versions": versions(),
        "verify": "python -m gptviz.lab.masking.evidence FILE",
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
        raise UserError(f"The file has {len(text):,} characters; evidence has at most {MAX_BYTES:,}.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"The file is not JSON ({str(error)[:80]}).") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f'The file is not evidence of this program; its "format" should be "{FORMAT}".')
    for name, kind in FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise UserError(f'The evidence has no usable field "{name}".')
    _check_numbers(data)
    return data


def _check_numbers(data: dict[str, Any]) -> None:
    for name in ("ids", "other"):
        if not all(type(i) is int for i in data[name]):
            raise UserError(f'The field "{name}" of the evidence must hold whole numbers only.')
    if not all(type(d) in (int, float) and d >= 0 for d in data["deltas"]) or len(data["deltas"]) != data["keep"]:
        raise UserError('The field "deltas" of the evidence must hold one number, 0 or more, for each kept position.')
    if data["other"][: data["keep"]] != data["ids"][: data["keep"]]:
        raise UserError("The two prompts of the evidence differ inside the prefix, so they prove nothing about it.")
    if not isinstance(data["model"].get("name"), str) or not isinstance(data["mask"].get("open_layers"), list):
        raise UserError('The evidence must name its model ("model.name") and its open layers ("mask.open_layers").')


def run_again(decoder: Decoder, data: dict[str, Any]) -> Check:
    """The check the evidence describes, on this machine."""
    mask, keep, method = data["mask"], data["keep"], data["method"]
    opened = mask["open_layers"]
    direction = mask.get("direction", "causal") if opened else "causal"
    rule = leak.rule_of(opened, direction, decoder.shape.layers)
    ending = data["other"][keep:] if method == "edit" else None
    return prefix.check(decoder, list(data["ids"]), keep, rule, method, ending)


def differences(data: dict[str, Any], again: Check) -> list[str]:
    """What the second run does not confirm, one sentence each; empty when it confirms everything.

    The verdict of every position must be the same, an exact zero must be an exact zero again, and a change must
    be of the same size up to rounding.
    """
    found = []
    if again.other != data["other"]:
        found.append("The second prompt of the evidence is not one this method runs.")
    noise = max(again.tolerance, float(data["tolerance"]))
    pairs = zip(data["deltas"], again.deltas.tolist(), again.changed, strict=True)
    for index, (stated, measured, changed) in enumerate(pairs):
        if changed != (stated > data["tolerance"]):
            words = "changed" if changed else "unchanged"
            found.append(f"Position {index} is {words} here ({measured:.3g}); the evidence states {stated:.3g}.")
        elif changed and abs(measured - stated) > SAME * max(stated, measured) + noise:
            found.append(f"Position {index} moves by {measured:.6g} here; the evidence states {stated:.6g}.")
    if data["invariant"] != (not any(stated > data["tolerance"] for stated in data["deltas"])):
        found.append('The evidence contradicts itself: its "invariant" does not follow from its deltas.')
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check of an evidence file again and say whether it holds: 0 confirmed, 1 not, 2 unusable."""
    parser = argparse.ArgumentParser(prog="python -m gptviz.lab.masking.evidence", description=main.__doc__)
    parser.add_argument("file", type=Path, help="the evidence, as downloaded from the page")
    parser.add_argument("--model", default="", help="a model's name or folder, instead of the one the file names")
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda or mps (default: cpu)")
    parser.add_argument("--offline", action="store_true", help="fetch nothing; use what is on this machine")
    options = parser.parse_args(arguments)
    disable_progress_bar()
    try:
        try:
            data = read(options.file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{options.file} cannot be read ({type(error).__name__}).") from error
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
    print(f"{decoder.name}, {decoder.source}; {len(again.ids)} tokens, prefix of {again.keep}, method {again.method}")
    print("weights: " + ("the same, byte for byte" if same_weights else "not those of the evidence"))
    print(f"{'position':>8}  {'token':<16} {'stated':>12} {'here':>12}")
    for index, (stated, measured) in enumerate(zip(data["deltas"], again.deltas.tolist(), strict=True)):
        shown = decoder.tokenizer.token(again.ids[index]).shown
        verdict = "changed" if again.changed[index] else "unchanged"
        print(f"{index:>8}  {shown:<16} {stated:>12.3e} {measured:>12.3e}  {verdict}")
    problems = differences(data, again)
    for sentence in problems:
        print(sentence)
    verdict = "prefix-invariant" if not any(again.changed) else "not prefix-invariant"
    print(f"{'NOT CONFIRMED' if problems else 'CONFIRMED'}: {verdict}, largest change {float(again.deltas.max()):.3e}.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

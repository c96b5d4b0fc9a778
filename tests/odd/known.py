"""What is expected of each family: refused, and why; or shown, and which check a known fault fails."""

from __future__ import annotations

INTERFACE = "does not call attention through the library's interface"

# Families that are refused, with words of the sentence.
REFUSED = {
    **dict.fromkeys(
        ("gpt_neo", "falcon", "stablelm", "nemotron", "bloom", "mpt", "xglm", "openai-gpt", "rwkv", "xlstm"), INTERFACE
    ),
    **dict.fromkeys(("mamba", "jamba"), "has layers of the kind linear_attention"),
    "llama4_text": "has layers of the kind chunked_attention",
    "dory": "has 3 blocks and runs 6 in one pass",
    "bart, as a decoder": "has no list of decoder blocks",
    "gpt_oss": "adds something to attention that gptviz does not know",
    **dict.fromkeys(("bert", "roberta", "distilbert"), "is an encoder"),
    **dict.fromkeys(("t5", "bart"), "is an encoder-decoder"),
    "vit": "has no decoder-only model",
}

_WINDOW = "the masked stage of /attention shows keys outside the window as if they were read"
_GROUPED = "rows of experts are grouped by content, and their rounding is taken for a leak"
_WIDTHS = "the formula of the cache takes keys and values to be as wide as a head of the configuration"
_KEYS = "the count of key/value heads is read from a key of the configuration that does not apply"

# Faults not mended yet: (family, check) and what is wrong. A strict xfail: whoever mends one takes it out here.
FAULTS = {
    **{
        (family, "attention"): _WINDOW
        for family in (
            "mistral, window 5", "ministral", "qwen2, window 5", "gemma2", "gemma3_text", "phi3, window 5", "cohere2",
            "olmo3", "exaone4", "vaultgemma", "modernbert-decoder",
        )
    },
    **{
        (family, "prefix"): _GROUPED
        for family in ("qwen2_moe", "qwen3_moe", "olmoe", "mixtral", "glm4_moe", "hunyuan_v1_moe", "phimoe")
    },
    **{(family, "kv_cache"): _WIDTHS for family in ("deepseek_v2", "deepseek_v3")},
    ("modernbert-decoder", "kv_cache"): _KEYS,
    **{(family, "anatomy"): _KEYS for family in ("modernbert-decoder", "gpt2, keys that do not apply")},
}  # fmt: skip

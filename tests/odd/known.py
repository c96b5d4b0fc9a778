"""What is expected of each family: refused, and why; or shown, and which check a known fault fails."""

from __future__ import annotations

INTERFACE = "does not call attention through the library's interface"

# Families that are refused, with words of the sentence.
REFUSED = {
    **dict.fromkeys(
        (
            "gpt_neo",
            "falcon",
            "stablelm",
            "nemotron",
            "bloom",
            "mpt",
            "xglm",
            "openai-gpt",
            "rwkv",
            "xlstm",
            "diffllama",
            "dory",
        ),
        INTERFACE,
    ),
    **dict.fromkeys(("mamba", "jamba"), "has layers of the kind linear_attention"),
    "bart, as a decoder": "has no list of decoder blocks",
    "gpt_oss": "adds something to attention that gptviz does not know",
    **dict.fromkeys(("bert", "roberta", "distilbert"), "is an encoder"),
    **dict.fromkeys(("t5", "bart"), "is an encoder-decoder"),
    "vit": "has no decoder-only model",
}

# What one check may be refused of a family that is shown, with words of the sentence: (family, check).
_CHANGED = "changes its logits after the LM head"
_JOINED = "does more to its heads' outputs than one matrix and an addition"
_BETWEEN = "does more between its parts than add them"
_WINDOW = "keeps only a window of what it has read"
PARTLY: dict[tuple[str, str], str] = {
    **{
        (family, check): _JOINED  # what attention gives is normed before or after W_O
        for family in (
            "gemma2", "gemma3_text", "olmo2", "olmo3", "glm4", "exaone4", "bitnet", "flex_olmo",
        )
        for check in ("values", "attribution", "routes")
    },
    **{
        (family, "neurons"): _BETWEEN
        for family in (
            "gemma2", "gemma3_text", "olmo2", "olmo3", "glm4", "exaone4", "bitnet", "flex_olmo",
        )
    },
    **{
        (family, "neurons"): "has no plain list of neurons in this layer's feed-forward part"  # experts, mostly
        for family in (
            "granitemoe", "mixtral", "olmoe", "deepseek_v2", "deepseek_v3", "apertus", "lfm2", "hunyuan_v1_moe",
            "glm4_moe", "minimax_m2", "llama4_text", "phimoe", "qwen2_moe", "qwen3_moe", "bert, as a decoder",
        )
    },
    **{
        (family, check): words  # logits are scaled, bounded, or made by more than one matrix
        for family in (
            "cohere", "cohere2", "granite", "nanochat", "vaultgemma", "modernbert-decoder", "bert, as a decoder",
        )
        for check, words in (("lens", _CHANGED), ("attribution", _BETWEEN), ("patching", _CHANGED))
    },
    **{("gemma2", check): _CHANGED for check in ("lens", "patching")},
    **{
        (family, "speculative"): _WINDOW
        for family in (
            "mistral, window 5", "ministral", "qwen2, window 5", "gemma2", "gemma3_text", "phi3, window 5", "cohere2",
            "olmo3", "exaone4", "vaultgemma", "modernbert-decoder",
        )
    },
}  # fmt: skip

# Faults not mended yet: (family, check) and what is wrong. A strict xfail: whoever mends one takes it out here.
FAULTS: dict[tuple[str, str], str] = {}

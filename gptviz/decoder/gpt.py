"""GPT-2 written twice, to be read: once from PyTorch's own layers, once from primitives.

Both hold the same weights and give the same logits; `from_gpt2` and `as_short` rename a checkpoint for them.
B batch, T tokens, d width, h heads, V vocabulary. The logits at position t are about token t+1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gptviz.decoder.errors import UserError

gelu = partial(F.gelu, approximate="tanh")  # the form GPT-2 was trained with
MASKS = ("causal", "none", "wrong_way")


@dataclass(frozen=True)
class Config:
    """The five numbers that fix a GPT's shape; the defaults are GPT-2 small."""

    vocabulary: int = 50257
    context: int = 1024
    width: int = 768
    heads: int = 12
    layers: int = 12

    def positions(self, ids: Tensor) -> Tensor:
        """0 … T-1 for ids [B, T]. A learned position table has no row past the context: a hard limit."""
        T = ids.size(1)
        if self.context < T:
            raise UserError("ids_too_many", n=T, most=self.context)
        return torch.arange(T, device=ids.device)  # [T]


class ShortGPT(nn.Module):
    """The whole decoder from PyTorch's layers: an *encoder* layer under a causal mask is a decoder block."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, d = config, config.width
        self.wte = nn.Embedding(config.vocabulary, d)  # which token
        self.wpe = nn.Embedding(config.context, d)  # at which position
        layer = nn.TransformerEncoderLayer(
            d, config.heads, 4 * d, dropout=0.0, activation=gelu, batch_first=True, norm_first=True
        )
        self.h = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(d), enable_nested_tensor=False)
        self.lm_head = nn.Linear(d, config.vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight  # tied: Embedding and Linear both store [V, d]

    def forward(self, ids: Tensor) -> Tensor:  # [B, T]
        x = self.wte(ids) + self.wpe(self.config.positions(ids))  # [B, T, d]
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1), x.device, x.dtype)  # [T, T]
        x = self.h(x, mask=mask, is_causal=True)  # [B, T, d]
        return self.lm_head(x)  # [B, T, V]


class LongGPT(nn.Module):
    """The same from primitives. The twins of the mask lesson differ in `mask` and in nothing else."""

    def __init__(self, config: Config, mask: str = "causal") -> None:
        super().__init__()
        self.config, d = config, config.width
        self.wte = nn.Embedding(config.vocabulary, d)
        self.wpe = nn.Embedding(config.context, d)
        self.h = nn.Sequential(*(Block(d, config.heads, mask) for _ in range(config.layers)))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, config.vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Tensor) -> Tensor:  # [B, T]
        x = self.wte(ids) + self.wpe(self.config.positions(ids))  # [B, T, d]
        x = self.ln_f(self.h(x))  # [B, T, d]
        return self.lm_head(x)  # [B, T, V]


class Block(nn.Module):
    """Pre-norm: each sublayer reads a normalised copy and adds to the stream, which stays as it is."""

    def __init__(self, d: int, heads: int, mask: str) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = Attention(d, heads, mask)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = FeedForward(d)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d]
        x = x + self.attn(self.ln_1(x))  # tokens read each other
        return x + self.mlp(self.ln_2(x))  # each token works alone


class Attention(nn.Module):
    """softmax(QKᵀ/√(d/h) + mask)·V in h heads. The mask is all that keeps the future out."""

    def __init__(self, d: int, heads: int, mask: str) -> None:
        super().__init__()
        if mask not in MASKS:
            raise UserError("one_of", name="mask", value=mask, allowed=MASKS)
        self.heads, self.mask = heads, mask
        self.c_attn = nn.Linear(d, 3 * d)  # query, key and value in one product
        self.c_proj = nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        B, T, d = x.shape
        q, k, v = self.c_attn(x).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # each [B, h, T, d/h]
        upper = x.new_ones(T, T, dtype=torch.bool).triu() if self.mask == "wrong_way" else None  # [T, T]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=upper, is_causal=self.mask == "causal")
        return self.c_proj(y.transpose(1, 2).reshape(B, T, d))  # [B, h, T, d/h] -> [B, T, d]


class FeedForward(nn.Module):
    """Widen four times, bend, narrow again."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(d, 4 * d)
        self.c_proj = nn.Linear(4 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(gelu(self.c_fc(x)))  # d -> 4d -> d


def from_gpt2(checkpoint: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """LongGPT's weights from a GPT-2 checkpoint, whose Conv1D stores [in, out] where Linear has [out, in]."""
    weights = {}
    for name, w in checkpoint.items():
        if not name.endswith((".attn.bias", ".attn.masked_bias")):  # old checkpoints store the mask too
            conv1d = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
            weights[name.removeprefix("transformer.")] = w.T.contiguous() if conv1d else w
    return weights | {"lm_head.weight": weights["wte.weight"]}


def as_short(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """ShortGPT's weights from LongGPT's: the same tensors under PyTorch's names."""
    names = {"h.": "h.layers.", "ln_f": "h.norm", "ln_1": "norm1", "ln_2": "norm2"}
    names |= {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj"}
    names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
    renamed = {}
    for name, w in weights.items():
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        renamed[name] = w
    return renamed

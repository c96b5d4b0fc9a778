"""The forward pass of two families written out, for writing text: only the last position's logits, nothing captured.

The library's modules are made for every purpose and cost a small model as much as its arithmetic. Here are the same
weights with the same operations and nothing else: one row at a time after the prompt, each matrix through
`row_product`, and in the last block only the position whose logits are wanted. `find` returns a pass only after it
has given the library's logits; every other architecture keeps the library's forward.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers.activations import NewGELUActivation, SiLUActivation
from transformers.pytorch_utils import Conv1D

from gptviz.decoder.cache import GrowingCache
from gptviz.decoder.row_product import head_product, row_product

Turn = tuple[Tensor, Tensor]  # cosine and signed sine of each position's angles, [T, 1, d_k] each
Held = GrowingCache | Sequence[GrowingCache] | None  # of the one text that runs, or of each of several
Rowwise = Callable[[Tensor], Tensor]  # [T, d] → [T, d]


class Matrix:
    """x Wᵀ + b of one module: a row at a time or many rows."""

    def __init__(self, module: Any) -> None:
        stored = module.weight.detach()
        self.weight = stored.t() if isinstance(module, Conv1D) else stored  # [out, in]
        self.bias = None if module.bias is None else module.bias.detach()
        self.row = row_product(self.weight, self.bias)

    def __call__(self, x: Tensor) -> Tensor:
        return self.row(x) if x.shape[0] == 1 else F.linear(x, self.weight, self.bias)  # [T, out]


class FastPass(ABC):
    """What the two families share: the head, attention over the cache, and the shortcut in the last block."""

    final: Rowwise  # the norm before the head

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config.get_text_config(decoder=True)
        self.heads = config.num_attention_heads
        self.kv_heads = getattr(config, "num_key_value_heads", None) or self.heads
        self.d_k = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.layers = config.num_hidden_layers
        tokens: Any = model.get_input_embeddings()
        self.table = tokens.weight.detach()  # [V, d]
        head: Any = model.get_output_embeddings()
        self.head = head_product(head.weight)
        self.head_weight = head.weight.detach()  # [V, d]

    def __call__(self, ids: Tensor, cache: GrowingCache | None = None) -> Tensor:
        """The logits [V] after ids [T], which follow what the cache holds; several only where it holds nothing."""
        for found in self.pieces(ids, cache):
            logits = found
        assert isinstance(logits, Tensor)
        return logits

    def pieces(self, ids: Tensor, cache: GrowingCache | None = None) -> Iterator[Tensor | int]:
        """The same in pieces: how many blocks are done, where a caller may stop, and the logits at the end."""
        past = cache.get_seq_length() if cache is not None else 0
        if past and len(ids) > 1:
            raise ValueError("a chunk that continues a cache needs a mask")  # not words: a mistake in code
        x, turn = self.begin(ids, torch.arange(past, past + len(ids), device=ids.device))  # [T, d]
        for layer in range(self.layers):
            x = self.block(layer, x, turn, cache, layer == self.layers - 1)  # [T, d], at the end [1, d]
            yield layer + 1
        yield self.head(self.final(x))[0]

    def together(self, ids: Tensor, caches: Sequence[GrowingCache]) -> Tensor:
        """The logits [B, V] after one more token [B] of each of B texts, each with a cache of its own.

        Every matrix is read once for all. What a text attends to is its own cache alone, as when it is written alone;
        only the order of a product's sums may differ.
        """
        at = torch.tensor([cache.get_seq_length() for cache in caches], device=ids.device)
        x, turn = self.begin(ids, at)  # [B, d]
        for layer in range(self.layers):
            x = self.block(layer, x, turn, caches, False)  # [B, d]
        return F.linear(self.final(x), self.head_weight)

    @abstractmethod
    def begin(self, ids: Tensor, at: Tensor) -> tuple[Tensor, Turn | None]:
        """The embeddings [T, d], and the rotation of these positions [T] where the family has one."""

    @abstractmethod
    def block(self, layer: int, x: Tensor, turn: Turn | None, cache: Held, last: bool) -> Tensor:
        """One block [T, d] → [T, d], or → [1, d] where only the last position is wanted."""

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, cache: Held, last: bool) -> Tensor:
        """q [T, h, d_k], k and v [T, h_kv, d_k] → [T, h · d_k], or the last row of it."""
        if isinstance(cache, Sequence):
            texts = zip(q.split(1), k.split(1), v.split(1), cache, strict=True)
            return torch.cat([self.attend(layer, *one, False) for one in texts])
        q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))  # [1, h or h_kv, T, d_k]
        if cache is not None:
            k, v = cache.update(k, v, layer)
        q = q[:, :, -1:] if last else q
        groups, Tq = self.heads // self.kv_heads, q.shape[2]
        if Tq == 1:  # the query heads that share a key head are queries of it
            q = q.reshape(1, self.kv_heads, groups, self.d_k)
            mixed = F.scaled_dot_product_attention(q, k, v)
            return mixed.reshape(1, self.heads * self.d_k)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups > 1)
        return mixed[0].transpose(0, 1).reshape(Tq, self.heads * self.d_k)


class FastGPT2(FastPass):
    """GPT-2: learned positions, LayerNorm, one matrix for q, k and v, GELU."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        body = model.transformer
        if model.config.scale_attn_by_inverse_layer_idx or not model.config.scale_attn_weights:
            raise AttributeError("scores are scaled otherwise")  # not words: a mistake in code
        self.positions = body.wpe.weight.detach()  # [C, d]
        self.act = activation(body.h[0].mlp.act)
        self.norms = [(layer_norm(b.ln_1), layer_norm(b.ln_2)) for b in body.h]
        self.final = layer_norm(body.ln_f)
        self.matrices = [
            tuple(Matrix(m) for m in (b.attn.c_attn, b.attn.c_proj, b.mlp.c_fc, b.mlp.c_proj)) for b in body.h
        ]

    def begin(self, ids: Tensor, at: Tensor) -> tuple[Tensor, None]:
        return self.table[ids] + self.positions[at], None

    def block(self, layer: int, x: Tensor, turn: Turn | None, cache: Held, last: bool) -> Tensor:
        norm_1, norm_2 = self.norms[layer]
        qkv, out, up, down = self.matrices[layer]
        q, k, v = qkv(norm_1(x)).view(len(x), 3, self.heads, self.d_k).unbind(1)  # [T, h, d_k] each
        mixed = self.attend(layer, q, k, v, cache, last)
        x = out(mixed).add_(x[-1:] if last else x)  # in place: a product is always a tensor of its own
        return down(self.act(up(norm_2(x)))).add_(x)


class FastLlama(FastPass):
    """Llama, SmolLM2, Mistral, Qwen: rotary positions, RMSNorm, SwiGLU, grouped-query heads."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        body = model.model
        self.rotary = body.rotary_emb
        self.norms = [(rms_norm(b.input_layernorm), rms_norm(b.post_attention_layernorm)) for b in body.layers]
        self.final = rms_norm(body.norm)
        self.act = activation(body.layers[0].mlp.act_fn)
        attentions = [b.self_attn for b in body.layers]
        self.qkv = [tuple(Matrix(m) for m in (a.q_proj, a.k_proj, a.v_proj)) for a in attentions]
        # Qwen3 norms each head's query and key.
        self.qk_norms = [(rms_norm(a.q_norm), rms_norm(a.k_norm)) if hasattr(a, "q_norm") else None for a in attentions]
        self.out = [Matrix(a.o_proj) for a in attentions]
        self.ffn = [tuple(Matrix(m) for m in (b.mlp.gate_proj, b.mlp.up_proj, b.mlp.down_proj)) for b in body.layers]

    def begin(self, ids: Tensor, at: Tensor) -> tuple[Tensor, Turn]:
        x = self.table[ids]  # [T, d]
        cos, sin = self.rotary(x[None], at[None])  # [1, T, d_k] each
        half = self.d_k // 2
        sign = torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)  # [T, d_k]
        return x, (cos[0, :, None], sign[:, None])

    def block(self, layer: int, x: Tensor, turn: Turn | None, cache: Held, last: bool) -> Tensor:
        assert turn is not None
        norm_1, norm_2 = self.norms[layer]
        normed = norm_1(x)
        q, k, v = (m(normed).view(len(x), -1, self.d_k) for m in self.qkv[layer])  # [T, h or h_kv, d_k]
        if (norms := self.qk_norms[layer]) is not None:
            q, k = norms[0](q), norms[1](k)
        mixed = self.attend(layer, rotate(q, turn), rotate(k, turn), v, cache, last)
        x = self.out[layer](mixed).add_(x[-1:] if last else x)
        gate, up, down = self.ffn[layer]
        normed = norm_2(x)
        return down(self.act(gate(normed)).mul_(up(normed))).add_(x)


def rotate(x: Tensor, turn: Turn) -> Tensor:
    """Rotary positions: each pair (x_i, x_i+d_k/2) turned by its angle. x [T, h, d_k]."""
    cos, signed_sin = turn
    return (x * cos).addcmul_(x.roll(x.shape[-1] // 2, dims=-1), signed_sin)


def layer_norm(module: nn.LayerNorm) -> Rowwise:
    """The module's own operation on its own tensors, without the module call."""
    shape, weight, bias, eps = module.normalized_shape, module.weight.detach(), module.bias.detach(), module.eps
    return lambda x: F.layer_norm(x, shape, weight, bias, eps)


def rms_norm(module: Any) -> Rowwise:
    """x over its root mean square, in float32, times the weight."""
    weight, eps = module.weight.detach(), module.variance_epsilon
    shape = weight.shape
    if weight.dtype is torch.float32:
        return lambda x: F.rms_norm(x, shape, weight, eps)
    return lambda x: weight * F.rms_norm(x.float(), shape, None, eps).to(weight.dtype)


def activation(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """The module, or the one operation that does the same as its eight."""
    if isinstance(module, NewGELUActivation):
        return lambda x: F.gelu(x, approximate="tanh")
    return F.silu if isinstance(module, (nn.SiLU, SiLUActivation)) else module


FAMILIES: dict[str, type[FastPass]] = {  # by the configuration's model_type
    "gpt2": FastGPT2,
    "llama": FastLlama,
    "mistral": FastLlama,
    "qwen2": FastLlama,
    "qwen3": FastLlama,
}
SHARE = {torch.float32: 1e-4, torch.bfloat16: 0.05, torch.float16: 0.01}  # of the largest logit: rounding only


@torch.inference_mode()
def find(model: PreTrainedModel) -> FastPass | None:
    """The written-out pass of this model, if there is one and it gives the library's logits; None otherwise."""
    config = model.config.get_text_config(decoder=True)
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    windowed = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    family = FAMILIES.get(config.model_type)
    if family is None or kinds != {"full_attention"} or windowed:
        return None
    try:
        written = family(model)
        return written if _equals_library(written, model) else None
    except (AttributeError, RuntimeError):  # a variant that lacks a part, or a device that lacks an operation
        return None


def _equals_library(written: FastPass, model: PreTrainedModel) -> bool:
    """Compare a prompt without a cache, then prompt and two steps with one."""
    ids = torch.arange(1, 8, device=model.device) % len(written.table)  # [T]
    stock = model(ids[None], use_cache=False).logits[0].float()  # [T, V]
    cache = GrowingCache()
    ours = [written(ids[:5], cache), written(ids[5:6], cache), written(ids[6:], cache), written(ids)]
    wanted = [stock[4], stock[5], stock[6], stock[6]]
    caches = [GrowingCache(), GrowingCache()]
    written(ids[:5], caches[0])
    written(ids[:4], caches[1])
    ours += written.together(torch.stack([ids[5], ids[4]]), caches)
    wanted += [stock[5], stock[4]]
    worst = max(float((a.float() - b).abs().max()) for a, b in zip(ours, wanted, strict=True))
    return worst <= SHARE.get(model.dtype, 1e-4) * float(stock.abs().max())

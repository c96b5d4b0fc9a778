"""What can be wrong with a checkpoint folder: each as a function that does the damage, and the refusal's words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

WEIGHTS = "model.safetensors"
Damage = Callable[[Path], None]
Tensors = dict[str, Tensor]


def copy(folder: Path, target: Path) -> Path:
    """A copy to damage, with slashes in its name written otherwise."""
    target = target.with_name(target.name.replace("/", "_"))
    shutil.copytree(folder, target)
    return target


def tensors(change: Callable[[Tensors], Tensors]) -> Damage:
    """Rewrite the weights."""

    def damage(folder: Path) -> None:
        changed = {name: tensor.contiguous() for name, tensor in change(load_file(folder / WEIGHTS)).items()}
        save_file(changed, folder / WEIGHTS, metadata={"format": "pt"})

    return damage


def config(**changes: Any) -> Damage:
    """Change keys of config.json."""

    def damage(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**values, **changes}))

    return damage


def text(name: str, content: str | None) -> Damage:
    """Put other text into a file, or take the file away."""

    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).write_text(content)

    return damage


def cut(name: str, share: float) -> Damage:
    """Keep the first part of a file only."""

    def damage(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(share * len(data))])

    return damage


def _without(part: str) -> Damage:
    return tensors(lambda found: {name: tensor for name, tensor in found.items() if part not in name})


def _under(prefix: str) -> Damage:
    return tensors(lambda found: {prefix + name: tensor for name, tensor in found.items()})


def shards(*lost: str) -> Damage:
    """The weights in three files with an index, as large models come; `lost` names files to take away."""

    def damage(folder: Path) -> None:
        found = load_file(folder / WEIGHTS)
        (folder / WEIGHTS).unlink()
        index = {name: f"model-0000{1 + place % 3}-of-00003.safetensors" for place, name in enumerate(sorted(found))}
        for file in set(index.values()):
            part = {name: tensor for name, tensor in found.items() if index[name] == file}
            save_file(part, folder / file, metadata={"format": "pt"})
        (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
        for file in lost:
            (folder / file).unlink()

    return damage


def _shard_without(name: str) -> Damage:
    def damage(folder: Path) -> None:
        shards()(folder)
        file = next(path for path in sorted(folder.glob("model-*")) if name in load_file(path))
        kept = {key: tensor for key, tensor in load_file(file).items() if key != name}
        save_file(kept, file, metadata={"format": "pt"})

    return damage


def _own_code(kind: str) -> Damage:
    def damage(folder: Path) -> None:
        classes = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
        config(model_type=kind, auto_map=classes)(folder)
        (folder / "own.py").write_text("raise SystemExit('the code of a checkpoint was run')\n")

    return damage


def _of_another_shape(found: Tensors) -> Tensors:
    return {**found, "lm_head.weight": torch.zeros(7, 5)}


def _tokenizer(change: Callable[[dict[str, Any]], None]) -> Damage:
    def damage(folder: Path) -> None:
        layout = json.loads((folder / "tokenizer.json").read_text())
        change(layout)
        (folder / "tokenizer.json").write_text(json.dumps(layout))

    return damage


# Done to an untied Llama of three layers with a byte-level vocabulary: the damage, and words that the sentence holds.
REFUSED: dict[str, tuple[Damage, str]] = {
    "a layer gone": (
        _without("layers.1."),
        r"9 tensors are missing \(model.layers.1.input_layernorm.weight, .* and 6 more\)",
    ),
    "one tensor gone": (
        _without("layers.2.mlp.up_proj"),
        r"1 tensor is missing \(model.layers.2.mlp.up_proj.weight\)",
    ),
    "no head, and untied": (_without("lm_head"), r"1 tensor is missing \(lm_head.weight\)"),
    "no token table": (_without("embed_tokens"), r"missing \(model.embed_tokens.weight\)"),
    "every key under module.": (_under("module."), "30 tensors are missing .* and 30 tensors are unexpected"),
    "every key under _orig_mod.": (_under("_orig_mod."), "30 tensors are missing .* and 30 tensors are unexpected"),
    "one layer more in config.json": (config(num_hidden_layers=4), r"9 tensors are missing \(model.layers.3"),
    "one layer fewer in config.json": (config(num_hidden_layers=2), r"9 tensors are unexpected \(model.layers.2"),
    "a million layers": (config(num_hidden_layers=10**6), "1,000,000 layers, and its files hold 30 tensors"),
    "a head of another shape": (
        tensors(_of_another_shape),
        r"1 tensor is of the wrong shape \(lm_head.weight is 7 × 5 and must be 512 × 32\)",
    ),
    "another width in config.json": (config(hidden_size=64), "shape .*model.embed_tokens.weight is 512 × 32"),
    "a tensor nobody asked for": (
        tensors(lambda found: {**found, "v_head.weight": torch.zeros(1)}),
        r"1 tensor is unexpected \(v_head.weight\)",
    ),
    "weights cut short": (cut(WEIGHTS, 0.6), "could not be loaded"),
    "no weights": (text(WEIGHTS, None), "could not be loaded"),
    "a shard gone": (shards("model-00002-of-00003.safetensors"), "could not be loaded: .*model-00002-of-00003"),
    "a shard that lacks what the index says": (
        _shard_without("model.norm.weight"), r"1 tensor is missing \(model.norm.weight\)",
    ),
    "a weight that is no number": (
        tensors(lambda found: {**found, "model.norm.weight": found["model.norm.weight"] / 0}),
        r"infinite or no number in float32: 1 tensor is so \(model.norm.weight\)",
    ),
    "generation_config.json cut short": (text("generation_config.json", "{"), "mine could not be loaded"),
    "quantised in a way that needs a package": (config(quantization_config={"quant_method": "gptq", "bits": 4}),
                                               "mine could not be loaded"),
    "config.json cut short": (cut("config.json", 0.5), "config.json of .* cannot be used"),
    "no config.json": (text("config.json", None), "config.json of .* cannot be used"),
    "a list for config.json": (text("config.json", "[]"), "config.json of .* cannot be used"),
    "no model_type": (text("config.json", "{}"), "cannot be used: it is no JSON object with a model_type"),
    "a list for model_type": (config(model_type=["llama"]), "which this version of the library lacks"),
    "an architecture of the future": (config(model_type="llama99"), '"llama99", which this version'),
    "a width in words": (config(hidden_size="wide"), "hidden_size"),
    "no width": (config(hidden_size=None), "hidden_size|NoneType"),
    "no heads": (config(num_attention_heads=0), "could not be loaded"),
    "heads that do not divide": (config(num_attention_heads=5, head_dim=None), "could not be loaded|do not fit"),
    "an activation nobody knows": (config(hidden_act="wiggle"), "wiggle"),
    "a rope nobody knows": (config(rope_parameters={"rope_type": "knot"}), "could not be loaded|cannot be run"),
    "no context": (config(max_position_embeddings="long"), "max_position_embeddings"),
    "a list for eos_token_id": (config(eos_token_id=[[2]]), "eos_token_id"),
    "tokenizer.json cut short": (cut("tokenizer.json", 0.5), "tokenizer of .* could not be loaded"),
    "tokenizer.json of another kind": (text("tokenizer.json", '{"a": 1}'), "tokenizer of .* could not be loaded"),
    "a piece of the merges gone": (
        _tokenizer(lambda layout: layout["model"]["vocab"].pop("Ġthe")),
        "tokenizer of .* could not be loaded",
    ),
    "no tokenizer": (text("tokenizer.json", None), "okenizer"),
    "code of its own": (_own_code("own"), "code from a checkpoint is never run"),
}  # fmt: skip


# Harmless, and so loaded: the damage to which family.
LOADED: dict[str, tuple[str, Damage]] = {
    "a tied head stored as well": (
        "llama, tied",
        tensors(lambda found: {**found, "lm_head.weight": found["model.embed_tokens.weight"].clone()}),
    ),
    "in shards": ("llama", shards()),
    "rotary angles of old versions": (
        "llama",
        tensors(lambda f: {**f, "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}),
    ),
    "causal triangles of old versions": (
        "gpt2",
        tensors(lambda f: {**f, **{f"transformer.h.{i}.attn.{name}": torch.ones(1, 1, 4, 4)
                                   for i in range(3) for name in ("bias", "masked_bias")}}),
    ),
    "constants of old versions in GPT-NeoX": (
        "gpt_neox",
        tensors(lambda f: {**f, **{f"gpt_neox.layers.{i}.attention.{name}": torch.ones(1)
                                   for i in range(3) for name in ("bias", "masked_bias", "rotary_emb.inv_freq")}}),
    ),
    "keys without the model's prefix": (
        "gpt2",
        tensors(lambda found: {name.removeprefix("transformer."): tensor for name, tensor in found.items()}),
    ),
    "code of its own beside a known architecture": ("llama", _own_code("llama")),
}  # fmt: skip

"""A checkpoint folder into a model of the library: complete and of the right kind, or refused in one sentence.

Nothing in a folder is run: no code of its own, no pickle. A tensor that the file lacks is never made up.
"""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from gptviz.decoder.errors import UserError, brief
from gptviz.decoder.tokens import Tokenizer
from gptviz.words import Said

FIRST = 3  # tensors that a refusal names; the count says how many more there are
LONGEST_REASON = 240  # characters of the library's own words
# Constants that older versions of the library stored with the weights and that every version computes anew: the
# causal triangle, what it writes there, and the angles of rotary positions. (`c_attn.bias` is a weight.)
STORED_CONSTANT = re.compile(
    r"(^|\.)((attn|attention)\.(masked_)?bias|rotary_emb\.(inv_freq|cos_cached|sin_cached)|position_ids)$"
)

REPORT = "LOAD REPORT"  # not words: what the library prints
# The library prints its report as a table of every tensor; here it becomes one sentence.
logging.getLogger("transformers.modeling_utils").addFilter(lambda record: REPORT not in record.getMessage())


def load_model(folder: Path, name: str, dtype: torch.dtype) -> PreTrainedModel:
    """The model of a checkpoint folder, every tensor from its files. UserError where that cannot be had.

    The folder may not run code of its own; an encoder is refused as one.
    """
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}  # False, not None: None asks stdin
    _check_architecture(folder, name)
    try:
        config = AutoConfig.from_pretrained(folder, **local)
        _check_kind(config, name)
        _check_layers(folder, config, name)
        loaded: Any = AutoModelForCausalLM.from_pretrained(  # a pair, which the library's annotation does not say
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # so that the report names them; they are refused below
            output_loading_info=True,
            **local,
        )
    except UserError:
        raise
    except Exception as error:
        raise UserError("loading.not_loaded", model=name, why=reason(error)) from error
    model, report = loaded
    _check_report(name, report)
    _check_numbers(name, model)
    return model


def load_tokenizer(folder: Path, name: str) -> Tokenizer:
    """The tokenizer of a checkpoint folder. UserError where its files cannot be used."""
    try:
        return Tokenizer.from_folder(folder)
    except UserError:
        raise
    except Exception as error:
        raise UserError("loading.no_tokenizer", model=name, why=reason(error)) from error


def reason(error: BaseException) -> Said:
    """What an error of a library says, as the end of a sentence of ours: one line of at most 240 characters."""
    said = " ".join(str(error).split()) or type(error).__name__
    cut = said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 1] + "…"
    cut = cut.rstrip(". ")
    if isinstance(error, KeyError):  # it says the key and nothing else
        return Said("loading.key_missing", key=cut)
    return Said("loading.others_say", words=cut)


def _check_architecture(folder: Path, name: str) -> None:
    """UserError for a model_type that the library does not have, whether or not the folder brings code for it."""
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError("loading.config_unusable", model=name, why=reason(error)) from error
    if not isinstance(values, dict) or "model_type" not in values:
        raise UserError("loading.config_no_type", model=name)
    kind = values["model_type"]
    if isinstance(kind, str) and kind in CONFIG_MAPPING:
        return
    if "auto_map" in values:
        raise UserError("loading.own_code", model=name, kind=kind)
    raise UserError("loading.unknown_kind", model=name, kind=kind)


def _check_kind(config: PreTrainedConfig, name: str) -> None:
    """UserError for a model that does not continue a text from left to right."""
    kind = str(config.model_type)
    if getattr(config, "is_encoder_decoder", False):
        raise UserError("loading.encoder_decoder", model=name, kind=kind)
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        raise UserError("loading.encoder", model=name, kind=kind)
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise UserError("loading.no_decoder", model=name, kind=kind)


def _check_layers(folder: Path, config: PreTrainedConfig, name: str) -> None:
    """UserError for more layers than there are tensors: the library would fill the memory before it complains."""
    count = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None)
    held = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            held += len(file.keys())
    if held and isinstance(count, int) and count > held:
        raise UserError("loading.too_many_layers", model=name, layers=count, tensors=held)


def _check_report(name: str, report: dict[str, Any]) -> None:
    """UserError unless the file held exactly the tensors of the model, each of its shape."""
    strange = [key for key in report["unexpected_keys"] if not STORED_CONSTANT.search(key)]
    mismatched = report["mismatched_keys"]
    wrong = {
        key: Said("loading.has_shape", key=brief(key), found=_shape(found), due=_shape(due))
        for key, found, due in mismatched
    }
    parts: list[Said] = []
    if missing := report["missing_keys"]:
        parts.append(Said("loading.missing", n=len(missing), names=_first(missing)))
    if strange:
        parts.append(Said("loading.unexpected", n=len(strange), names=_first(strange)))
    if wrong:
        parts.append(Said("loading.wrong_shape", n=len(wrong), names=_first(wrong, wrong)))
    if unreadable := report["error_msgs"]:
        parts.append(Said("loading.unreadable", n=len(unreadable), names=_first(unreadable)))
    if parts:
        raise UserError("loading.do_not_fit", model=name, why=functools.reduce(_and, parts))


def _check_numbers(name: str, model: PreTrainedModel) -> None:
    """UserError where a weight is no number: nothing that is computed from it would be one."""
    odd = [key for key, tensor in model.named_parameters() if not torch.isfinite(tensor).all()]
    if odd:
        kind = str(model.dtype).removeprefix("torch.")
        raise UserError("loading.no_numbers", model=name, dtype=kind, n=len(odd), names=_first(odd))


def _first(found: Iterable[str], shown: Mapping[str, str] | None = None) -> Said:
    """The names `a, b, c and 9 more`, each as it is or as `shown` has it."""
    names = _in_order(found)
    first = [shown[name] if shown else brief(name) for name in names[:FIRST]]
    if len(names) > FIRST:
        return Said("loading.names_and_more", names=first, more=len(names) - FIRST)
    return Said("loading.names", names=first)


def _and(one: Said, other: Said) -> Said:
    return Said("loading.both", one=one, other=other)


def _in_order(keys: Iterable[str]) -> list[str]:
    """Sorted as people count: layer 2 before layer 10."""
    return sorted(keys, key=lambda key: [(len(part), part) if part.isdigit() else (0, part) for part in key.split(".")])


def _shape(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes)) or Said("loading.single_number")

"""A checkpoint folder into a model of the library: complete and of the right kind, or refused in one sentence.

Nothing in a folder is run: no code of its own, no pickle. A tensor that the file lacks is never made up.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
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

FIRST = 3  # tensors that a refusal names; the count says how many more there are
LONGEST_REASON = 240  # characters of the library's own words
# Constants that older versions of the library stored with the weights and that every version computes anew: the
# causal triangle, what it writes there, and the angles of rotary positions. (`c_attn.bias` is a weight.)
STORED_CONSTANT = re.compile(
    r"(^|\.)((attn|attention)\.(masked_)?bias|rotary_emb\.(inv_freq|cos_cached|sin_cached)|position_ids)$"
)

# The library prints its report as a table of every tensor; here it becomes one sentence.
logging.getLogger("transformers.modeling_utils").addFilter(lambda record: "LOAD REPORT" not in record.getMessage())


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
        raise UserError(f"{name} could not be loaded: {reason(error)}.") from error
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
        raise UserError(f"The tokenizer of {name} could not be loaded: {reason(error)}.") from error


def reason(error: BaseException) -> str:
    """What an error of a library says, as the end of a sentence of ours: one line of at most 240 characters."""
    said = " ".join(str(error).split())
    if isinstance(error, KeyError):  # it says the key and nothing else
        said = f"there is no {said}"
    said = said or type(error).__name__
    cut = said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 1] + "…"
    return cut.rstrip(". ")


def _check_architecture(folder: Path, name: str) -> None:
    """UserError for a model_type that the library does not have, whether or not the folder brings code for it."""
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"The config.json of {name} cannot be used: {reason(error)}.") from error
    if not isinstance(values, dict) or "model_type" not in values:
        raise UserError(f"The config.json of {name} cannot be used: it is no JSON object with a model_type.")
    kind = values["model_type"]
    if isinstance(kind, str) and kind in CONFIG_MAPPING:
        return
    own_code = "; the folder brings code for it, and code from a checkpoint is never run"
    code = own_code if "auto_map" in values else ""
    raise UserError(f'{name} is of the architecture "{brief(kind)}", which this version of the library lacks{code}.')


def _check_kind(config: PreTrainedConfig, name: str) -> None:
    """UserError for a model that does not continue a text from left to right."""
    kind = str(config.model_type)
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(
            f'{name} is an encoder-decoder ("{kind}"): its decoder continues what an encoder read, and gptviz shows '
            "decoder-only models."
        )
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        raise UserError(
            f'{name} is an encoder ("{kind}"): every token reads the whole text, and none is predicted from the left '
            "alone; gptviz shows decoder-only models."
        )
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise UserError(f'{name} is of the architecture "{kind}", for which the library has no decoder-only model.')


def _check_layers(folder: Path, config: PreTrainedConfig, name: str) -> None:
    """UserError for more layers than there are tensors: the library would fill the memory before it complains."""
    count = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None)
    held = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            held += len(file.keys())
    if held and isinstance(count, int) and count > held:
        raise UserError(
            f"The weights of {name} do not fit its config.json: it states {count:,} layers, and its files hold "
            f"{held} tensors."
        )


def _check_report(name: str, report: dict[str, Any]) -> None:
    """UserError unless the file held exactly the tensors of the model, each of its shape."""
    strange = [key for key in report["unexpected_keys"] if not STORED_CONSTANT.search(key)]
    wrong = [
        f"{brief(key)} is {_shape(found)} and must be {_shape(due)}" for key, found, due in report["mismatched_keys"]
    ]
    parts = [
        _several(map(brief, report["missing_keys"]), "missing"),
        _several(map(brief, strange), "unexpected"),
        _several(wrong, "of the wrong shape"),
        _several(map(brief, report["error_msgs"]), "unreadable"),
    ]
    said = [part for part in parts if part]
    if said:
        raise UserError(f"The weights of {name} do not fit its config.json: {', and '.join(said)}.")


def _check_numbers(name: str, model: PreTrainedModel) -> None:
    """UserError where a weight is no number: nothing that is computed from it would be one."""
    odd = [key for key, tensor in model.named_parameters() if not torch.isfinite(tensor).all()]
    if odd:
        kind = str(model.dtype).removeprefix("torch.")
        raise UserError(f"{name} has weights that are infinite or no number in {kind}: {_several(odd, 'so')}.")


def _several(found: Iterable[str], what: str) -> str:
    """`12 tensors are missing (a, b, c and 9 more)`; empty for none."""
    names = _in_order(found)
    if not names:
        return ""
    more = f" and {len(names) - FIRST} more" if len(names) > FIRST else ""
    count = "1 tensor is" if len(names) == 1 else f"{len(names)} tensors are"
    return f"{count} {what} ({', '.join(names[:FIRST])}{more})"


def _in_order(keys: Iterable[str]) -> list[str]:
    """Sorted as people count: layer 2 before layer 10."""
    return sorted(keys, key=lambda key: [(len(part), part) if part.isdigit() else (0, part) for part in key.split(".")])


def _shape(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes)) or "a single number"

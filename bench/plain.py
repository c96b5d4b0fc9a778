"""What `bench load` is compared with: the library's `generate` behind Gradio's queue, as its guides write it."""

from __future__ import annotations

import sys

import gradio as gr
import torch
from transformers import AutoModelForCausalLM

from gptviz.decoder.loading import load_tokenizer
from gptviz.decoder.sources import weights


def main(model: str, port: int) -> None:
    """Serve it until ended."""
    located = weights.locate(model, offline=True)
    lm = AutoModelForCausalLM.from_pretrained(located.folder).eval()
    tokenizer = load_tokenizer(located.folder, model)

    def generate(text: str, new: int) -> str:
        ids = torch.tensor([tokenizer.encode(text)])
        fixed = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, "use_cache": True}
        found = lm.generate(ids, attention_mask=torch.ones_like(ids), **fixed)
        return tokenizer.decode_after(ids[0].tolist(), found[0, ids.shape[1] :].tolist())

    with gr.Blocks() as demo:
        gr.api(generate, api_name="generate")
    demo.launch(server_name="127.0.0.1", server_port=port, quiet=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

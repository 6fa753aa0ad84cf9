"""`python -m steadfast_vllm.export WEIGHTS BASE OUT`: a folder that vLLM can serve, from a checkpoint's weights.

WEIGHTS is a safetensors file of the embedded trainer, BASE the folder with its config.json and tokenizer files.
"""

import json
import os
import shutil
import sys

from .config import EmbeddedPolicyConfig


def export(weights: str, base: str, out: str) -> None:
    """Writes OUT anew; raises `FileNotFoundError` naming what is missing in BASE."""
    with open(os.path.join(base, "config.json"), encoding="utf-8") as file:
        shape = json.load(file)
    config = EmbeddedPolicyConfig(
        vocab_size=shape["vocab"],
        hidden_size=shape["width"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=shape["feed"],
        max_position_embeddings=shape["context"],
        head_width=shape["width"] // shape["heads"],
        architectures=[EmbeddedPolicyConfig.architecture],
        dtype="float32",
    )
    os.makedirs(out, exist_ok=True)
    config.save_pretrained(out)
    shutil.copyfile(weights, os.path.join(out, "model.safetensors"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(os.path.join(base, name), os.path.join(out, name))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m steadfast_vllm.export WEIGHTS BASE OUT")
    export(*sys.argv[1:])

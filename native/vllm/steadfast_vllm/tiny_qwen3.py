"""`python -m steadfast_vllm.tiny_qwen3 TOKENIZER OUT`: a Qwen 3 that says nothing sensible, made on the spot.

Two random layers under the real vocabulary: the tokenizer, the chat template and the parsers are what is tested with it.
"""

import os
import shutil
import sys

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM


def make(tokenizer: str, out: str, seed: int = 0) -> None:
    """TOKENIZER: folder with tokenizer.json and tokenizer_config.json of Qwen 3. Writes OUT (39 MB)."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=151_936,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=8_192,
        tie_word_embeddings=True,
    )
    os.makedirs(out, exist_ok=True)
    Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(out)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(os.path.join(tokenizer, name), os.path.join(out, name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m steadfast_vllm.tiny_qwen3 TOKENIZER OUT")
    make(*sys.argv[1:])

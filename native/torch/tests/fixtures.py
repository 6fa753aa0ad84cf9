"""A model small enough for a test, written and read like any other, and batches of random episodes."""

import os

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from steadfast_protocol.batch import Episode
from steadfast_protocol.plan import Plan
from steadfast_torch.lora import Lora
from steadfast_torch.model import LanguageModel, ModelOptions

VOCABULARY = 97

PLAN = Plan(
    learning_rate=1e-3, weight_decay=0.0, clip=0.2, dual_clip=3.0, max_grad_norm=1.0, importance_cap=None
)


def write_model(folder: str, tied: bool = True) -> str:
    torch.manual_seed(1)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=tied,
    )
    path = os.path.join(folder, "tied" if tied else "untied")
    Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(path)
    return path


def load(folder: str, lora: Lora | None = None, checkpointing: bool = False) -> LanguageModel:
    torch.set_num_threads(1)
    return LanguageModel(ModelOptions(folder, torch.device("cpu"), torch.float32, lora, checkpointing))


def episodes(count: int = 5, seed: int = 3) -> list[Episode]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        length = int(rng.integers(12, 60))
        sampled = rng.random(length) < 0.4
        sampled[0], sampled[5] = False, True
        logprobs = np.where(sampled, -4 * rng.random(length), 0).astype(np.float32)
        ids = rng.integers(0, VOCABULARY, length).astype(np.int32)
        made.append(Episode(f"episode {number}", ids, sampled, logprobs, float(rng.standard_normal())))
    return made

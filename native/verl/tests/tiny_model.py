"""`python tests/tiny_model.py OUT`: a Qwen 3 of two random layers with the embedded policy's tokenizer (515 tokens)."""

import json
import os
import shutil
import sys

TOKENIZER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "trainer", "base")


def write_model(out: str) -> str:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    with open(os.path.join(TOKENIZER, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    ids = [*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]
    torch.manual_seed(1)
    config = Qwen3Config(
        # Padded, as published models are.
        vocab_size=-(-(max(ids) + 1) // 64) * 64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4096,
        # Verl's FSDP2 keeps a tied head apart from its embedding.
        tie_word_embeddings=False,
    )
    Qwen3ForCausalLM(config).to(torch.float32).save_pretrained(out)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(os.path.join(TOKENIZER, name), os.path.join(out, name))
    return out


def settings(model: str, gpus: int = 1) -> list[str]:
    """Of Verl on the CPU: no kernels for packed sequences, float32."""
    ref, actor = "actor_rollout_ref", "actor_rollout_ref.actor"
    return [
        f"{ref}.model.path={model}",
        f"{ref}.model.use_remove_padding=False",
        f"{ref}.model.enable_gradient_checkpointing=False",
        f"+{ref}.model.override_config.attn_implementation=sdpa",
        f"{actor}.strategy=fsdp2",
        f"{actor}.use_dynamic_bsz=True",
        f"{actor}.ppo_max_token_len_per_gpu=1024",
        f"{actor}.fsdp_config.use_torch_compile=False",
        f"+{actor}.fsdp_config.mixed_precision.param_dtype=fp32",
        f"+{actor}.fsdp_config.mixed_precision.reduce_dtype=fp32",
        f"{actor}.optim.weight_decay=0",
        f"{actor}.optim.total_training_steps=1",
        f"{ref}.rollout.name=vllm",
        f"{ref}.rollout.log_prob_use_dynamic_bsz=True",
        f"{ref}.rollout.log_prob_max_token_len_per_gpu=1024",
        "trainer.nnodes=1",
        f"trainer.n_gpus_per_node={gpus}",
    ]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(
            "usage: python tests/tiny_model.py OUT [GPUS]: also writes OUT/command.txt; a model that is there stays"
        )
    if not os.path.exists(os.path.join(sys.argv[1], "config.json")):
        write_model(sys.argv[1])
    words = settings(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    with open(os.path.join(sys.argv[1], "command.txt"), "w", encoding="utf-8") as out:
        out.write(" \\\n  ".join(["python -m verl.trainer.main_ppo", *words]) + "\n")

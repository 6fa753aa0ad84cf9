"""`python tests/tiny_model.py OUT [GPUS] [REPLICA]`: a Qwen 3 of two random layers with the embedded policy's tokenizer.

It has 515 tokens. With REPLICA, the GPUs of one of Verl's replicas, the settings have those of replicas on the CPU, and the
vocabulary is not padded: Verl masks what lies beyond the tokenizer, which a random model would put a tenth of its mass on.
"""

import json
import os
import shutil
import sys

TOKENIZER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "trainer", "base")


def write_model(out: str, padded: bool = True) -> str:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    with open(os.path.join(TOKENIZER, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    ids = [*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]
    vocab = max(ids) + 1
    torch.manual_seed(1)
    config = Qwen3Config(
        # Padded, as published models are.
        vocab_size=-(-vocab // 64) * 64 if padded else vocab,
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


def replica_settings(gpus: int) -> list[str]:
    """Of replicas of so many GPUs on the CPU."""
    rollout = "actor_rollout_ref.rollout"
    return [
        f"{rollout}.tensor_model_parallel_size={gpus}",
        f"{rollout}.dtype=float32",
        f"{rollout}.enforce_eager=True",
        f"{rollout}.max_model_len=1024",
        f"{rollout}.max_num_seqs=16",
        f"{rollout}.logprobs_mode=raw_logprobs",
        f"{rollout}.checkpoint_engine.update_weights_bucket_megabytes=1",
        f"+{rollout}.engine_kwargs.vllm.kv_cache_memory_bytes={1 << 28}",
    ]


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(
            "usage: python tests/tiny_model.py OUT [GPUS] [REPLICA]: also writes OUT/command.txt; a model that is there stays"
        )
    out, gpus, replica = sys.argv[1], *(int(word) for word in [*sys.argv[2:], "1", "0"][:2])
    if not os.path.exists(os.path.join(out, "config.json")):
        write_model(out, padded=len(sys.argv) < 4)
    words = settings(os.path.abspath(out), gpus) + (replica_settings(replica) if len(sys.argv) == 4 else [])
    with open(os.path.join(out, "command.txt"), "w", encoding="utf-8") as file:
        file.write(" \\\n  ".join(["python -m verl.trainer.main_ppo", *words]) + "\n")

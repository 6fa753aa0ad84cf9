"""`python tests/tiny_qwen3.py [--untied] TOKENIZER TEMPLATE OUT [EPISODES]`: a Qwen 3 of two random layers with a tokenizer of others.

TEMPLATE is its chat template, or "" where `tokenizer_config.json` holds it.

Random, it never calls a tool, and every reward is 0. With EPISODES (JSON Lines of `{ids, sampled}`) it is first taught
to repeat them, and stopped before it does so surely: a policy that is right now and then, as GRPO needs one. About a
minute of CPU for six episodes of 1,100 tokens. Prints what it reached as one line of JSON.
"""

import json
import math
import os
import shutil
import sys
import time

import torch
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

WIDTH = 64
#: Product of the probabilities of an episode's tokens, the mean over episodes, at which teaching ends: truncated to
#: the likeliest tokens, sampling is right more often than that.
ENOUGH = 0.05
MOST_ROUNDS = 1_500


def random_model(vocab: int, tied: bool = True) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocab,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4_096,
        tie_word_embeddings=tied,
    )
    return Qwen3ForCausalLM(config).to(torch.float32)


def teach(model: Qwen3ForCausalLM, episodes: list[dict]) -> dict[str, float]:
    """Maximum likelihood of the sampled tokens, an episode at a time.

    A small model learns that knows the episodes' tokens alone. All others, whose random embeddings give them logits
    close to 0, are one more class beside them, with the logarithm of their number as its logit.
    """
    used = torch.tensor(sorted({i for episode in episodes for i in episode["ids"]}))
    tied = model.config.tie_word_embeddings
    small = random_model(len(used), tied)
    rest = torch.full((1,), math.log(model.config.vocab_size - len(used)))
    batches = []
    for episode in episodes:
        ids = torch.searchsorted(used, torch.tensor(episode["ids"]))
        batches.append((ids[None, :-1], ids, torch.tensor(episode["sampled"]).nonzero()[:, 0]))
    optimizer = torch.optim.AdamW(small.parameters(), lr=5e-3, weight_decay=0.0)
    rounds, mean, probabilities = 0, 0.0, [0.0]
    while mean < ENOUGH and rounds < MOST_ROUNDS:
        rounds, probabilities = rounds + 1, []
        optimizer.zero_grad()
        for inputs, ids, at in batches:
            logits = small(input_ids=inputs, use_cache=False, logits_to_keep=at - 1).logits[0]
            logits = torch.cat((logits, rest.expand(len(at), 1)), -1)
            loss = torch.nn.functional.cross_entropy(logits, ids[at], reduction="sum")
            (loss / (len(at) * len(batches))).backward()
            probabilities.append(float(torch.exp(-loss.detach())))
        torch.nn.utils.clip_grad_norm_(small.parameters(), 1.0)
        optimizer.step()
        mean = sum(probabilities) / len(probabilities)
        if rounds % 25 == 0:
            print(rounds, mean, file=sys.stderr)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            taught = small.state_dict()[name]
            if tensor.shape == taught.shape:
                tensor.copy_(taught)
        model.model.embed_tokens.weight[used] = small.model.embed_tokens.weight
        model.lm_head.weight[used] = small.lm_head.weight
    return {"rounds": rounds, "probability": mean, "least": min(probabilities)}


def main(tied: bool, tokenizer: str, template: str, out: str, episodes: str | None = None) -> None:
    torch.set_num_threads(1)
    path = os.path.join(tokenizer, "tokenizer.json")
    known = Tokenizer.from_file(path).get_vocab(with_added_tokens=True)
    # Padded, as published models are.
    model = random_model(-(-(max(known.values()) + 1) // 128) * 128, tied)
    started, reached = time.process_time(), {}
    if episodes is not None:
        with open(episodes, encoding="utf-8") as file:
            reached = teach(model, [json.loads(line) for line in file])
    os.makedirs(out, exist_ok=True)
    model.save_pretrained(out)
    shutil.copyfile(path, os.path.join(out, "tokenizer.json"))
    shutil.copyfile(
        os.path.join(tokenizer, "tokenizer_config.json"), os.path.join(out, "tokenizer_config.json")
    )
    if template:
        shutil.copyfile(template, os.path.join(out, "chat_template.jinja"))
    print(json.dumps(reached | {"cpuSeconds": round(time.process_time() - started, 1)}))


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--untied"]
    if len(words) not in (3, 4):
        sys.exit("usage: python tests/tiny_qwen3.py [--untied] TOKENIZER TEMPLATE OUT [EPISODES]")
    main("--untied" not in sys.argv, *words)

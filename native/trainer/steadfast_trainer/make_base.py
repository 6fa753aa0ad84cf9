"""Trains the base: supervised next-token learning of what the assistant writes in the demonstrations.

The demonstrator is noisy by construction, so the base is too: it imitates the error rates it has seen.
"""

import argparse
import hashlib
import math
import time

import numpy as np

from steadfast_protocol.faults import UsageError

from .adamw import OptimizerState, adamw_step, clip_by_norm
from .base import save_base
from .chat import Conversation, parse_conversation, render
from .gradient import TrainingPass
from .losses import next_token
from .model import ModelConfig, Parameters
from .numerics import numerics
from .packing import micro_batches, pad
from .tokenizer import Tokenizer
from .tokenizer_build import Lexicon, build_tokenizer

#: Conversations of one optimizer step.
BATCH = 48
WARMUP = 0.04
CONTEXT = 512


def make_base(options: argparse.Namespace) -> int:
    """Writes the base folder; raises `UsageError` for unreadable input. Some minutes for 30,000 demonstrations."""
    started = time.process_time()
    conversations, digest = _read(options.demonstrations)
    try:
        lexicon = Lexicon.read(options.lexicon)
    except (OSError, ValueError) as error:
        raise UsageError("--lexicon", "a JSON lexicon", str(error)) from error
    files = build_tokenizer(lexicon, conversations)
    tokenizer = Tokenizer(*files)
    examples = [encode(conversation, tokenizer) for conversation in conversations]
    config = ModelConfig(vocab=tokenizer.size, width=options.width, feed=4 * options.width, context=CONTEXT)
    lengths = [len(ids) for ids, _ in examples]
    print(
        f"{len(examples)} conversations, {np.mean(lengths):.0f} tokens on average, {max(lengths)} at most, {tokenizer.size} in the vocabulary",
        flush=True,
    )
    if max(lengths) > config.context:
        raise UsageError(
            options.demonstrations, f"at most {config.context} tokens a conversation", str(max(lengths))
        )
    weights, loss = train(
        Parameters.random(config, options.seed), examples, options.epochs, options.learning_rate, options.seed
    )
    provenance = {
        "command": "native/trainer/make-base.sh",
        "seed": options.seed,
        "demonstrations": {"count": len(examples), "sha256": digest, "tokens": sum(lengths)},
        "training": {
            "epochs": options.epochs,
            "learningRate": options.learning_rate,
            "batch": BATCH,
            "lastLoss": round(loss, 4),
        },
        "parameters": int(weights.flat.size),
        "numerics": numerics(),
        "cpuSeconds": round(time.process_time() - started),
    }
    save_base(options.out, weights, files, provenance)
    print(f"{options.out}: loss {loss:.4f}, {provenance['cpuSeconds']} CPU-seconds", flush=True)
    return 0


def encode(conversation: Conversation, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """ids[n], and sampled[n]: true where the assistant wrote the token. Ends with the last of those."""
    ids: list[int] = []
    sampled: list[bool] = []
    for segment in render(conversation):
        part = tokenizer.encode(segment.text)
        ids += part
        sampled += [segment.sampled] * len(part)
    end = len(sampled) - sampled[::-1].index(True)
    return np.array(ids[:end], np.int32), np.array(sampled[:end])


def train(
    weights: Parameters, examples: list[tuple[np.ndarray, np.ndarray]], epochs: float, peak: float, seed: int
) -> tuple[Parameters, float]:
    """Trained weights and the mean loss of the last tenth of the steps, nats per token."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(examples)) for _ in range(math.ceil(epochs))])
    steps = max(1, int(len(examples) * epochs) // BATCH)
    state, training, losses = OptimizerState.fresh(weights.config), TrainingPass(weights), []
    for step in range(steps):
        batch = [examples[i] for i in order[step * BATCH : (step + 1) * BATCH]]
        gradient = Parameters(weights.config)
        tokens = float(sum(sampled.sum() for _, sampled in batch))
        loss = 0.0
        for group in micro_batches([len(ids) - 1 for ids, _ in batch]):
            inputs = pad([batch[i][0][:-1] for i in group])
            at = [np.flatnonzero(batch[i][1]) for i in group]
            chosen = np.concatenate(
                [row * inputs.shape[1] + positions - 1 for row, positions in enumerate(at)]
            )
            targets = np.concatenate([batch[i][0][positions] for i, positions in zip(group, at, strict=True)])
            trace = training.forward(weights, inputs, chosen)
            part, d_logits = next_token(trace.logits, targets, tokens)
            training.backward(weights, trace, d_logits, gradient)
            loss += part
        clip_by_norm(gradient, 1.0)
        weights, state = adamw_step(weights, gradient, state, peak * _schedule(step / steps), 0.0)
        losses.append(loss)
        if step % 50 == 0:
            print(f"step {step} of {steps}: loss {loss:.4f}", flush=True)
    return weights, float(np.mean(losses[-max(1, steps // 10) :]))


def _schedule(part: float) -> float:
    """Linear warm-up, then a cosine down to a twentieth."""
    if part < WARMUP:
        return (part + 1e-3) / WARMUP
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (part - WARMUP) / (1 - WARMUP)))


def _read(path: str) -> tuple[list[Conversation], str]:
    digest, conversations = hashlib.sha256(), []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                digest.update(line.encode())
                conversations.append(parse_conversation(line, f"{path}:{number}"))
    except (OSError, ValueError) as error:
        raise UsageError("--demonstrations", "a readable JSON Lines file", str(error)) from error
    if not conversations:
        raise UsageError("--demonstrations", "at least one conversation", "an empty file")
    return conversations, digest.hexdigest()

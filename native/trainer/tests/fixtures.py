"""Small real parts for the tests: a tiny desk's conversations, a tokenizer and weights made from them, batches."""

import hashlib
import json
import os

import numpy as np

from steadfast_protocol.batch import Episode
from steadfast_protocol.tensors import encode_safetensors
from steadfast_trainer.base import Base, load_base, save_base
from steadfast_trainer.chat import Call, Conversation, Turn
from steadfast_trainer.model import ModelConfig, Parameters
from steadfast_trainer.tokenizer import Tokenizer
from steadfast_trainer.tokenizer_build import Lexicon, build_tokenizer

PLAN = {
    "learningRate": 1e-3,
    "weightDecay": 0.0,
    "clip": 0.2,
    "dualClip": 3.0,
    "maxGradNorm": 1.0,
    "normalisation": "token-mean",
}

LEXICON = Lexicon(
    ("refund", "order", "please", "done", ".", "desk", "late", "<DONE>"),
    ("r", "$"),
    ("get_order", "refund"),
    ("order", "amount"),
)


def conversations(count: int) -> list[Conversation]:
    """A refund of order r<n>, looked up first."""
    made = []
    for n in range(count):
        order = f"r{100 + n}"
        made.append(
            Conversation(
                (
                    Turn("system", "desk ."),
                    Turn("user", f"please refund order {order} ."),
                    Turn("assistant", "", calls=(Call("get_order", {"order": order}),)),
                    Turn("tool", f"order {order} late ${n} ."),
                    Turn("assistant", "late .", calls=(Call("refund", {"order": order, "amount": n}),)),
                    Turn("tool", "done ."),
                    Turn("assistant", "done . <DONE>"),
                ),
                ("get_order", "refund"),
            )
        )
    return made


def small_tokenizer() -> tuple[dict, dict]:
    return build_tokenizer(LEXICON, conversations(3))


def small_base(folder: str, seed: int = 5) -> Base:
    """A random base of the shipped shape (but for its vocabulary), written and read like a shipped one."""
    files = small_tokenizer()
    config = ModelConfig(vocab=Tokenizer(*files).size)
    save_base(folder, Parameters.random(config, seed), files, {"seed": seed})
    return load_base(folder)


def write_batch(folder: str, base: Base, seed: int, episodes: int = 6, zero: bool = False) -> tuple[str, str]:
    """(path, digest) of a batch of random episodes, keys in no order."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(20, 60, episodes)
    total = int(lengths.sum())
    sampled = (rng.random(total) < 0.4).astype(np.uint8)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    sampled[starts] = 0
    sampled[starts + 5] = 1
    advantages = np.zeros(episodes) if zero else rng.standard_normal(episodes)
    keys = [f"train/t/step-0001 · task · 0.0.{i}" for i in rng.permutation(episodes)]
    return write_file(
        folder,
        {
            "ids": rng.integers(0, base.config.vocab, total).astype(np.int32),
            "bits": np.packbits(sampled, bitorder="little"),
            "logprobs": (-rng.random(total)).astype(np.float32)[sampled != 0],
            "lengths": lengths.astype(np.int32),
            "advantages": advantages.astype(np.float32),
        },
        {"format": "2", "run": "t", "step": "1", "keys": json.dumps(keys), "weightVersion": base.digest},
    )


def write_index(folder: str, episodes: list[Episode], version: str = "2") -> tuple[str, str, dict[str, str]]:
    """(path, digest, record paths) of a batch that refers to token records of format `version`."""
    records, paths = [], {}
    for episode in episodes:
        tensors = {"ids": episode.ids, "bits": np.packbits(episode.sampled, bitorder="little")}
        tensors["logprobs"] = episode.logprobs[episode.sampled]
        if version == "1":
            tensors = {"ids": episode.ids, "sampled": episode.sampled.astype(np.uint8)}
            tensors["logprobs"] = episode.logprobs
        path, digest = write_file(folder, tensors, {"format": version})
        records.append(digest)
        paths[digest] = path
    path, digest = write_file(
        folder,
        {
            "lengths": np.array([len(episode.ids) for episode in episodes], np.int32),
            "sampled": np.array([episode.sampled.sum() for episode in episodes], np.int32),
            "advantages": np.array([episode.advantage for episode in episodes], np.float32),
        },
        {
            "format": "3",
            "keys": json.dumps([episode.key for episode in episodes]),
            "records": json.dumps(records),
        },
    )
    return path, digest, paths


def write_file(folder: str, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> tuple[str, str]:
    """(path, digest)."""
    data = encode_safetensors(tensors, metadata)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    path = os.path.join(folder, digest[7:23])
    with open(path, "wb") as file:
        file.write(data)
    return path, digest

"""`selfcheck`: the numerical claims, proved on this machine in a few seconds, one line each.

Exit code 1 and the failing line when one does not hold.
"""

import os
import subprocess
import sys

import numpy as np

from steadfast_protocol.batch import Episode
from steadfast_protocol.plan import Plan
from steadfast_protocol.samplers import Request
from steadfast_protocol.sampling import SamplingOptions
from steadfast_protocol.tensors import digest_tensors

from .adamw import OptimizerState
from .engine import Engine, product_shapes
from .gradient import TrainingPass
from .invariant import Invariance, prove
from .losses import next_token
from .model import ModelConfig, Parameters
from .numerics import numerics
from .prefix_cache import PrefixCache
from .update import compute_update, sequence_logprobs

CONFIG = ModelConfig(vocab=200)


def selfcheck() -> int:
    weights = Parameters.random(CONFIG, 1)
    way = prove(product_shapes(CONFIG), CONFIG.head_width, CONFIG.context)
    print(f"numerics            {numerics()}")
    print(f"invariant products  tiles of {way.tile} rows; attention over at least {way.shortest} positions")
    checks = [
        ("gradient", _gradient(weights)),
        ("batch invariance", _batch_invariance(weights, way)),
        ("sampler = trainer", _agreement(weights, way)),
        ("second process", _second_process()),
    ]
    for name, (holds, found) in checks:
        print(f"{name:20}{'holds' if holds else 'FAILS'}: {found}")
    return 0 if all(holds for _, (holds, _) in checks) else 1


def update_digest() -> str:
    """Digest of the weights after one update with fixed inputs: the same in every process of this machine."""
    rng = np.random.default_rng(3)
    episodes = []
    for n in range(24):
        length = int(rng.integers(30, 90))
        sampled = rng.random(length) < 0.4
        sampled[0], sampled[1] = False, True
        ids = rng.integers(0, CONFIG.vocab, length).astype(np.int32)
        episodes.append(
            Episode(f"k{n:02}", ids, sampled, np.zeros(length, np.float32), float(rng.standard_normal()))
        )
    weights, plan = Parameters.random(CONFIG, 1), Plan(1e-3, 0.0, 0.2, 3.0, 1.0)
    result = compute_update(weights, OptimizerState.fresh(CONFIG), weights, episodes, plan)
    return digest_tensors(result.weights.tensors)


def _gradient(weights: Parameters) -> tuple[bool, str]:
    """Directional derivative of every tensor against central differences."""
    rng, worst = np.random.default_rng(2), 0.0
    ids = rng.integers(0, CONFIG.vocab, (2, 24)).astype(np.int32)
    chosen, targets = np.arange(40), rng.integers(0, CONFIG.vocab, 40)
    training, gradient = TrainingPass(weights), Parameters(CONFIG)
    trace = training.forward(weights, ids, chosen)
    training.backward(weights, trace, next_token(trace.logits, targets, 40.0)[1], gradient)
    for name, tensor in weights.tensors.items():
        direction = np.sign(gradient[name]) / np.float32(np.sqrt(tensor.size))
        kept, values = tensor.copy(), []
        for sign in (1, -1):
            tensor[...] = kept + np.float32(sign * 1e-2) * direction
            values.append(next_token(training.forward(weights, ids, chosen).logits, targets, 40.0)[0])
        tensor[...] = kept
        exact, measured = float(np.sum(gradient[name] * direction)), (values[0] - values[1]) / 2e-2
        worst = max(worst, abs(exact - measured) / max(abs(exact), 1e-3))
    return worst < 1e-2, f"largest relative difference from finite differences {worst:.1e}"


def _batch_invariance(weights: Parameters, way: Invariance) -> tuple[bool, str]:
    """The same requests alone, together, and together with a prefix cache that earlier ones have filled."""
    outcomes = []
    for rows, cache in ((1, None), (40, None), (40, PrefixCache(1 << 24))):
        engine = Engine("w", weights, way, cache, rows)
        for _ in range(2 if cache else 1):
            requests = [
                Request(
                    np.random.default_rng(n // 2)
                    .integers(0, CONFIG.vocab, 10 + 7 * (n // 2 % 9))
                    .astype(np.int32),
                    SamplingOptions(1.0, 20, 0.95, n),
                    20,
                    frozenset(),
                )
                for n in range(40)
            ]
            _finish(engine, requests)
        outcomes.append([(request.tokens, request.logprobs) for request in requests])
    return outcomes[0] == outcomes[1] == outcomes[
        2
    ], "ids and log-probability bytes of 40 requests, three ways"


def _agreement(weights: Parameters, way: Invariance) -> tuple[bool, str]:
    ids = np.random.default_rng(4).integers(0, CONFIG.vocab, 300).astype(np.int32)
    request = Request(ids, SamplingOptions(0, 0, 1, 0), 1, frozenset(), score=True)
    _finish(Engine("w", weights, way, None, 1), [request])
    worst = float(np.abs(np.array(request.logprobs) - sequence_logprobs(weights, [ids])[0]).max())
    return worst < 1e-3, f"largest difference {worst:.1e} nats over 300 tokens"


def _second_process() -> tuple[bool, str]:
    program = "from steadfast_trainer.selfcheck import update_digest; print(update_digest())"
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    ours, theirs = update_digest(), done.stdout.strip()
    return (
        ours == theirs,
        f"weights after one update {ours[:23]} here, {theirs[:23] or done.stderr.strip()[-80:]} there",
    )


def _finish(engine: Engine, requests: list[Request]) -> None:
    for request in requests:
        engine.submit(request)
    while any(request.finish is None for request in requests):
        engine.step()

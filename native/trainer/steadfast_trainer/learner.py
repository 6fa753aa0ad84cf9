"""The embedded model behind the shared contract: its weights, optimizer and update (`steadfast_protocol.learner`)."""

from collections.abc import Mapping

import numpy as np

from steadfast_protocol.batch import Episode
from steadfast_protocol.learner import UpdateResult
from steadfast_protocol.plan import MismatchBound, Plan
from steadfast_protocol.stored import Tensors, TensorStored

from .adamw import BETA1, BETA2, OptimizerState
from .base import Base
from .invariant import Invariance
from .model import Parameters
from .numerics import numerics
from .update import compute_update, sequence_logprobs

#: What this trainer proposes. Its sampler uses the same float32 weights: the mean is 4e-8 nats at most, and the mildest
#: mistake that was measured (log-probabilities at temperature 0.9) has 4.5e-3 (docs/sampling.md).
MISMATCH_BOUND = MismatchBound(1e-3, 5e-3)


class EmbeddedLearner:
    """`way` and `rows` are the sampler's, for `capabilities` only."""

    def __init__(self, base: Base, build: str, way: Invariance | None = None, rows: int = 0):
        self.build, self.base, self.base_digest = build, base.weights, base.digest
        self.config = base.config
        self.vocab, self.context = base.config.vocab, base.config.context
        self._way, self._rows = way, rows
        self.stored = TensorStored(self)

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self.config.shapes()

    def fresh_optimizer(self) -> OptimizerState:
        return OptimizerState.fresh(self.config)

    def weight_tensors(self, weights: Parameters) -> Tensors:
        return weights.tensors

    def optimizer_tensors(self, optimizer: OptimizerState) -> Tensors:
        return optimizer.tensors()

    def load_weights(self, tensors: Tensors) -> Parameters:
        return Parameters.from_tensors(self.config, dict(tensors), "weights")

    def load_optimizer(self, tensors: Tensors) -> OptimizerState:
        return OptimizerState.from_tensors(self.config, tensors)

    def update(
        self, weights: Parameters, optimizer: OptimizerState, episodes: list[Episode], plan: Plan
    ) -> UpdateResult[Parameters, OptimizerState]:
        return compute_update(weights, optimizer, self.base, episodes, plan)

    def sequence_logprobs(self, weights: Parameters, sequences: list[np.ndarray]) -> list[list[float]]:
        return sequence_logprobs(weights, sequences)

    def numerics(self) -> dict[str, str]:
        return numerics()

    def capabilities(self) -> dict[str, object]:
        sampling: dict[str, object] = {"batchInvariant": self._way is not None}
        if self._way is not None:
            sampling |= {"tile": self._way.tile, "shortestAttention": self._way.shortest}
        return {
            "kind": "embedded",
            "mismatchBound": {
                "meanAbove": MISMATCH_BOUND.mean_above,
                "shareAbove": MISMATCH_BOUND.share_above,
            },
            "optimizer": {"name": "adamw", "beta1": BETA1, "beta2": BETA2, "restore": True},
            "model": self.config.to_json() | {"parameters": self.base.flat.size},
            "limits": {"context": self.context, "concurrentSequences": self._rows},
            "sampling": sampling,
        }


def build_name(base: Base, version: str) -> str:
    """Names everything a checkpoint must share with its reader: format, shape and tokenizer."""
    c = base.config
    shape = f"v{c.vocab}-d{c.width}-l{c.layers}-h{c.heads}-f{c.feed}-c{c.context}"
    return f"embedded-{version} {shape} tokenizer:{base.tokenizer_digest[:12]}"

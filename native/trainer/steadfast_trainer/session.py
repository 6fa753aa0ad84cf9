"""The training session: one run's weights, optimizer and applied operations, changed by compare-and-swap only.

A session is an immutable value; an operation computes the next one and replaces it in one assignment. Operations
are called from one worker thread, one at a time; `state` and `status` may be read from any thread.
"""

import time
from dataclasses import dataclass, replace

from .adamw import OptimizerState
from .base import Base
from .batch import read_batch
from .checkpoint import Snapshot, read_checkpoint, write_checkpoint
from .faults import TrainerFault
from .plan import Plan
from .tensors import digest_tensors
from .update import compute_update


@dataclass(frozen=True)
class Session:
    snapshot: Snapshot
    weight_digest: str
    optimizer_digest: str

    def applied(self, op: str) -> dict | None:
        return next((record for record in self.snapshot.applied if record["op"] == op), None)


class Trainer:
    """Owns the session. Every method raises `TrainerFault` and then has changed nothing."""

    def __init__(self, base: Base, build: str):
        self.base, self.build = base, build
        self._session: Session | None = None
        self._failed: dict[str, str] = {}

    @property
    def session(self) -> Session | None:
        return self._session

    def open(self, run: str, path: str | None) -> None:
        """A new session from the base, or from a checkpoint that verifies."""
        if path is None:
            snapshot = Snapshot(run, 0, self.base.weights, OptimizerState.fresh(self.base.config), ())
        else:
            snapshot, _ = read_checkpoint(path, self.base.config, self.build)
            # A fork continues another run's weights and moments, and counts its own steps and operations.
            if snapshot.run != run:
                snapshot = replace(snapshot, run=run, step=0, applied=())
        self._session = Session(
            snapshot, digest_tensors(snapshot.weights.tensors), snapshot.optimizer.digest()
        )
        self._failed = {}

    def current(self, run: str) -> Session:
        """The open session, or `not_open`."""
        session = self._session
        if session is None or session.snapshot.run != run:
            open_run = "none" if session is None else session.snapshot.run
            raise TrainerFault("not_open", f"no session of {run} is open (open: {open_run})")
        return session

    def update(
        self, run: str, op: str, base_digest: str, batch_digest: str, batch_path: str, plan: dict
    ) -> dict:
        """Applies `op` once and returns its report; the same operation again returns the same report."""
        session = self.current(run)
        settings = Plan.parse(plan)
        identity = {"op": op, "baseDigest": base_digest, "batchDigest": batch_digest, "plan": plan}
        known = session.applied(op)
        if known is not None:
            if any(known[name] != identity[name] for name in identity):
                raise TrainerFault("conflict", f"{op} was applied with another base, batch or plan")
            return known["report"]
        if base_digest != session.weight_digest:
            raise TrainerFault(
                "stale_base", f"{op}: the weights are {session.weight_digest}, not {base_digest}"
            )
        try:
            self._session, report = self._apply(session, identity, batch_path, settings)
        except Exception as error:
            self._failed[op] = str(error)
            raise
        self._failed.pop(op, None)
        return report

    def _apply(self, session: Session, identity: dict, batch_path: str, plan: Plan) -> tuple[Session, dict]:
        started = time.perf_counter()
        snapshot, config = session.snapshot, self.base.config
        episodes = read_batch(batch_path, identity["batchDigest"], config.vocab, config.context)
        result = compute_update(snapshot.weights, snapshot.optimizer, self.base.weights, episodes, plan)
        weight_digest, optimizer_digest = digest_tensors(result.weights.tensors), result.optimizer.digest()
        report = {
            "op": identity["op"],
            "baseDigest": identity["baseDigest"],
            "batchDigest": identity["batchDigest"],
            "weightDigest": weight_digest,
            "optimizerDigest": optimizer_digest,
            **result.metrics,
            "seconds": round(time.perf_counter() - started, 4),
        }
        applied = (*snapshot.applied, identity | {"report": report})
        after = Snapshot(snapshot.run, snapshot.step + 1, result.weights, result.optimizer, applied)
        return Session(after, weight_digest, optimizer_digest), report

    def status(self, run: str, op: str) -> dict:
        """`unknown`, `done` with the report, or `failed` with the last error; who queues operations knows `running`."""
        session = self._session
        if session is None or session.snapshot.run != run:
            return {"state": "unknown"}
        known = session.applied(op)
        if known is not None:
            return {"state": "done", "report": known["report"]}
        if op in self._failed:
            return {"state": "failed", "error": self._failed[op]}
        return {"state": "unknown"}

    def checkpoint(self, run: str, folder: str) -> dict:
        path, manifest = write_checkpoint(self.current(run).snapshot, folder, self.build)
        return {"path": path, "manifest": manifest}

    def state(self) -> dict:
        """`TrainerState` without `served`."""
        session = self._session
        if session is None:
            return {"build": self.build, "step": 0, "appliedOps": []}
        return {
            "build": self.build,
            "run": session.snapshot.run,
            "step": session.snapshot.step,
            "weightDigest": session.weight_digest,
            "optimizerDigest": session.optimizer_digest,
            "appliedOps": [record["op"] for record in session.snapshot.applied],
        }

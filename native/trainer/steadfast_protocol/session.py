"""The training session: one run's weights, optimizer and applied operations, changed by compare-and-swap only.

A session is an immutable value; an operation computes the next one and replaces it in one assignment. Operations
are called from one worker thread, one at a time; `state` and `status` may be read from any thread.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Generic

from .batch import read_batch
from .checkpoint import Snapshot, read_checkpoint, write_checkpoint
from .faults import TrainerFault
from .learner import HalfDone, Learner, O, W
from .plan import Plan


@dataclass(frozen=True)
class Session(Generic[W, O]):
    run: str
    step: int
    weights: W
    optimizer: O
    weight_digest: str
    optimizer_digest: str
    #: Operations with base, batch, plan and report.
    applied: tuple[dict, ...]

    def record(self, op: str) -> dict | None:
        return next((record for record in self.applied if record["op"] == op), None)


class Trainer(Generic[W, O]):
    """Owns the session. Every method raises `TrainerFault` and then has changed nothing."""

    def __init__(self, learner: Learner[W, O]):
        self.learner = learner
        self._session: Session[W, O] | None = None
        self._failed: dict[str, str] = {}

    @property
    def session(self) -> Session[W, O] | None:
        """None also where what held its weights has died: whoever needs it brings it back from a checkpoint."""
        session = self._session
        return session if session is not None and self.learner.stored.holds(session.weights) else None

    def open(self, run: str, path: str | None) -> None:
        """A new session from the base, or from a checkpoint that verifies."""
        learner = self.learner
        if path is None:
            optimizer = learner.fresh_optimizer()
            digest = learner.stored.optimizer_digest(optimizer)
            opened = Session(run, 0, learner.base, optimizer, learner.base_digest, digest, ())
        else:
            saved = read_checkpoint(path, learner)
            # A fork continues another run's weights and moments, and counts its own steps and operations.
            same = saved.run == run
            with closing(saved.loaded) as loaded:
                opened = Session(
                    run,
                    saved.step if same else 0,
                    loaded.weights(),
                    loaded.optimizer(),
                    loaded.weight_digest,
                    loaded.optimizer_digest,
                    saved.applied if same else (),
                )
        self._session = opened
        self._failed = {}

    def current(self, run: str) -> Session[W, O]:
        """The open session, or `not_open`."""
        session = self.session
        if session is None or session.run != run:
            open_run = "none" if session is None else session.run
            raise TrainerFault("not_open", f"no session of {run} is open (open: {open_run})")
        return session

    def update(
        self,
        run: str,
        op: str,
        base_digest: str,
        batch_digest: str,
        batch_path: str,
        plan: dict,
        record_paths: Mapping[str, str] | None = None,
    ) -> dict:
        """Applies `op` once and returns its report; the same operation again returns the same report.

        Where batch and token records lie is no part of what the operation is.
        """
        session = self.current(run)
        settings = Plan.parse(plan)
        identity = {"op": op, "baseDigest": base_digest, "batchDigest": batch_digest, "plan": plan}
        known = session.record(op)
        if known is not None:
            if any(known[name] != identity[name] for name in identity):
                raise TrainerFault("conflict", f"{op} was applied with another base, batch or plan")
            return known["report"]
        if base_digest != session.weight_digest:
            raise TrainerFault(
                "stale_base", f"{op}: the weights are {session.weight_digest}, not {base_digest}"
            )
        try:
            self._session, report = self._apply(session, identity, batch_path, record_paths, settings)
        except HalfDone as error:
            # Nothing of it may be used: whoever asks next finds no session, and brings it back from a checkpoint.
            self._session = None
            raise TrainerFault("not_open", f"{op}: {error}; the session of {run} was closed") from error
        except Exception as error:
            self._failed[op] = str(error)
            raise
        self._failed.pop(op, None)
        return report

    def _apply(
        self,
        session: Session[W, O],
        identity: dict,
        batch_path: str,
        record_paths: Mapping[str, str] | None,
        plan: Plan,
    ) -> tuple[Session[W, O], dict]:
        started = time.perf_counter()
        learner = self.learner
        episodes = read_batch(
            batch_path, identity["batchDigest"], learner.vocab, learner.context, record_paths
        )
        result = learner.update(session.weights, session.optimizer, episodes, plan)
        weight_digest, optimizer_digest = session.weight_digest, session.optimizer_digest
        if not result.metrics["skipped"]:
            weight_digest = learner.stored.weight_digest(result.weights)
            optimizer_digest = learner.stored.optimizer_digest(result.optimizer)
        report = {
            "op": identity["op"],
            "baseDigest": identity["baseDigest"],
            "batchDigest": identity["batchDigest"],
            "weightDigest": weight_digest,
            "optimizerDigest": optimizer_digest,
            **result.metrics,
            "seconds": round(time.perf_counter() - started, 4),
        }
        applied = (*session.applied, identity | {"report": report})
        after = Session(
            session.run,
            session.step + 1,
            result.weights,
            result.optimizer,
            weight_digest,
            optimizer_digest,
            applied,
        )
        return after, report

    def status(self, run: str, op: str) -> dict:
        """`unknown`, `done` with the report, or `failed` with the last error; who queues operations knows `running`."""
        session = self.session
        if session is None or session.run != run:
            return {"state": "unknown"}
        known = session.record(op)
        if known is not None:
            return {"state": "done", "report": known["report"]}
        if op in self._failed:
            return {"state": "failed", "error": self._failed[op]}
        return {"state": "unknown"}

    def checkpoint(self, run: str, folder: str) -> dict:
        session, learner = self.current(run), self.learner
        snapshot = Snapshot(
            session.run,
            session.step,
            session.weights,
            session.optimizer,
            session.weight_digest,
            session.optimizer_digest,
            session.applied,
        )
        path, manifest = write_checkpoint(snapshot, folder, learner)
        return {"path": path, "manifest": manifest}

    def saved_weights(self, path: str) -> tuple[str, W]:
        """(weight version, weights) of a checkpoint that verifies; the session is left alone."""
        with closing(read_checkpoint(path, self.learner).loaded) as loaded:
            return loaded.weight_digest, loaded.weights()

    def state(self) -> dict:
        """`TrainerState` without `served`."""
        session = self.session
        if session is None:
            return {"build": self.learner.build, "step": 0, "appliedOps": []}
        return {
            "build": self.learner.build,
            "run": session.run,
            "step": session.step,
            "weightDigest": session.weight_digest,
            "optimizerDigest": session.optimizer_digest,
            "appliedOps": [record["op"] for record in session.applied],
        }

"""What a perfect episode would leave behind, worked out beside the agent's sandbox and never inside it.

The official servers take the golden calls in their session configuration and compare by themselves. Here they
are taken out of it: the agent's server knows only the start state, and this module applies the golden calls to a
fresh system of the same official classes. Hash, states and differences were compared with the official
`__reserved__geteffects` on all 507 benchmark cases: equal on each.

Servers that are not made of these classes keep their whole configuration and report their effects themselves.
"""

import asyncio
import copy
import importlib
import json
import threading
import zlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from differences import differences

ASIDE = ("golden_test_case", "rubrics", "rubrics_yesno")


def server_module(command: list[str], config: dict[str, Any]) -> ModuleType | None:
    """The module behind `python -m module`, when it is one whose final state can be worked out aside."""
    if len(command) != 3 or command[1] != "-m" or "golden_test_case" not in config:
        return None
    module = importlib.import_module(command[2])
    return module if hasattr(module, "SandboxToolsSystem") else None


class Packed:
    """A state as compressed JSON: a worker keeps two for each of 507 cases."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._bytes = zlib.compress(json.dumps(state).encode(), 1)

    def state(self) -> dict[str, Any]:
        return json.loads(zlib.decompress(self._bytes))


@dataclass(frozen=True)
class Expected:
    """States as `to_state_dict` gives them, the official hash, and the way from the one to the other."""

    initial: Packed
    golden: Packed
    golden_hash: str
    changes: list[dict[str, Any]]


class Reference:
    """Expected final states by case and server; each is computed once in the life of the process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Expected] = {}
        # Official tools and fixtures are synchronous Python on shared modules: one at a time.
        self._lock = threading.Lock()

    def expected(self, case: str, server: str, module: ModuleType, config: dict[str, Any]) -> Expected:
        with self._lock:
            key = (case, server)
            if key not in self._known:
                self._known[key] = _play(module, config)
            return self._known[key]

    def official_effects(
        self, expected: Expected, module: ModuleType, reported: dict[str, Any], config: dict[str, Any]
    ) -> dict[str, Any]:
        """Effects in the official shape, from what the agent's server reported and what was expected."""
        golden = expected.golden.state()
        difference: list[dict[str, Any]] = []
        if reported["result_db_hash"] != expected.golden_hash:
            with self._lock:
                difference = _difference(module, reported["result_db_state"], golden)
        return {
            "initial_db_state": expected.initial.state(),
            "result_db_state": reported["result_db_state"],
            "result_db_hash": reported["result_db_hash"],
            "golden_db_state": golden,
            "golden_db_hash": expected.golden_hash,
            "diff": difference,
            "rubrics": config.get("rubrics") or {},
            "rubrics_yesno": config.get("rubrics_yesno") or [],
        }


def _fresh(module: ModuleType) -> Any:
    return module.SandboxToolsSystem(toolsets=module.initialize_sandbox_system().toolsets)


def _play(module: ModuleType, config: dict[str, Any]) -> Expected:
    # What official code is given it may change, and this configuration is everybody's.
    config = copy.deepcopy(config)
    system = _fresh(module)
    if config.get("data_patch"):
        system.apply_data_patch(config["data_patch"])
    initial = Packed(system.get_database_state())
    if config.get("golden_test_case"):
        asyncio.run(module.apply_golden_set_to_database(system, config["golden_test_case"]))
    golden = Packed(system.db.to_state_dict())
    changes = differences(initial.state(), golden.state())
    return Expected(initial, golden, module.calculate_database_hash(system.db), changes)


def _difference(module: ModuleType, result: dict[str, Any], golden: dict[str, Any]) -> list[dict[str, Any]]:
    return module.calculate_deep_diff(_stable(module, result), _stable(module, golden))


def _stable(module: ModuleType, state: dict[str, Any]) -> dict[str, Any]:
    """A reported state as the official comparison sees it: without fields that may differ, lists in order."""
    database = _fresh(module).db
    classes = {stem: model for model, stem in database._model_cls_to_stem.items()}
    for stem, rows in state.items():
        database._store[classes[stem]] = [classes[stem].model_validate(row) for row in rows]
    return module.get_stable_database_state(database)

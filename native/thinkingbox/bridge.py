"""The ThinkingBox bridge: one long-lived process that lists, hydrates and grades cases with the official package.

Started by suites/thinkingbox/bridge.ts as `python -u bridge.py DATASET SERVERS_YAML` with the checkouts on
PYTHONPATH. Speaks JSON lines (channel.py). Each request runs in a thread of its own, since a check waits for the
judge. Ends when its stdin closes.
"""

import json
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from channel import Channel, Refused

channel = Channel()

import yaml  # noqa: E402

from catalogue import Catalogue, UnknownCase  # noqa: E402
from errors import BadInput  # noqa: E402
from grading import DONE, grade  # noqa: E402
from reference import ASIDE, Reference, server_module  # noqa: E402
from thinkingbox.common.config_types import merge_bot_instructions  # noqa: E402


class Bridge:
    def __init__(self, dataset: str, servers_file: str) -> None:
        self._catalogue = Catalogue(dataset)
        self._reference = Reference()
        self._servers: dict[str, dict[str, Any]] = yaml.safe_load(Path(servers_file).read_text())["servers"]
        # Hydration and imports touch shared state; checks only read it.
        self._lock = threading.Lock()

    def open(self, request: dict[str, Any]) -> Any:
        with self._lock:
            return self._catalogue.open(request["names"])

    def load(self, request: dict[str, Any]) -> Any:
        name = request["name"]
        with self._lock:
            case = self._catalogue.case(name)
            unsupported = [
                what
                for what, present in (
                    ("a conversation history", case.history is not None),
                    ("a query formatted with the init result", case.format_query),
                    ("a tool with a direct response", any(t.direct_response for t in case.scenario.tools)),
                    (
                        "a fixture that calls tools through the session proxy",
                        any(f.type.endswith("SessionClientFixture") for f in case.fixtures.values()),
                    ),
                )
                if present
            ]
            servers = [self._server(name, server, config) for server, config in self._catalogue.config(name).items()]
        instructions = merge_bot_instructions(case.scenario.bot_instructions, case.bot_instructions)
        return {
            "systemMessages": [text for text in (case.agent.system_instructions, instructions) if text],
            "opening": case.query,
            "context": case.user_context or "",
            "maxUserTurns": case.max_user_sim_turns,
            "maxAgentActions": case.max_agent_sim_turns,
            "doneMarker": DONE,
            "builtinTools": [tool.model_dump() for tool in case.agent.builtin_tools],
            "tools": [tool.model_dump() for tool in case.scenario.tools],
            "servers": servers,
            "unsupported": unsupported,
        }

    def _server(self, case: str, server: str, config: dict[str, Any]) -> dict[str, Any]:
        spec = self._spec(case, server)
        expected = None
        module = server_module(spec["command"], config)
        if module is not None:
            known = self._reference.expected(case, server, module, config)
            expected = {"result_db_hash": known["golden_hash"], "result_db_state": known["golden"]}
            config = {key: value for key, value in config.items() if key not in ASIDE}
        return {"name": server, **_started(spec), "config": json.dumps(config), "expected": expected}

    def _spec(self, case: str, server: str) -> dict[str, Any]:
        spec = self._servers.get(server)
        if spec is None or spec.get("type") != "mcp-process":
            known = ", ".join(sorted(self._servers))
            raise BadInput(f"{case}: server {server}", f"a process server of servers.yaml ({known})", repr(spec))
        command = [part.replace("{python}", sys.executable) for part in spec["command"]]
        return {"command": command, "env": spec.get("env") or {}, "cwd": spec.get("cwd")}

    def grade(self, request: dict[str, Any]) -> Any:
        name = request["name"]
        effects = dict(request["effects"])
        with self._lock:
            case = self._catalogue.case(name)
            configs = self._catalogue.config(name)
            modules = {
                server: server_module(self._spec(name, server)["command"], config)
                for server, config in configs.items()
            }
        for server, module in modules.items():
            if module is not None:
                known = self._reference.expected(name, server, module, configs[server])
                effects[server] = self._reference.official_effects(
                    known, module, effects[server], configs[server]
                )
        return grade(channel, request["id"], case, effects, request["messages"], request["initResult"])

    def find(self, request: dict[str, Any]) -> Any:
        """Ids of the opened cases that begin with this message; a few share one."""
        with self._lock:
            cases = self._catalogue.cases.items()
            return [name for name, case in cases if case.query == request["opening"]]

    def golden(self, request: dict[str, Any]) -> Any:
        """The golden calls of a case. Test material: nothing but the scripted policy of our tests asks for them."""
        with self._lock:
            configs = self._catalogue.config(request["name"])
        return [
            {"name": call["tool"], "arguments": call.get("parameters") or {}}
            for config in configs.values()
            for call in (config.get("golden_test_case") or {}).get("tool_interactions", [])
            if call.get("tool")
        ]


def _started(spec: dict[str, Any]) -> dict[str, Any]:
    """How the server is started: Python programs through serve.py or warm.py, anything else by its own command."""
    python, *rest = spec["command"]
    program = rest[1:] if rest[:1] == ["-m"] else rest
    if python != sys.executable or len(program) != 1:
        return {**spec, "warm": None}
    here = Path(__file__)
    return {
        **spec,
        "command": [python, str(here.with_name("serve.py")), *program],
        "warm": [python, str(here.with_name("warm.py")), *program],
    }


def answer(bridge: Bridge, request: dict[str, Any]) -> None:
    handlers = {
        "open": bridge.open,
        "load": bridge.load,
        "grade": bridge.grade,
        "find": bridge.find,
        "golden": bridge.golden,
    }
    try:
        reply: dict[str, Any] = {"ok": handlers[request["op"]](request)}
    except BadInput as error:
        details = {"place": error.place, "expected": error.expected, "found": error.found}
        reply = {"error": {"code": "bad_input", "message": str(error), "details": details}}
    except UnknownCase as error:
        reply = {"error": {"code": "unknown_case", "message": str(error), "details": {"known": error.known}}}
    except Refused as error:
        reply = {"error": {"code": "refused", "message": str(error)}}
    except BaseException as error:  # noqa: BLE001 - whatever it was, the host must hear of it
        message = f"{type(error).__name__}: {error}"
        reply = {"error": {"code": "failed", "message": message, "trace": traceback.format_exc()}}
    channel.send({"id": request["id"], **reply})


def main() -> None:
    dataset, servers_file = sys.argv[1:]
    bridge = Bridge(dataset, servers_file)
    for request in channel.requests():
        threading.Thread(target=answer, args=(bridge, request), daemon=True).start()


if __name__ == "__main__":
    main()

"""The ThinkingBox bridge: one long-lived process that lists, hydrates and grades cases with the official package.

Started by suites/thinkingbox/bridge.ts as `python -u bridge.py SETTINGS` with the checkouts on PYTHONPATH; SETTINGS is
JSON: `{dataset, servers, search, states}`. Speaks JSON lines (channel.py). Each request runs in a thread of its own,
since a check waits for the judge. Ends when its stdin closes.
"""

import json
import sys
import threading
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from channel import Channel, Refused

channel = Channel()

from thinkingbox.common.config_types import (  # noqa: E402
    HydratedTestCase,
    format_string_or_none,
    merge_bot_instructions,
)

from catalogue import Catalogue, UnknownCase  # noqa: E402
from differences import differences  # noqa: E402
from direct import direct_tools, spoken  # noqa: E402
from errors import BadInput  # noqa: E402
from grading import DONE, grade  # noqa: E402
from history import calls_to_play, our_messages  # noqa: E402
from reference import ASIDE, Expected, Reference, server_module  # noqa: E402
from servers import Servers, started  # noqa: E402
from user import next_message, words_digest  # noqa: E402


@dataclass(frozen=True)
class CaseServer:
    spec: dict[str, Any]
    # As the official session gets it, golden calls and all.
    config: dict[str, Any]
    # The module whose final state can be worked out aside, with what is expected of it; or neither.
    module: ModuleType | None
    expected: Expected | None


class Bridge:
    def __init__(self, dataset: str, servers: str, search: bool, states: str) -> None:
        self._catalogue = Catalogue(dataset, search)
        self._reference = Reference()
        self._servers = Servers(servers)
        self._whole = states == "whole"
        self._known: dict[str, tuple[HydratedTestCase, dict[str, CaseServer]]] = {}
        # Hydration and imports touch shared state; checks only read it.
        self._lock = threading.Lock()

    def open(self, request: dict[str, Any]) -> Any:
        with self._lock:
            return self._catalogue.open(request["names"])

    def list(self, request: dict[str, Any]) -> Any:
        """Ids of all cases of the dataset."""
        with self._lock:
            return self._catalogue.names()

    def load(self, request: dict[str, Any]) -> Any:
        case, servers = self._case(request["name"])
        history = case.history or []
        return {
            **_opening(case, {}),
            "formatted": case.format_query,
            "history": our_messages(history),
            "historyCalls": calls_to_play(history, {tool.name for tool in case.agent.builtin_tools}),
            "maxUserTurns": case.max_user_sim_turns,
            "maxAgentActions": case.max_agent_sim_turns,
            "doneMarker": DONE,
            "builtinTools": [tool.model_dump() for tool in case.agent.builtin_tools],
            "tools": [tool.model_dump() for tool in case.scenario.tools],
            "servers": [self._loaded(name, server) for name, server in servers.items()],
            "directTools": list(direct_tools(case)),
        }

    def _loaded(self, name: str, server: CaseServer) -> dict[str, Any]:
        config, expected = server.config, None
        if server.expected is not None:
            config = {key: value for key, value in config.items() if key not in ASIDE}
            expected = {"result_db_hash": server.expected.golden_hash, "changes": server.expected.changes}
            if self._whole:
                expected["result_db_state"] = server.expected.golden.state()
        return {"name": name, **started(server.spec), "config": json.dumps(config), "expected": expected}

    def opening(self, request: dict[str, Any]) -> Any:
        """What a case begins with when its words depend on what the servers said to their start state."""
        with self._lock:
            case = self._catalogue.case(request["name"])
        try:
            return _opening(case, _init_result(request["initResult"]))
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            raise BadInput(
                f"case {request['name']}", "words that can be formatted with the init result", repr(error)
            ) from error

    def effects(self, request: dict[str, Any]) -> Any:
        """What an episode keeps of the reported states: hash and changes since the start, or all of it."""
        _, servers = self._case(request["name"])
        return {
            name: self._kept(servers[name], json.loads(text)) for name, text in request["effects"].items()
        }

    def _kept(self, server: CaseServer, reported: dict[str, Any]) -> dict[str, Any]:
        if server.expected is None:
            return reported
        state = reported["result_db_state"]
        kept = {
            "result_db_hash": reported["result_db_hash"],
            "changes": differences(server.expected.initial.state(), state),
        }
        return {**kept, "result_db_state": state} if self._whole else kept

    def grade(self, request: dict[str, Any]) -> Any:
        case, servers = self._case(request["name"])
        effects = {name: json.loads(text) for name, text in request["effects"].items()}
        for name, server in servers.items():
            if server.module is not None and server.expected is not None:
                effects[name] = self._reference.official_effects(
                    server.expected, server.module, effects[name], server.config
                )
        return grade(
            channel,
            request["id"],
            case,
            effects=effects,
            messages=request["messages"],
            given=request["given"],
            ending=_ending_tools(case),
            init_result=_init_result(request["initResult"]),
        )

    def words(self, request: dict[str, Any]) -> Any:
        """Digest of what the simulated user is told."""
        return words_digest()

    def user(self, request: dict[str, Any]) -> Any:
        with self._lock:
            case = self._catalogue.case(request["name"])
        return next_message(
            channel, request["id"], request["messages"], request["context"], _ending_tools(case)
        )

    def direct(self, request: dict[str, Any]) -> Any:
        with self._lock:
            case = self._catalogue.case(request["name"])
        return spoken(case, request["tool"], request["text"])

    def find(self, request: dict[str, Any]) -> Any:
        """Ids of the opened cases that begin with this message; a few share one."""
        with self._lock:
            self._catalogue.open(request["names"])
            cases = self._catalogue.cases
            return [name for name in request["names"] if cases[name].query == request["opening"]]

    def golden(self, request: dict[str, Any]) -> Any:
        """The golden calls of a case. Test material: nothing but the scripted policy of our tests asks for them."""
        with self._lock:
            configs = self._catalogue.config(request["name"])
        return [
            {"name": call["tool"], "arguments": arguments, "argumentsText": json.dumps(arguments)}
            for config in configs.values()
            for call in (config.get("golden_test_case") or {}).get("tool_interactions", [])
            if call.get("tool")
            for arguments in [call.get("parameters") or {}]
        ]

    def programs(self, request: dict[str, Any]) -> Any:
        """What serve.py can run of the servers that the checkout knows."""
        return self._servers.programs()

    def _case(self, name: str) -> tuple[HydratedTestCase, dict[str, CaseServer]]:
        with self._lock:
            if name not in self._known:
                case = self._catalogue.case(name)
                configs = self._catalogue.config(name)
                self._known[name] = case, {
                    server: self._server(name, server, config) for server, config in configs.items()
                }
            return self._known[name]

    def _server(self, case: str, server: str, config: dict[str, Any]) -> CaseServer:
        spec = self._servers.spec(case, server)
        module = server_module(spec["command"], config)
        expected = None if module is None else self._reference.expected(case, server, module, config)
        return CaseServer(spec, config, module, expected)


def _ending_tools(case: HydratedTestCase) -> set[str]:
    return {tool.name for tool in [*case.agent.builtin_tools, *case.scenario.tools] if tool.is_end_turn}


def _opening(case: HydratedTestCase, init_result: dict[str, Any]) -> dict[str, Any]:
    own, query, context = case.bot_instructions, case.query, case.user_context
    if case.format_query and init_result:
        own, query, context = (format_string_or_none(text, init_result) for text in (own, query, context))
    instructions = merge_bot_instructions(case.scenario.bot_instructions, own)
    return {
        "systemMessages": [text for text in (case.agent.system_instructions, instructions) if text],
        "opening": query,
        "context": context or "",
    }


def _init_result(said: dict[str, str]) -> dict[str, Any]:
    """What every server said to its start state, without its status; from text, so that numbers stay as they are."""
    return {
        server: {key: value for key, value in json.loads(text).items() if key != "status"}
        for server, text in said.items()
    }


def answer(bridge: Bridge, request: dict[str, Any]) -> None:
    handlers = {
        "open": bridge.open,
        "list": bridge.list,
        "load": bridge.load,
        "opening": bridge.opening,
        "effects": bridge.effects,
        "grade": bridge.grade,
        "find": bridge.find,
        "golden": bridge.golden,
        "programs": bridge.programs,
        "words": bridge.words,
        "user": bridge.user,
        "direct": bridge.direct,
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
    bridge = Bridge(**json.loads(sys.argv[1]))
    for request in channel.requests():
        threading.Thread(target=answer, args=(bridge, request), daemon=True).start()


if __name__ == "__main__":
    main()

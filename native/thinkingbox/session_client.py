"""The official fixture that calls tools during a check, answered by the live session in place of its proxy."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from thinkingbox.common.config_types import FixtureConfig

_OFFICIAL = ("thinkingbox.common.SessionClientFixture", "thinkingbox.common.mcp_proxy_client.SessionClientFixture")
_current = threading.local()

Call = Callable[[str, str, str], str]


@contextmanager
def calling(call: Call) -> Iterator[None]:
    """Within, in this thread, fixtures are made that call tools through `call(server, tool, arguments as JSON)`."""
    _current.call = call
    try:
        yield
    finally:
        del _current.call


class LiveSessionClient:
    """As the official fixture, without an address: there is one session, the episode's own."""

    def __init__(self, endpoint: str = "", timeout: float = 0.0) -> None:
        self._call: Call = _current.call

    def set_session(self, session_id: str) -> None:
        return None

    def call_tool(self, server_name: str, tool_name: str, arguments: dict[str, Any]) -> str:
        return self._call(server_name, tool_name, json.dumps(arguments))

    def call_json_tool(self, server_name: str, tool_name: str, arguments: dict[str, Any]) -> Any:
        text = self.call_tool(server_name, tool_name, arguments)
        value = json.loads(text)
        if not isinstance(value, list | dict):
            raise ValueError(f"{tool_name} of {server_name} answered no list and no object: {text!r}")
        return value


def with_live_client(fixtures: dict[str, FixtureConfig]) -> dict[str, FixtureConfig]:
    """The same fixtures, with ours in place of the official client."""
    ours = f"{LiveSessionClient.__module__}.{LiveSessionClient.__name__}"
    return {
        name: config.model_copy(update={"type": ours}) if config.type in _OFFICIAL else config
        for name, config in fixtures.items()
    }

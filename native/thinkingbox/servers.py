"""The servers that a checkout knows, and how each is started."""

import sys
from pathlib import Path
from typing import Any

import thinkingbox
import yaml

from errors import BadInput


class Servers:
    """Those of `servers.yaml`, and the framework's own unless the file says that it does without them."""

    def __init__(self, file: str) -> None:
        path = Path(file)
        listed: dict[str, Any] = yaml.safe_load(path.read_text()) if path.is_file() else {}
        self._servers: dict[str, dict[str, Any]] = dict(listed.get("servers") or {})
        if listed.get("use_internal_servers", True):
            for own in sorted((Path(thinkingbox.__file__).parent / "tools").glob("mcp_*.py")):
                name = own.stem.removeprefix("mcp_")
                command = ["{python}", str(own)]
                self._servers.setdefault(name, {"type": "mcp-process", "command": command})

    def spec(self, case: str, server: str) -> dict[str, Any]:
        """`{command, env, cwd}`. Raises BadInput for a server that is unknown or no process."""
        spec = self._servers.get(server)
        if spec is None or spec.get("type", "mcp-process") != "mcp-process":
            known = ", ".join(sorted(self._servers))
            raise BadInput(f"{case}: server {server}", f"a process server of servers.yaml ({known})", repr(spec))
        return _described(spec)

    def programs(self) -> list[str]:
        """Modules and scripts of all servers that serve.py can run."""
        known = [_described(spec) for spec in self._servers.values() if spec.get("type", "mcp-process") == "mcp-process"]
        return sorted({start["command"][2] for start in map(started, known) if start["warm"] is not None})


def _described(spec: dict[str, Any]) -> dict[str, Any]:
    command = [part.replace("{python}", sys.executable) for part in spec["command"]]
    return {"command": command, "env": spec.get("env") or {}, "cwd": spec.get("cwd")}


def started(spec: dict[str, Any]) -> dict[str, Any]:
    """Python programs run through serve.py, or forked from warm.py; anything else by its own command."""
    python, *rest = spec["command"]
    program = rest[1:] if rest[:1] == ["-m"] else rest
    if python != sys.executable or len(program) != 1 or program[0].startswith("-"):
        return {**spec, "warm": None}
    here = Path(__file__)
    return {
        **spec,
        "command": [python, str(here.with_name("serve.py")), *program],
        "warm": [python, str(here.with_name("warm.py")), *program],
    }

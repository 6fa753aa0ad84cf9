"""A till in the form of the official systems: a database with a hash, and golden calls that a perfect episode makes.

What the official servers do with golden calls happens outside of this process in our suite: the start state that arrives
here must not hold them, and `peek` says whether it does.
"""

import hashlib
import json
from typing import Any

from fastmcp import FastMCP
from pydantic import BaseModel


class Sale(BaseModel):
    id: str
    amount: float
    note: str = ""


class Database:
    def __init__(self) -> None:
        self._model_cls_to_stem = {Sale: "sales"}
        self._store: dict[type[BaseModel], list[Any]] = {Sale: []}

    def to_state_dict(self) -> dict[str, Any]:
        return {"sales": [sale.model_dump() for sale in self._store[Sale]]}


class SandboxToolsSystem:
    def __init__(self, toolsets: list[Any]) -> None:
        self.toolsets = toolsets
        self.db = Database()

    def apply_data_patch(self, patch: dict[str, Any]) -> None:
        self.db._store[Sale] += [Sale(**row) for row in patch.get("sales", [])]

    def get_database_state(self) -> dict[str, Any]:
        return self.db.to_state_dict()

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        if name != "create_sale":
            raise ValueError(f"no tool {name}")
        sale = Sale(id=f"S{len(self.db._store[Sale]) + 1}", **arguments)
        self.db._store[Sale].append(sale)
        return sale.model_dump()


def get_stable_database_state(db: Database) -> dict[str, Any]:
    return db.to_state_dict()


def calculate_database_hash(db: Database) -> str:
    return hashlib.sha256(json.dumps(db.to_state_dict(), sort_keys=True).encode()).hexdigest()


def calculate_deep_diff(result: Any, golden: Any) -> list[dict[str, Any]]:
    return [] if result == golden else [{"path": "sales", "result": result, "golden": golden}]


async def apply_golden_set_to_database(system: SandboxToolsSystem, golden: dict[str, Any]) -> Database:
    for call in golden.get("tool_interactions", []):
        await system.call_tool(call["tool"], call.get("parameters", {}))
    return system.db


mcp = FastMCP("till")
system: SandboxToolsSystem | None = None
seen: dict[str, Any] = {}


def initialize_sandbox_system() -> SandboxToolsSystem:
    global system
    if system is None:
        system = SandboxToolsSystem(toolsets=["till"])
    return system


@mcp.tool(name="__reserved__init")
async def initialize(config: dict) -> str:
    seen.update(config)
    initialize_sandbox_system().apply_data_patch(config.get("data_patch", {}))
    return json.dumps({})


@mcp.tool(name="__reserved__geteffects")
async def effects() -> str:
    db = initialize_sandbox_system().db
    return json.dumps({"result_db_state": db.to_state_dict(), "result_db_hash": calculate_database_hash(db)})


@mcp.tool(name="create_sale", description="Rings up a sale")
async def create_sale(amount: float, note: str = "") -> str:
    return json.dumps(await initialize_sandbox_system().call_tool("create_sale", {"amount": amount, "note": note}))


@mcp.tool(name="peek", description="Everything that this server was told")
async def peek() -> str:
    return json.dumps(seen)


if __name__ == "__main__":
    mcp.run(transport="stdio", show_banner=False)

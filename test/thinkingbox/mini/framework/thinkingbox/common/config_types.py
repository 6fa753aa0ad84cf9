"""Cases as they are written, and as they are once everything around them has been read."""

import sys
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from thinkingbox.common.chat_types import AnyMessage, ToolDef


class Tags(BaseModel):
    model_config = ConfigDict(extra="allow")
    domain: str | None = None
    skip: bool = False


class AgentConfig(BaseModel):
    system_instructions: str
    builtin_tools: list[ToolDef]


class FixtureConfig(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str


class ShownTool(BaseModel):
    name: str
    override_description: str | None = None
    override_arg_description: dict[str, str] | None = None
    direct_response: str | None = None
    is_end_turn: bool = False


class ScenarioConfig(BaseModel):
    world_state: dict[str, Any]
    tools: list[ShownTool]
    bot_instructions: str | None = None
    tags: Tags = Field(default_factory=Tags)
    fixtures: dict[str, FixtureConfig] = Field(default_factory=dict)


class TestCase(BaseModel):
    model_config = ConfigDict(extra="forbid")
    uid: str
    test_code: str
    scenario: str
    query: str
    history: str | None = None
    bot_instructions: str | None = None
    user_context: str | None = None
    max_user_sim_turns: int = 10
    max_agent_sim_turns: int = sys.maxsize
    init: dict[str, dict] = Field(default_factory=dict)
    format_query: bool = False
    tags: Tags = Field(default_factory=Tags)


class HydratedTestCase(BaseModel):
    uid: str
    agent: AgentConfig
    scenario: ScenarioConfig
    history: list[AnyMessage] | None = None
    query: str
    test_code: str
    bot_instructions: str | None = None
    user_context: str | None = None
    max_user_sim_turns: int = 10
    max_agent_sim_turns: int = sys.maxsize
    init: dict[str, dict] = Field(default_factory=dict)
    format_query: bool = False
    tags: Tags = Field(default_factory=Tags)
    fixtures: dict[str, FixtureConfig] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


def format_string_or_none(text: str | None, values: dict) -> str | None:
    return text.format(init=values) if text else text


def merge_bot_instructions(scenario: str | None, own: str | None) -> str | None:
    given = [text for text in (scenario, own) if text is not None]
    return "\n".join(given) if given else None


def merge_init_config(world: dict[str, dict], own: dict[str, dict]) -> dict[str, dict]:
    return {server: _merged(world.get(server, {}), own.get(server, {})) for server in {**world, **own}}


def _merged(one: Any, other: Any) -> Any:
    """Objects key by key, lists one after the other, anything else replaced."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _merged(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}
    return one + other if isinstance(one, list) and isinstance(other, list) else other

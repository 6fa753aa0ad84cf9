"""Tools that speak to the user in the agent's place: what the official session makes of their answers."""

import asyncio
from types import SimpleNamespace
from typing import Any

from thinkingbox.common.chat_types import ToolCall
from thinkingbox.common.config_types import HydratedTestCase


def direct_tools(case: HydratedTestCase) -> dict[str, str]:
    """By tool, the form that its answer is put into."""
    return {
        tool.name: tool.direct_response for tool in case.scenario.tools if tool.direct_response is not None
    }


def spoken(case: HydratedTestCase, tool: str, answer: str) -> dict[str, Any]:
    """What the agent reads, and what the user is told (null: nothing). Raises whatever the official session raises."""
    from thinkingbox.common.agent_session import AgentSession

    async def call_tool(_name: str, **_arguments: Any) -> str:
        return answer

    # As much of a session as handling one call takes.
    session = SimpleNamespace(
        llm=SimpleNamespace(tool_names=[tool]),
        mcp=SimpleNamespace(call_tool=call_tool),
        tools_direct_response=direct_tools(case),
    )
    call = ToolCall(name=tool, arguments={})
    response = asyncio.run(AgentSession._handle_tool(session, call))
    return {"content": response.content, "said": response.metadata.get("direct_response")}

"""How a session answers one call, as far as tools that speak for themselves need it."""

import json
from typing import Any

from thinkingbox.common.chat_types import ToolCall, ToolResponse


class AgentSession:
    llm: Any
    mcp: Any
    tools_direct_response: dict[str, str]

    async def _handle_tool(self, tc: ToolCall) -> ToolResponse:
        said = await self.mcp.call_tool(tc.name, **tc.arguments)
        form = self.tools_direct_response.get(tc.name)
        if form is None:
            return ToolResponse(name=tc.name, content=said, id=tc.id)
        try:
            direct = form.format(**json.loads(said))
        except (TypeError, ValueError, KeyError):
            return ToolResponse(name=tc.name, content="it did not work", id=tc.id)
        return ToolResponse(name=tc.name, content=said, id=tc.id, metadata={"direct_response": direct})

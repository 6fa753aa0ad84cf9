"""Models for the peer's own command line (`tb infer`): one that plays golden calls at once, and a judge that agrees.

Named as `factory` of a custom session in the peer's configuration, with `script`: a JSON file of calls by opening message.
"""

import json
from pathlib import Path
from typing import Any

from thinkingbox.common.chat_types import Message, ParallelToolCall, Text, ToolCall
from thinkingbox.common.llm_session_base import LLMSessionBase


class _Model(LLMSessionBase):
    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._tools: list[str] = []

    @property
    def tool_names(self) -> list[str]:
        return self._tools

    def add_tools(self, tools: list) -> None:
        self._tools += [tool.name for tool in tools]

    def reset_tools(self) -> None:
        self._tools = []

    def add_messages(self, messages: list[Message]) -> None:
        self._messages += messages

    def reset_messages(self) -> None:
        self._messages = []

    def get_internal_conversation(self) -> Any:
        return None

    @classmethod
    def from_config(cls, config: Any) -> "LLMSessionBase":
        return cls()

    async def get_completion(self, conversation=None, update_conversation=True, response_schema=None):
        return self.get_completion_sync(conversation, update_conversation, response_schema)


class Golden(_Model):
    def __init__(self, script: str) -> None:
        super().__init__()
        self._script = json.loads(Path(script).read_text())
        self._played = 0

    def get_completion_sync(self, conversation=None, update_conversation=True, response_schema=None):
        opening = next(m.content for m in self._messages if isinstance(m, Text) and m.role == "user")
        calls = self._script[opening]
        if self._played == len(calls):
            said: list[Message] = [Text(role="assistant", content="All of this is settled. <DONE>")]
        else:
            call = calls[self._played]
            said = [ParallelToolCall(tool_calls=[ToolCall(name=call["name"], arguments=call["arguments"])])]
        self._played += 1
        self._messages += said
        return said


class Agreeing(_Model):
    def get_completion_sync(self, conversation=None, update_conversation=True, response_schema=None):
        return [Text(role="assistant", content="Yes")]

"""Messages, what a check looks at, and what it says."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class Message(BaseModel):
    metadata: dict[str, Any] = Field(default_factory=dict)


class Text(Message):
    T: Literal["Text"] = "Text"
    role: Literal["system", "user", "assistant"]
    content: str

    @property
    def tag(self) -> str:
        return self.metadata.get("tag", "text")


class ToolCall(Message):
    T: Literal["ToolCall"] = "ToolCall"
    name: str
    arguments: dict
    id: str = ""


class ParallelToolCall(Message):
    T: Literal["ParallelToolCall"] = "ParallelToolCall"
    tool_calls: list[ToolCall]


class ToolResponse(Message):
    T: Literal["ToolResponse"] = "ToolResponse"
    name: str
    content: str
    id: str = ""


AnyMessage = Text | ToolCall | ParallelToolCall | ToolResponse


class ToolCallResponse(BaseModel):
    tool_call: ToolCall
    tool_response: ToolResponse


class ToolDef(BaseModel):
    name: str
    description: str
    input_schema: dict
    is_end_turn: bool = False


class TestContext(BaseModel):
    response: str = ""
    tool_direct_responses: list[str] = Field(default_factory=list)
    effects: dict[str, Any] = Field(default_factory=dict)
    tool_calls: list[ToolCallResponse] = Field(default_factory=list)
    messages: list[AnyMessage] = Field(default_factory=list)
    init_result: dict[str, Any] = Field(default_factory=dict)
    session_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)

    def _visible(self) -> list[Text]:
        texts = [m for m in self.messages if isinstance(m, Text)]
        return [m for m in texts if m.role != "system" and m.tag != "think"]

    def query(self) -> str:
        return next(m.content for m in self._visible() if m.role == "user")

    def transcript(self) -> str:
        return "\n\n".join(f"{m.role.capitalize()}: {m.content}" for m in self._visible())


class TestResult(BaseModel):
    result: bool = True
    reward: float = 1.0
    is_system_error: bool = False
    tb: str = ""
    lineno: int = -1
    line_content: str = ""
    prints: str = ""

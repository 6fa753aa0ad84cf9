"""A conversation that a case begins with: from the official form to ours. Its calls are played when a session starts."""

import json
from typing import Any

from thinkingbox.common.chat_types import Message, ParallelToolCall, Text, ToolCall, ToolResponse


def our_messages(history: list[Message]) -> list[dict[str, Any]]:
    """One message of ours for each turn of the agent: reasoning, text and calls that follow one another are one turn."""
    out: list[dict[str, Any]] = []
    for message in history:
        if isinstance(message, ToolResponse):
            out.append(
                {
                    "role": "tool",
                    "callId": message.id,
                    "name": message.name,
                    "content": message.content,
                    "isError": False,
                }
            )
        elif isinstance(message, Text) and message.tag == "direct":
            out.append(
                {
                    "role": "assistant",
                    "reasoning": "",
                    "content": message.content,
                    "toolCalls": [],
                    "direct": True,
                }
            )
        elif isinstance(message, Text) and message.role != "assistant":
            out.append({"role": message.role, "content": message.content})
        else:
            _add_to_turn(out, message)
    return out


def calls_to_play(history: list[Message], builtin: set[str]) -> list[dict[str, Any]]:
    """The calls that bring the servers to where the history ends: not those that failed, nor the framework's own."""
    return [
        {"name": call.name, "arguments": call.arguments, "argumentsText": json.dumps(call.arguments)}
        for message in history
        for call in _calls(message)
        if not call.metadata.get("error") and call.name not in builtin
    ]


def _calls(message: Message) -> list[ToolCall]:
    if isinstance(message, ToolCall):
        return [message]
    return list(message.tool_calls) if isinstance(message, ParallelToolCall) else []


def _add_to_turn(out: list[dict[str, Any]], message: Message) -> None:
    last = out[-1] if out and out[-1]["role"] == "assistant" and "direct" not in out[-1] else None
    field = "toolCalls"
    if isinstance(message, Text):
        field = "reasoning" if message.tag == "think" else "content"
    # A turn is written in this order; what comes before its place begins another one.
    later = {"reasoning": ("reasoning", "content", "toolCalls"), "content": ("content", "toolCalls")}
    if last is None or any(last[name] for name in later.get(field, ("toolCalls",))):
        last = {"role": "assistant", "reasoning": "", "content": "", "toolCalls": []}
        out.append(last)
    if isinstance(message, Text):
        last[field] = message.content
        return
    last["toolCalls"] = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "argumentsText": json.dumps(call.arguments),
        }
        for call in _calls(message)
    ]

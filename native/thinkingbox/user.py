"""The official simulated user: its own code words the prompt and reads the answer, the host's model gives it.

Nothing of its words is kept here: whatever the checkout says is what the model is told.
"""

import asyncio
import hashlib
import json
from typing import Any

from thinkingbox.common.chat_types import Message, Text

from channel import Channel
from errors import BadInput
from grading import HostModel, conversation

# Every form that a prompt takes: with and without an end, with reasoning that a user must not see.
SAMPLE = [
    {"role": "system", "content": "system"},
    {"role": "user", "content": "opening"},
    {"role": "assistant", "reasoning": "thought", "content": "said", "toolCalls": []},
]
ANSWER = ' User: "answer" '


def next_message(
    channel: Channel, request: int, messages: list[dict[str, Any]], context: str, ending: set[str]
) -> str:
    """The user's next message. Raises Refused when the host's model gave none."""
    model = HostModel(channel, request)
    history, _ = conversation(messages, len(messages), ending)
    with model.free_text(""):
        return asyncio.run(_simulator(model, False).generate(history, context)).content


def words_digest() -> str:
    """SHA-256 of what a user is told beside a case's own text, and of how its answer is read."""
    seen: list[Any] = []
    for may_end in (False, True):
        model = Listening()
        history, _ = conversation(SAMPLE, len(SAMPLE), set())
        answer = asyncio.run(_simulator(model, may_end).generate(history, "context"))
        seen.append([model.told, answer.content])
    return "sha256:" + hashlib.sha256(json.dumps(seen).encode()).hexdigest()


class Listening(HostModel):
    """Answers always the same, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[list[str]] = []

    def get_completion_sync(
        self,
        conversation: list[Message] | None = None,
        update_conversation: bool = True,
        response_schema: dict | None = None,
    ) -> list[Message]:
        self.told += [[m.role, m.content] for m in conversation or [] if isinstance(m, Text)]
        return [Text(role="assistant", content=ANSWER)]


def _simulator(model: HostModel, may_end: bool) -> Any:
    try:
        from thinkingbox.common.user_simulated_answer import UserSimulator
    except ImportError as error:
        raise BadInput("thinkingbox", "a framework with a simulated user", str(error)) from error
    return UserSimulator(model, can_end_conversation=may_end)

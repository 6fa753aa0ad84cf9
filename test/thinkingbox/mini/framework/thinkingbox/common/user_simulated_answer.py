"""A person of few words, for tests: what it is told can be recognised, and so can what it makes of an answer."""

from typing import Any

from thinkingbox.common.chat_types import Message, Text
from thinkingbox.common.llm_session_base import LLMSessionBase


class UserSimulator:
    def __init__(self, llm: LLMSessionBase, can_end_conversation: bool = False) -> None:
        self.llm = llm
        self.rule = "Speak as the mini user." + (" You may end." if can_end_conversation else "")

    async def generate(self, chat_history: list[Message], user_context: str) -> Any:
        heard = [m for m in chat_history if isinstance(m, Text) and m.role != "system" and m.tag != "think"]
        told = "\n".join(f"{m.role}/{m.tag}: {m.content}" for m in heard)
        said = await self.llm.get_completion(
            conversation=[
                Text(role="system", content=self.rule),
                Text(role="user", content=f"{told}\nYou know: {user_context}"),
            ],
            update_conversation=False,
        )
        return Text(role="user", content=said[-1].content.removeprefix("Mini:").strip())

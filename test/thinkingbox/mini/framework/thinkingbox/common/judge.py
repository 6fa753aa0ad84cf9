"""Questions to a model that answers yes or no."""

import json
from typing import Any

from thinkingbox.common.chat_types import Text
from thinkingbox.common.llm_session_base import LLMSessionBase

SYSTEM = "You are a judge. Answer Yes or No."


class Judge:
    def __init__(self, model: LLMSessionBase, judge_type: str = "legacy") -> None:
        self._asked = model
        self._decisions: list[dict[str, Any]] = []

    def _complete(self, system: str, user: str) -> str:
        said = self._asked.get_completion_sync(
            [Text(role="system", content=system), Text(role="user", content=user)]
        )
        return said[-1].content

    def evaluate_bool(self, system: str, user: str) -> bool:
        return self._complete(system, user).strip().lower().startswith("yes")

    def yesno(self, question: str) -> bool:
        return self.evaluate_bool(SYSTEM, question)

    def text_yesno(self, text: str, question: str) -> bool:
        return self.evaluate_bool(SYSTEM, f"{text}\n\n{question}")

    def compare_yesno(self, first: str, second: str, question: str) -> bool:
        return self.evaluate_bool(SYSTEM, f"{first}\n\n{second}\n\n{question}")

    def text_yesno_with_motivation(self, text: str, question: str) -> dict[str, Any]:
        try:
            answer = json.loads(self._complete(SYSTEM, f"{text}\n\n{question}"))
        except ValueError:
            answer = {"answer": False, "motivation": "Failed to parse response"}
        self._decisions.append({"question": question, **answer})
        return answer

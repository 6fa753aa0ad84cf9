"""The official check of a case, run on a finished conversation; what it asks the judge goes to the host."""

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from thinkingbox.common.chat_types import (
    Message,
    ParallelToolCall,
    TestContext,
    TestResult,
    Text,
    ToolCall,
    ToolCallResponse,
    ToolResponse,
)
from thinkingbox.common.config_types import HydratedTestCase
from thinkingbox.common.fixtures import build_fixtures
from thinkingbox.common.judge import Judge
from thinkingbox.common.llm_session_base import LLMSessionBase
from thinkingbox.common.testrunner import TestScript

from channel import Channel, Refused
from session_client import calling, with_live_client

DONE = "<DONE>"
# What the official judge says of an answer that is no JSON.
UNREADABLE = "Failed to parse response"
# As activities/episode/judge.ts does with answers of one word.
ASKED_AT_MOST = 3
REMINDER = "\nYour last answer could not be read. Answer with one JSON object of the form asked for, and nothing else."


class HostModel(LLMSessionBase):
    """The model behind the official judge: every completion is a question to the host."""

    def __init__(self, channel: Channel, request: int) -> None:
        self._channel, self._request = channel, request
        self._local = threading.local()

    @contextlib.contextmanager
    def free_text(self, reminder: str) -> Iterator[None]:
        """Within, answers are free text; elsewhere the official judge reads nothing but yes or no.

        The reminder is added to the official prompt; there is none when a question is first put.
        """
        self._local.free, self._local.reminder = True, reminder
        try:
            yield
        finally:
            self._local.free, self._local.reminder = False, ""

    def get_completion_sync(
        self,
        conversation: list[Message] | None = None,
        update_conversation: bool = True,
        response_schema: dict | None = None,
    ) -> list[Message]:
        texts = {m.role: m.content for m in conversation or [] if isinstance(m, Text)}
        answer = self._channel.ask(
            self._request,
            "complete" if getattr(self._local, "free", False) else "yesno",
            system=texts.get("system", "") + getattr(self._local, "reminder", ""),
            user=texts.get("user", ""),
        )
        text = answer if isinstance(answer, str) else ("Yes" if answer else "No")
        return [Text(role="assistant", content=text)]

    async def get_completion(
        self,
        conversation: list[Message] | None = None,
        update_conversation: bool = True,
        response_schema: dict | None = None,
    ) -> list[Message]:
        return self.get_completion_sync(conversation)

    @property
    def tool_names(self) -> list[str]:
        return []

    def add_tools(self, tools: list) -> None:
        raise NotImplementedError("a judge has no tools")

    def add_messages(self, messages: list[Message]) -> None:
        raise NotImplementedError("a judge keeps no conversation")

    def reset_tools(self) -> None:
        return None

    def reset_messages(self) -> None:
        return None

    def get_internal_conversation(self) -> None:
        return None

    @classmethod
    def from_config(cls, config: Any) -> "HostModel":
        raise NotImplementedError("made by the bridge only")


class RecordingJudge(Judge):
    """The official judge, with every question and answer kept in order."""

    def __init__(self, model: HostModel) -> None:
        super().__init__(model, judge_type="legacy")
        self._model = model
        self._nested = threading.local()
        self.judged: list[dict[str, Any]] = []

    def _recorded(self, question: str, ask: Any) -> Any:
        if getattr(self._nested, "on", False):
            return ask()
        self._nested.on = True
        try:
            answer = ask()
        finally:
            self._nested.on = False
        self.judged.append({"question": question, "answer": bool(answer)})
        return answer

    def evaluate_bool(self, system: str, user: str) -> bool:
        return self._recorded(user, lambda: super(RecordingJudge, self).evaluate_bool(system, user))

    def text_yesno(self, text: str, question: str) -> bool:
        return self._recorded(question, lambda: super(RecordingJudge, self).text_yesno(text, question))

    def compare_yesno(self, first: str, second: str, question: str) -> bool:
        return self._recorded(
            question, lambda: super(RecordingJudge, self).compare_yesno(first, second, question)
        )

    def yesno(self, question: str) -> bool:
        return self._recorded(question, lambda: super(RecordingJudge, self).yesno(question))

    def text_yesno_with_motivation(self, text: str, question: str) -> dict[str, Any]:
        for asked in range(ASKED_AT_MOST):
            with self._model.free_text(REMINDER if asked else ""):
                answer = super().text_yesno_with_motivation(text, question)
            if answer.get("motivation") != UNREADABLE:
                self.judged.append({"question": question, "answer": bool(answer["answer"])})
                return answer
            # What was not read was not decided.
            self._decisions.pop()
        # The official judge takes an unreadable answer for a "no"; here it is a fault, never a verdict.
        raise Refused(f"unreadable answers of the judge, asked {ASKED_AT_MOST} times: {question}")


def conversation(
    messages: list[dict[str, Any]], given: int, ending: set[str]
) -> tuple[list[Message], list[ToolCallResponse]]:
    """Our messages in the official form, and every tool call after the first `given` messages with its response.

    A turn that calls one of the `ending` tools executed nothing: only that call counts, with an empty answer.
    """
    results = {m["callId"]: m["content"] for m in messages if m["role"] == "tool"}
    out: list[Message] = []
    calls: list[ToolCallResponse] = []
    for index, m in enumerate(messages):
        if m["role"] in ("system", "user"):
            out.append(Text(role=m["role"], content=m["content"]))
        elif m["role"] == "tool":
            out.append(ToolResponse(name=m["name"], content=m["content"], id=m["callId"]))
        elif m.get("direct"):
            out.append(Text(role="assistant", content=m["content"], metadata={"tag": "direct"}))
        else:
            if m["reasoning"]:
                out.append(Text(role="assistant", content=m["reasoning"], metadata={"tag": "think"}))
            if m["content"]:
                done = {"is_done": True} if m["content"].strip().endswith(DONE) else {}
                out.append(Text(role="assistant", content=m["content"], metadata=done))
            if m["toolCalls"]:
                made = [ToolCall(name=c["name"], arguments=_arguments(c), id=c["id"]) for c in m["toolCalls"]]
                out.append(ParallelToolCall(tool_calls=made))
                ends = any(call.name in ending for call in made)
                answered = [
                    ToolCallResponse(
                        tool_call=call,
                        tool_response=ToolResponse(
                            name=call.name, content=results.get(call.id, ""), id=call.id
                        ),
                    )
                    for call in made
                    if not ends or call.name in ending
                ]
                calls += answered if index >= given else []
    return out, calls


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    """As the agent wrote them, where JavaScript's numbers are not."""
    text = call.get("argumentsText")
    return call["arguments"] if text is None else json.loads(text)


def grade(
    channel: Channel,
    request: int,
    case: HydratedTestCase,
    *,
    effects: dict[str, Any],
    messages: list[dict[str, Any]],
    given: int,
    ending: set[str],
    init_result: dict[str, Any],
) -> dict[str, Any]:
    """Runs the check. `given`: messages that the case began with, system messages and history. `ending`: tools that end.

    Raises Refused when the host could not answer a question of the judge, or a tool call of the check.
    """
    official, calls = conversation(messages, given, ending)
    texts = [m for m in official if isinstance(m, Text) and m.role == "assistant"]
    said = [m for m in texts if m.tag == "text"]
    context = TestContext(
        response=said[-1].content if said else "",
        tool_calls=calls,
        tool_direct_responses=[m.content for m in texts if m.tag == "direct"],
        effects=effects,
        messages=official,
        init_result=init_result,
    )
    judge = RecordingJudge(HostModel(channel, request))

    def call_tool(server: str, tool: str, arguments: str) -> str:
        return channel.ask(request, "tool", server=server, tool=tool, arguments=arguments)

    with calling(call_tool):
        fixtures = build_fixtures(with_live_client(case.fixtures))
        script = TestScript(case.test_code, judge, fixtures=fixtures, test_uid=case.uid)
        result: TestResult = script.evaluate_sync(context)
    return {
        "passed": result.result,
        "reward": result.reward,
        "systemError": result.is_system_error,
        "reason": "" if result.result else _reason(result),
        "trace": result.tb,
        "judged": judge.judged,
        "printed": result.prints[:4000],
    }


def _reason(result: TestResult) -> str:
    """The exception's own text without its stack, and the line of the check that raised it."""
    lines = result.tb.strip().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("AssertionError")]
    text = lines[starts[0] :] if starts else lines[-1:]
    return "\n".join([*text, f"line {result.lineno}: {result.line_content.strip()}"])

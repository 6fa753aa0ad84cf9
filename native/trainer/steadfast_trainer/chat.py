"""Conversations as text: the chat template, and the same rendering in Python for supervised training.

ChatML turns with Qwen3-style XML calls. What comes from outside begins with a space, so that the first word of a
text is the same token as any other. Tools are not rendered at all: the embedded policy knows its desk.
"""

import json
from dataclasses import dataclass

GENERATION_PROMPT = "<|im_start|>assistant\n<think>\n"

CHAT_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n<think>\\n' + (message.reasoning_content if message.reasoning_content is string else '') + '\\n</think>\\n\\n' }}
{%- set content = message.content if message.content is string else '' %}
{{- content }}
{%- for call in (message.tool_calls if message.tool_calls else []) %}
{%- set function = call.function if call.function else call %}
{{- (('\\n\\n' if content else '') if loop.first else '\\n') + '<tool_call>\\n<function=' + function.name + '>\\n' }}
{%- for name, value in function.arguments.items() %}
{{- '<parameter=' + name + '>\\n' + (value if value is string else (value | tojson)) + '\\n</parameter>\\n' }}
{%- endfor %}
{{- '</function>\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n ' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n<think>\\n' }}
{%- endif %}
"""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class Turn:
    role: str
    content: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Conversation:
    messages: tuple[Turn, ...]
    tools: tuple[str, ...] = ()
    template: str = ""


@dataclass(frozen=True)
class Segment:
    """A piece of the rendered text; `sampled` where the policy writes it."""

    text: str
    sampled: bool


def render(conversation: Conversation) -> list[Segment]:
    """The template's text, cut where sampling begins and ends."""
    segments: list[Segment] = []
    for turn in conversation.messages:
        if turn.role != "assistant":
            segments.append(Segment(f"<|im_start|>{turn.role}\n {turn.content}<|im_end|>\n", False))
            continue
        segments.append(Segment(GENERATION_PROMPT, False))
        calls = "\n".join(_call_text(call) for call in turn.calls)
        gap = "\n\n" if turn.content and calls else ""
        segments.append(Segment(f"{turn.reasoning}\n</think>\n\n{turn.content}{gap}{calls}<|im_end|>", True))
        segments.append(Segment("\n", False))
    return segments


def _call_text(call: Call) -> str:
    arguments = "".join(
        f"<parameter={name}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for name, value in call.arguments.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{arguments}</function>\n</tool_call>"


def parse_conversation(line: str, place: str) -> Conversation:
    """One line of a demonstrations file: OpenAI chat messages. Raises `ValueError` naming `place`."""
    try:
        record = json.loads(line)
        turns = tuple(_turn(message) for message in record["messages"])
        return Conversation(turns, tuple(record.get("tools", ())), record.get("taskTemplate", ""))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{place}: expected a demonstration with chat messages, found {error!r}") from error


def _turn(message: dict) -> Turn:
    calls = []
    for call in message.get("tool_calls") or message.get("toolCalls") or ():
        function = call.get("function", call)
        arguments = function["arguments"]
        calls.append(
            Call(function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments)
        )
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    return Turn(message["role"], message.get("content") or "", reasoning, tuple(calls))

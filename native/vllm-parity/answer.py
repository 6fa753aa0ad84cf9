"""Reads model output with vLLM's own parsers: JSON Lines in, JSON Lines out.

  python answer.py WHEEL_FOLDER < cases.jsonl > answers.jsonl      (a few thousand cases a second)

In:  {"format": "qwen3_xml" | "qwen3_xml_plain" | "hermes" | "hermes_plain", "input": text, "tools": [OpenAI tools]}
Out: {"reasoning", "content", "tool_calls": [{"name", "arguments": JSON text}]}
     or {"crash": "KeyError: ..."}: what vLLM raised on it
Reasoning parser first, then the tool parser on its content, as vLLM's serving layer does (not streaming).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import engine

# Parser names per format: reasoning, tools. The plain ones are of a server without
# --reasoning-parser, or of a request whose template closes the reasoning (enable_thinking false).
PARSERS: dict[str, tuple[str | None, str]] = {
    "qwen3_xml": ("qwen3", "qwen3_xml"),
    "qwen3_xml_plain": (None, "qwen3_xml"),
    "hermes": ("qwen3", "hermes"),
    "hermes_plain": (None, "hermes"),
}

# The added tokens of Qwen 3's tokenizer: those marked special, and those that parsers look for.
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
ADDED = [*SPECIAL, "<tool_call>", "</tool_call>", "<think>", "</think>"]


class QwenTokenizer:
    """What a parser asks of a tokenizer when it reads finished text: names of tokens, never an encoding."""

    all_special_tokens = SPECIAL
    all_special_ids = list(range(len(SPECIAL)))

    def get_vocab(self) -> dict[str, int]:
        return {token: index for index, token in enumerate(ADDED)}


def answer(case: dict, tokenizer: QwenTokenizer) -> dict:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    reasoning_name, tool_name = PARSERS[case["format"]]
    tools = case["tools"] or None
    request = ChatCompletionRequest(messages=[], model="m", tools=tools)
    reasoning, content = None, case["input"]
    if reasoning_name is not None:
        parser = ReasoningParserManager.get_reasoning_parser(reasoning_name)(tokenizer)
        reasoning, content = parser.extract_reasoning(case["input"], request)
    parser = ToolParserManager.get_tool_parser(tool_name)(tokenizer, request.tools)
    read = parser.extract_tool_calls(content or "", request)
    return {
        "reasoning": reasoning or "",
        "content": read.content or "",
        "tool_calls": [
            {"name": call.function.name, "arguments": call.function.arguments} for call in read.tool_calls
        ],
    }


def main() -> None:
    engine.load(Path(sys.argv[1]))
    tokenizer = QwenTokenizer()
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), tokenizer)
        except Exception as error:  # whatever vLLM raises is part of the comparison
            reply = {"crash": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(reply), flush=False)


if __name__ == "__main__":
    main()

"""Render and tokenise chat requests as a serving engine does: transformers' template environment, Rust tokenizers.

Standard input: one JSON document a line. The first is {"tokenizer": path, "config": {...}}; each further one is the body
of a chat completion, {"messages": [...], "tools": [...]}. Standard output: a line {"text", "ids"} or {"error"} for each.

What vLLM 0.27 does to a request before the template sees it (its protocol.py and chat_utils.py): a tool becomes
{type, function: {name, description, parameters}} with null for an absent description; arguments of calls become
objects; `reasoning` is copied to `reasoning_content`; an absent content is an empty text.
"""

import json
import sys

from transformers import PreTrainedTokenizerFast


def main() -> None:
    """Answer requests until standard input ends."""
    lines = sys.stdin
    model = json.loads(next(lines))
    config = model["config"]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=model["tokenizer"],
        chat_template=config["chat_template"],
        eos_token=config["eos_token"],
        pad_token=config["pad_token"],
    )
    for line in lines:
        print(json.dumps(answer(tokenizer, json.loads(line))), flush=True)


def answer(tokenizer: PreTrainedTokenizerFast, request: dict) -> dict:
    """Text and ids of one request, or what the template raised."""
    try:
        text = tokenizer.apply_chat_template(
            [seen_by_template(message) for message in request["messages"]],
            tools=[tool_of(tool) for tool in request["tools"]] if "tools" in request else None,
            add_generation_prompt=True,
            tokenize=False,
        )
    except Exception as error:  # noqa: BLE001 - a template may raise anything; the other side is told
        return {"error": f"{type(error).__name__}: {error}"}
    # The backend itself: the wrapper may clean up or add tokens.
    ids = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
    return {"text": text, "ids": ids}


def tool_of(tool: dict) -> dict:
    """A tool with the fields of the chat API in its order."""
    function = tool["function"]
    return {
        "type": "function",
        "function": {
            "name": function["name"],
            "description": function.get("description"),
            "parameters": function.get("parameters"),
        },
    }


def seen_by_template(message: dict) -> dict:
    """A message of the request as the template gets it."""
    seen = {"role": message["role"], "content": message.get("content") or ""}
    if message.get("tool_calls"):
        seen["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
            for call in message["tool_calls"]
        ]
    if message.get("reasoning") is not None:
        seen["reasoning"] = seen["reasoning_content"] = message["reasoning"]
    if "tool_call_id" in message:
        seen["tool_call_id"] = message["tool_call_id"]
    return seen


if __name__ == "__main__":
    main()

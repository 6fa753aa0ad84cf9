"""Makes `tokenizer.json` and `tokenizer_config.json` from a lexicon and a corpus of conversations."""

import json
import re
from dataclasses import dataclass

from .chat import CHAT_TEMPLATE, GENERATION_PROMPT, Conversation, render

#: Words with their leading space, digits alone, any other character (with a space before it, if there is one).
PIECES = r" ?<DONE>| ?[a-z_]+|[0-9]| ?[^a-z0-9_ \n]|[ \n]"

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|im_start|>system\n",
    "<|im_start|>user\n",
    "<|im_start|>tool\n",
    GENERATION_PROMPT,
]
FIXED = ["<think>", "\n</think>\n\n", "<tool_call>\n", "\n</parameter>\n", "</function>\n", "</tool_call>"]


@dataclass(frozen=True)
class Lexicon:
    """Every word that can occur, prefixes of identifiers, and the names of tools and parameters."""

    words: tuple[str, ...]
    prefixes: tuple[str, ...]
    tools: tuple[str, ...]
    parameters: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> "Lexicon":
        """A JSON object of four lists of strings. Raises `ValueError` naming the file."""
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        lists = []
        for name in ("words", "prefixes", "tools", "parameters"):
            words = value.get(name) if isinstance(value, dict) else None
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise ValueError(f"{path}: {name}: expected a list of words, found {str(words)[:60]}")
            lists.append(tuple(words))
        return cls(*lists)


def build_tokenizer(lexicon: Lexicon, conversations: list[Conversation]) -> tuple[dict, dict]:
    """Both files as JSON values. Words get their form after a space; forms at the start of a text as they occur."""
    named = [f"<function={name}>\n" for name in lexicon.tools] + [
        f"<parameter={name}>\n" for name in lexicon.parameters
    ]
    controls = SPECIAL + FIXED + named
    split = re.compile("|".join(re.escape(control) for control in sorted(controls, key=len, reverse=True)))
    # The byte order mark has its own token: some decoders swallow it when it begins a run of bytes.
    pieces = {" ", "\n", "\ufeff", " <DONE>", "<DONE>", *"0123456789", *lexicon.prefixes}
    pieces |= {piece for word in lexicon.words + lexicon.prefixes for piece in re.findall(PIECES, " " + word)}
    for conversation in conversations:
        for segment in render(conversation):
            for section in split.split(segment.text):
                pieces.update(re.findall(PIECES, section))
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(256)}
    vocabulary |= {word: 256 + index for index, word in enumerate(sorted(pieces))}
    return _tokenizer_json(vocabulary, controls), _config_json()


def _tokenizer_json(vocabulary: dict[str, int], controls: list[str]) -> dict:
    added = [
        {
            "id": len(vocabulary) + index,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": content in SPECIAL,
        }
        for index, content in enumerate(controls)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": PIECES},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": True,
            "ignore_merges": True,
            "vocab": vocabulary,
            "merges": [],
        },
    }


def _config_json() -> dict:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": CHAT_TEMPLATE,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "bos_token": None,
        "unk_token": None,
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 512,
    }

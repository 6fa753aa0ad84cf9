"""The word-level tokenizer: text to ids and back, from a Hugging Face `tokenizer.json`.

Fixed pieces of the chat format are added tokens, matched first, longest first. Everything else is cut by one
regular expression into words with their leading space, single digits and single characters. A piece that is not
in the vocabulary becomes its characters, and an unknown character its UTF-8 bytes, so decoding what was encoded
gives the same text. `tokenizer_build` writes the file; JavaScript reads the same one.
"""

import json
import os
import re

from steadfast_protocol.faults import UsageError


class Tokenizer:
    """`specials` are left out of `text_of`; `eos` ends a turn."""

    def __init__(self, tokenizer: dict, config: dict):
        self.tokenizer_json, self.config_json = tokenizer, config
        self._ids: dict[str, int] = dict(tokenizer["model"]["vocab"])
        added = tokenizer["added_tokens"]
        self._added = {token["content"]: token["id"] for token in added}
        self.size = len(self._ids.keys() | self._added.keys())
        self.eos = self._added[config["eos_token"]]
        self.specials = frozenset(token["id"] for token in added if token["special"])
        self._contents = {i: text for text, i in (self._ids | self._added).items()}
        self._bytes = {self._ids[f"<0x{byte:02X}>"]: byte for byte in range(256)}
        pieces = sorted(self._added, key=len, reverse=True)
        self._split_added = re.compile("(" + "|".join(re.escape(piece) for piece in pieces) + ")")
        self._split_words = re.compile(tokenizer["pre_tokenizer"]["pattern"]["Regex"])

    @classmethod
    def load(cls, folder: str) -> "Tokenizer":
        """Raises `UsageError` for a file that is missing or unreadable."""
        parts = []
        for name in ("tokenizer.json", "tokenizer_config.json"):
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8") as file:
                    parts.append(json.load(file))
            except (OSError, ValueError) as error:
                raise UsageError(path, "a readable JSON file", str(error)) from error
        return cls(*parts)

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; control tokens in it are control tokens."""
        ids: list[int] = []
        for section in self._split_added.split(text):
            if section in self._added:
                ids.append(self._added[section])
            elif section:
                self._encode_plain(section, ids)
        return ids

    def _encode_plain(self, text: str, ids: list[int]) -> None:
        known = self._ids
        for piece in self._split_words.findall(text):
            found = known.get(piece)
            if found is not None:
                ids.append(found)
                continue
            for character in piece:
                found = known.get(character)
                if found is not None:
                    ids.append(found)
                else:
                    # Half a surrogate pair is no text; JavaScript encodes it as the replacement character too.
                    whole = "\ufffd" if "\ud800" <= character <= "\udfff" else character
                    ids.extend(known[f"<0x{byte:02X}>"] for byte in whole.encode())

    def decode(self, ids: list[int]) -> str:
        """Text of `ids`; raises `KeyError` for an id outside the vocabulary."""
        parts: list[bytes] = []
        for i in ids:
            byte = self._bytes.get(i)
            parts.append(self._contents[i].encode() if byte is None else bytes([byte]))
        return b"".join(parts).decode("utf-8", "replace")

    def text_of(self, ids: list[int]) -> str:
        """Text without special tokens, as completions carry it."""
        return self.decode([i for i in ids if i not in self.specials])

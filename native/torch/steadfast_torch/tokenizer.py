"""The tokenizer of a model folder, as the protocol needs it (`steadfast_protocol.text.Tokenizer`)."""

import hashlib
import json
import os

from tokenizers import Tokenizer as Encoder

from steadfast_protocol.faults import UsageError


class FolderTokenizer:
    """`tokenizer.json`, `tokenizer_config.json` and, where the template is a file of its own, `chat_template.jinja`."""

    def __init__(self, folder: str):
        """Raises `UsageError` for a file that is missing or unreadable, or a config without an end of turn."""
        path = os.path.join(folder, "tokenizer.json")
        text = _read(path)
        self.digest = hashlib.sha256(text).hexdigest()
        self.tokenizer_json = _object(path, text)
        path = os.path.join(folder, "tokenizer_config.json")
        self.config_json = _object(path, _read(path))
        template = os.path.join(folder, "chat_template.jinja")
        if "chat_template" not in self.config_json and os.path.exists(template):
            self.config_json["chat_template"] = _read(template).decode()
        self._encoder = Encoder.from_str(text.decode())
        eos = self.config_json.get("eos_token")
        content = eos.get("content") if isinstance(eos, dict) else eos
        found = None if content is None else self._encoder.token_to_id(content)
        if found is None:
            raise UsageError(path, "eos_token, a token of tokenizer.json", repr(eos))
        self.eos = found

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return max(self._encoder.get_vocab(with_added_tokens=True).values()) + 1

    def encode(self, text: str) -> list[int]:
        return self._encoder.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        return self._encoder.decode(ids, skip_special_tokens=False)

    def text_of(self, ids: list[int]) -> str:
        return self._encoder.decode(ids, skip_special_tokens=True)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(path, "a readable file of the model folder", error.strerror or str(error)) from error


def _object(path: str, text: bytes) -> dict:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(path, "a JSON object", str(error)) from error
    if not isinstance(value, dict):
        raise UsageError(path, "a JSON object", type(value).__name__)
    return value

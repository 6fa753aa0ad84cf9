"""What the calls need of a model's tokenizer."""

from typing import Protocol


class Tokenizer(Protocol):
    #: `tokenizer.json` and `tokenizer_config.json`, as `GET /tokenizer` hands them out.
    tokenizer_json: dict
    config_json: dict
    #: Ends a turn, beside what a request names.
    eos: int

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; control tokens in it are control tokens."""
        ...

    def decode(self, ids: list[int]) -> str:
        """Text of `ids`, special tokens included."""
        ...

    def text_of(self, ids: list[int]) -> str:
        """Text without special tokens, as completions carry it."""
        ...

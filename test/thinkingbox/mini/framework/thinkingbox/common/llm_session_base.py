"""A model behind a conversation."""

from abc import ABC, abstractmethod
from typing import Any


class LLMSessionBase(ABC):
    @abstractmethod
    def get_completion_sync(self, conversation: Any = None) -> list: ...

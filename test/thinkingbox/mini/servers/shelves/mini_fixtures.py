"""Fixtures of our own cases: a plain class, one with parameters that needs another, a context manager."""

import contextlib
from collections.abc import Iterator


class Ruler:
    def __init__(self, unit: str = "cm") -> None:
        self.unit = unit


class Builder:
    def __init__(self, ruler: Ruler) -> None:
        self.tool = f"builder with {ruler.unit}"


@contextlib.contextmanager
def lamp(watts: int) -> Iterator[str]:
    yield f"{watts} watts"

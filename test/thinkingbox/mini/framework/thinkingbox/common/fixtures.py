"""Fixtures by dotted path; what one needs of the others is handed to it by name."""

import contextlib
import importlib
import inspect
from typing import Any

from thinkingbox.common.config_types import FixtureConfig


class Fixtures:
    def __init__(self, configs: dict[str, FixtureConfig]) -> None:
        self._configs = configs

    def make(self, name: str, made: dict[str, Any], stack: contextlib.ExitStack) -> Any:
        if name not in made:
            own = self._configs[name].model_dump()
            module, attribute = own.pop("type").rsplit(".", 1)
            factory = getattr(importlib.import_module(module), attribute)
            for needed, parameter in inspect.signature(factory).parameters.items():
                if needed not in own and parameter.default is inspect.Parameter.empty:
                    own[needed] = self.make(needed, made, stack)
            value = factory(**own)
            made[name] = stack.enter_context(value) if hasattr(value, "__enter__") else value
        return made[name]


def build_fixtures(configs: dict[str, FixtureConfig]) -> Fixtures:
    return Fixtures(configs)

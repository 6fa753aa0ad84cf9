"""vLLM's own parser modules, loaded without the rest of vLLM.

Only the files in REAL are vLLM's; they are read from its wheel. What they import besides is torch-heavy (models,
samplers, renderers), is never executed by a parser, and is a placeholder here. The few helpers that parsers do call
are in HELPERS, with what they do in vLLM.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
import types
import uuid
from pathlib import Path

from pydantic_core import core_schema

REAL = frozenset(
    {
        "vllm.entrypoints.openai.chat_completion.protocol",
        "vllm.entrypoints.openai.engine.protocol",
        "vllm.parser.abstract_parser",
        "vllm.parser.engine",
        "vllm.parser.engine.adapters",
        "vllm.parser.engine.events",
        "vllm.parser.engine.incremental_lexer",
        "vllm.parser.engine.parser_engine",
        "vllm.parser.engine.parser_engine_config",
        "vllm.parser.engine.registered_adapters",
        "vllm.parser.engine.streaming_parser_engine",
        "vllm.parser.engine.token_id_scanner",
        "vllm.parser.qwen3",
        "vllm.reasoning",
        "vllm.reasoning.abs_reasoning_parsers",
        "vllm.reasoning.qwen3_engine_reasoning_parser",
        "vllm.tool_parsers",
        "vllm.tool_parsers.abstract_tool_parser",
        "vllm.tool_parsers.hermes_tool_parser",
        "vllm.tool_parsers.qwen3_engine_tool_parser",
        "vllm.tool_parsers.utils",
        "vllm.utils.collection_utils",
    }
)


def _silent(_name: str) -> logging.Logger:
    logger = logging.getLogger("vllm-parity")
    logger.disabled = True
    return logger


HELPERS: dict[str, dict[str, object]] = {
    "vllm.envs": {"VLLM_ENFORCE_STRICT_TOOL_CALLING": False},
    "vllm.logger": {"init_logger": _silent},
    "vllm.entrypoints.chat_utils": {
        "make_tool_call_id": lambda **_: f"call-{uuid.uuid4().hex}",
        "get_tool_call_id_type": lambda _config: "random",
    },
    "vllm.parser.metrics": {"record_tool_parser_invocation": lambda **_: None},
    "vllm.utils": {"random_uuid": lambda: uuid.uuid4().hex},
    "vllm.utils.mistral": {"is_mistral_tokenizer": lambda _tokenizer: False},
}


class _PlaceholderType(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder


class Placeholder(metaclass=_PlaceholderType):
    """Stands for a class that is only named: in an annotation, as a field's type, as a base."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> core_schema.CoreSchema:
        return core_schema.any_schema()


class _PlaceholderModule(types.ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Placeholder,), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(self, fullname: str, _path: object = None, _target: object = None):
        if fullname.partition(".")[0] != "vllm":
            return None
        if fullname not in REAL:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        base = self.root.joinpath(*fullname.split("."))
        if (base / "__init__.py").exists():
            return importlib.util.spec_from_file_location(
                fullname, base / "__init__.py", submodule_search_locations=[str(base)]
            )
        return importlib.util.spec_from_file_location(fullname, base.with_suffix(".py"))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _PlaceholderModule(spec.name)
        module.__path__ = []
        for name, value in HELPERS.get(spec.name, {}).items():
            setattr(module, name, value)
        return module

    def exec_module(self, _module: types.ModuleType) -> None:
        """A placeholder has nothing to execute."""


def load(root: Path) -> None:
    """Makes `import vllm...` find the files under `root` (the unpacked wheel)."""
    missing = sorted(
        name
        for name in REAL
        if not root.joinpath(*name.split(".")).with_suffix(".py").exists()
        and not root.joinpath(*name.split("."), "__init__.py").exists()
    )
    if missing:
        raise SystemExit(
            f"{root}: no file for {', '.join(missing)}: not the vLLM version that this script knows"
        )
    sys.meta_path.insert(0, _Finder(root))

"""Case files: strings that begin with `!` hold YAML, a function is a case, everything else is its code."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import TypeAdapter

from thinkingbox.common.chat_types import AnyMessage
from thinkingbox.common.config_types import (
    AgentConfig,
    FixtureConfig,
    HydratedTestCase,
    ScenarioConfig,
    TestCase,
)

FUNCTION = "__case"


class CaseFile(NamedTuple):
    test_cases: list[TestCase]


class Dataset:
    def __init__(self, base_dir: str | Path) -> None:
        self.base_dir = Path(base_dir)

    def get_testfile_path(self, name: str) -> Path:
        found = sorted((self.base_dir / "test_case").rglob(name))
        if not found:
            raise FileNotFoundError(name)
        return found[0]


def load_test_file(path: Path, check_config: bool = False) -> CaseFile:
    code = path.read_text()
    tree = ast.parse(code)
    common: dict[str, Any] = {}
    cases: list[TestCase] = []
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    known = {*TestCase.model_fields} - {"uid", "test_code"}
    own = {node.name: node for node in functions if _yaml(node.body[0]) is not None}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            common.update(_yaml(node) or {})
        elif node.name in own:
            config = {**common, **(_yaml(node.body[0]) or {})}
            unknown = sorted(config.keys() - known)
            if check_config and unknown:
                raise ValueError(f"invalid key: {unknown[0]!r}")
            cases.append(TestCase(uid=node.name, test_code=_alone(code, node.name, own), **config))
    return CaseFile(cases)


def iter_cases_by_names(names: list[str], base_dir: str | Path, agent: str) -> Iterator[HydratedTestCase]:
    dataset = Dataset(base_dir)
    for name in names:
        file, function = name.split(":")
        path = dataset.get_testfile_path(file)
        found = [case for case in load_test_file(path).test_cases if case.uid == function and not case.tags.skip]
        if not found:
            raise FileNotFoundError(name)
        yield _hydrated(dataset.base_dir, path, name, found[0], agent)


def _hydrated(base: Path, path: Path, name: str, case: TestCase, agent: str) -> HydratedTestCase:
    scenario = ScenarioConfig(**_read(base / "scenario" / f"{case.scenario}.yaml"))
    return HydratedTestCase(
        **case.model_dump(exclude={"uid", "scenario", "history", "format_query", "tags"}),
        uid=name,
        agent=AgentConfig(**_read(base / "agent" / f"{agent}.yaml")),
        scenario=scenario,
        history=_history(path, case.history),
        tags=case.tags if case.tags.domain else scenario.tags,
        fixtures={**_conftest(base / "test_case", path), **scenario.fixtures},
        metadata={"scenario": case.scenario},
    )


def _history(path: Path, reference: str | None) -> list[AnyMessage] | None:
    if reference is None:
        return None
    key, start, _ = reference.rsplit(":", 2)
    messages = _read(path.with_suffix(".meta.yaml"))["$history"][key][int(start) :]
    return TypeAdapter(list[AnyMessage]).validate_python(messages)


def _conftest(root: Path, path: Path) -> dict[str, FixtureConfig]:
    folders = [root, *(root / part for part in path.parent.relative_to(root).parts)]
    files = [folder / "conftest.yaml" for folder in folders]
    merged: dict[str, Any] = {}
    for file in files:
        if file.is_file():
            merged.update(_read(file)["fixtures"])
    return {name: FixtureConfig(**config) for name, config in merged.items()}


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _yaml(node: ast.stmt) -> dict[str, Any] | None:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return None
    text = node.value.value
    return yaml.safe_load(text[1:]) if isinstance(text, str) and text.startswith("!") else None


def _alone(code: str, name: str, cases: dict[str, ast.FunctionDef]) -> str:
    """The file with the other cases blanked, so that lines keep their numbers."""
    lines = code.split("\n")
    for other, node in cases.items():
        if other != name:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return "\n".join([*lines, f"{FUNCTION} = {name}"])

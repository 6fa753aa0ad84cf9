"""The cases of a checkout: found, hydrated by the official package, digested, and kept in memory.

Parsing all 507 benchmark cases takes about one CPU-second with libyaml (four without); nothing is cached on disk.
"""

import ast
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import yaml

# Same documents, four times as fast: PyYAML's pure loader is what the official package names.
yaml.SafeLoader = yaml.CSafeLoader

from thinkingbox.common.config_types import HydratedTestCase, merge_init_config  # noqa: E402
from thinkingbox.common.hydrator import Dataset, iter_cases_by_names, load_test_file  # noqa: E402

from errors import BadInput  # noqa: E402

AGENT = "think"


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class Catalogue:
    def __init__(self, dataset: str, search: bool) -> None:
        self.root = Path(dataset)
        self._search = search
        self._dataset = Dataset(self.root)
        self.cases: dict[str, HydratedTestCase] = {}

    def open(self, names: list[str]) -> list[dict[str, Any]]:
        """Hydrates the named cases (`file.py:name`), in the given order. Raises BadInput for the first problem."""
        by_file: dict[str, list[str]] = {}
        for name in names:
            if name.count(":") != 1:
                raise BadInput("case id", "file.py:test_name", repr(name))
            if name in self.cases:
                continue
            by_file.setdefault(name.split(":")[0], []).append(name)
        for file, wanted in by_file.items():
            self._open_file(file, wanted)
        return [self._summary(name) for name in names]

    def _open_file(self, file: str, wanted: list[str]) -> None:
        try:
            path = self._dataset.get_testfile_path(file)
        except FileNotFoundError:
            known = sorted({p.name for p in (self.root / "test_case").rglob("*.py")})
            raise UnknownCase(wanted[0], [f"{name}:" for name in known]) from None
        try:
            read = load_test_file(path, check_config=True).test_cases
            known = [f"{file}:{case.uid}" for case in read]
            # The official hydrator forgets it on the way.
            formatted = {f"{file}:{case.uid}" for case in read if case.format_query}
            for name in wanted:
                if name not in known:
                    raise UnknownCase(name, known)
            _check_imports(path)
            for case in iter_cases_by_names(wanted, base_dir=self.root, agent=AGENT):
                case.format_query = case.uid in formatted
                self.cases[case.uid] = case
        except (SyntaxError, ValueError, yaml.YAMLError) as error:
            raise _unreadable(path, error) from error
        except FileNotFoundError as error:
            raise BadInput(str(path), "every case to be complete and not skipped", str(error)) from error

    def names(self) -> list[str]:
        """All cases of the dataset that are not marked to be skipped. Raises BadInput for a file that cannot be read."""
        found: list[str] = []
        for path in sorted((self.root / "test_case").rglob("*.py")):
            try:
                cases = load_test_file(path, check_config=True).test_cases
            except (SyntaxError, ValueError, yaml.YAMLError) as error:
                raise _unreadable(path, error) from error
            found += [f"{path.name}:{case.uid}" for case in cases if not case.tags.skip]
        return found

    def _open_whole_file(self, name: str) -> None:
        """Reading one case reads its file, so its neighbours are kept too; a neighbour that cannot be read is left."""
        file = name.split(":")[0]
        try:
            path = self._dataset.get_testfile_path(file)
            names = [f"{file}:{case.uid}" for case in load_test_file(path).test_cases if not case.tags.skip]
            self.open(names)
        except (FileNotFoundError, SyntaxError, ValueError, yaml.YAMLError, BadInput, UnknownCase):
            return  # what is wrong with the wanted case itself is told when it is opened alone

    def case(self, name: str) -> HydratedTestCase:
        """Shared by all who ask: nothing of it may be changed."""
        if name not in self.cases:
            self._open_whole_file(name)
            self.open([name])
        return self.cases[name]

    def config(self, name: str) -> dict[str, dict[str, Any]]:
        """Session configuration by server, merged as the official session is; without search, no sources for it."""
        return {
            server: {**config, "sources": []} if "sources" in config and not self._search else config
            for server, config in self._merged(self.case(name)).items()
        }

    @staticmethod
    def _merged(case: HydratedTestCase) -> dict[str, dict[str, Any]]:
        return merge_init_config(case.scenario.world_state, case.init)

    def _summary(self, name: str) -> dict[str, Any]:
        case = self.cases[name]
        everything = case.model_dump(mode="json", exclude={"metadata"})
        return {
            "id": name,
            "scenario": case.metadata["scenario"],
            "domain": case.tags.domain,
            "digest": digest(everything),
            # Start state and wanted calls, whatever the wording: a reworded or re-checked case has the same.
            "templateDigest": digest([case.metadata["scenario"], case.init]),
            "searches": any("sources" in config for config in self._merged(case).values()),
        }


def _unreadable(path: Path, error: Exception) -> BadInput:
    cause = f"; {error.__cause__}" if error.__cause__ else ""
    return BadInput(str(path), "a case file that can be read", f"{type(error).__name__}: {error}{cause}")


class UnknownCase(Exception):
    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"unknown case {name}")
        self.name, self.known = name, known


def _check_imports(path: Path) -> None:
    """The check runs at the end of an episode; a module that it lacks must be known before anything is started."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            try:
                found = importlib.util.find_spec(module)
            except ModuleNotFoundError:
                found = None
            if found is None:
                raise BadInput(f"{path}:{node.lineno}", f"the module {module}", "it cannot be imported")

"""Runs the code of one case: an assertion is a verdict, anything else an error."""

import contextlib
import io
import traceback
from typing import Any

from thinkingbox.common.chat_types import TestContext, TestResult
from thinkingbox.common.fixtures import Fixtures
from thinkingbox.common.hydrator import FUNCTION
from thinkingbox.common.judge import Judge


class TestScript:
    def __init__(self, code: str, judge: Judge, fixtures: Fixtures, test_uid: str) -> None:
        self._code, self._judge, self._fixtures = code, judge, fixtures

    def evaluate_sync(self, context: TestContext) -> TestResult:
        printed = io.StringIO()
        scope: dict[str, Any] = {"print": lambda *words: print(*words, file=printed)}
        result = TestResult()
        try:
            exec(compile(self._code, "<string>", "exec"), scope)
            with contextlib.ExitStack() as stack:
                made: dict[str, Any] = {"x": context, "judge": self._judge}
                function = scope[FUNCTION]
                names = function.__code__.co_varnames[: function.__code__.co_argcount]
                reward = function(**{name: self._fixtures.make(name, made, stack) for name in names})
            result.reward = 1.0 if reward is None else reward
        except Exception as error:  # noqa: BLE001 - whatever a check raises is its result
            result.result, result.reward = False, 0.0
            result.is_system_error = not isinstance(error, AssertionError)
            result.tb = traceback.format_exc()
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<string>"]
            result.lineno = (frames[-1].lineno or -1) if frames else -1
            result.line_content = self._code.split("\n")[result.lineno - 1] if frames else ""
        result.prints = printed.getvalue()
        return result

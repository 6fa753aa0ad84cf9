"""Verl's settings as the run file decides them: the command that `steadfast train --dry-run --show verl` prints.

The settings are made in one place (core/verl/settings.ts); here they are only read back.
"""

import shlex

from steadfast_protocol.faults import UsageError

PROGRAM = "verl.trainer.main_ppo"


def read_settings(path: str) -> list[str]:
    """Hydra's overrides in their order. Raises `UsageError` for a file that holds no such command."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--command", "a file with the command of --show verl", f"{path}: {error}") from error
    return parse_command(text, path)


def parse_command(text: str, place: str) -> list[str]:
    """What follows the program's name, as a shell would cut it."""
    try:
        # `shlex` knows no line that goes on.
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise UsageError(place, "a shell command", str(error)) from error
    if PROGRAM not in words:
        raise UsageError(place, f"a command of {PROGRAM}", text[:80] or "nothing")
    settings = words[words.index(PROGRAM) + 1 :]
    for word in settings:
        if "=" not in word:
            raise UsageError(place, "settings as NAME=VALUE", word)
    return settings


def with_more(settings: list[str], more: list[str]) -> list[str]:
    """`more` in place of settings of the same name, or after them."""
    names = {_name(word) for word in more}
    return [word for word in settings if _name(word) not in names] + more


def _name(word: str) -> str:
    return word.split("=", 1)[0].lstrip("+")

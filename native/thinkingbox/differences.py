"""Two states of one database as the list of what differs: small enough to keep with every episode."""

import json
from typing import Any


def differences(was: Any, now: Any, path: str = "") -> list[dict[str, Any]]:
    """`[{path, was?, is?}]`; rows of a table are told apart by their id, not by their place."""
    if isinstance(was, dict) and isinstance(now, dict):
        found: list[dict[str, Any]] = []
        for key in sorted(was.keys() | now.keys()):
            place = f"{path}.{key}" if path else str(key)
            if key not in now:
                found.append({"path": place, "was": was[key]})
            elif key not in was:
                found.append({"path": place, "is": now[key]})
            else:
                found += differences(was[key], now[key], place)
        return found
    if isinstance(was, list) and isinstance(now, list):
        return _rows(was, now, path)
    return [] if _text(was) == _text(now) else [{"path": path, "was": was, "is": now}]


def _rows(was: list[Any], now: list[Any], path: str) -> list[dict[str, Any]]:
    kept = {_text(row) for row in was} & {_text(row) for row in now}
    before = _named([row for row in was if _text(row) not in kept])
    after = _named([row for row in now if _text(row) not in kept])
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys([*before, *after]):
        place = f"{path}[{name}]"
        if name not in after:
            found.append({"path": place, "was": before[name]})
        elif name not in before:
            found.append({"path": place, "is": after[name]})
        else:
            found += differences(before[name], after[name], place)
    # The same row more or fewer times than before.
    for text in sorted(kept):
        count = [sum(_text(row) == text for row in rows) for rows in (was, now)]
        if count[0] != count[1]:
            found.append({"path": f"{path}: times of one row", "was": count[0], "is": count[1]})
    return found


def _named(rows: list[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for index, row in enumerate(rows):
        name = _id(row) or str(index)
        named[name if name not in named else f"{name} #{index}"] = row
    return named


def _id(row: Any) -> str | None:
    if not isinstance(row, dict):
        return None
    names = ["id", *(key for key in row if str(key).endswith("id")), "number", "name"]
    return next((str(row[name]) for name in names if row.get(name)), None)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)

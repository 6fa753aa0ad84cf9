"""The mark by which every process of a sandbox is found: a variable in its environment, as the system shows it.

A forked process shows the environment that its parent was started with. So the parent is started with a placeholder,
and a session writes its own name over it, where `/proc/PID/environ` reads.
"""

import ctypes
import os

NAME = "STEADFAST_SANDBOX"


def _place() -> tuple[int, int] | None:
    """Address and room of the placeholder's value; it must be looked up before anything changes the environment."""
    try:
        entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    except (OSError, ValueError):
        return None
    index = 0
    while entries[index]:
        text = ctypes.string_at(entries[index])
        if text.startswith(f"{NAME}=".encode()):
            return entries[index] + len(NAME) + 1, len(text) - len(NAME) - 1
        index += 1
    return None


_PLACE = _place()
os.environ.pop(NAME, None)


def rewrite(name: str) -> None:
    """Raises ValueError for a name that is longer than the placeholder."""
    if _PLACE is None:
        return
    address, room = _PLACE
    value = name.encode()
    if len(value) > room:
        raise ValueError(f"{name}: longer than {room} bytes")
    ctypes.memmove(address, value + b"\0" * (room - len(value)), room)

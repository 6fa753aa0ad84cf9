"""What sessions of official servers load, with its byte code, for an image whose root cannot be written.

    python loaded.py FOLDER PROGRAM...      programs as serve.py takes them

Each program is run up to where it would serve, and does what every session does first. Answers in loaded.json of the folder:

    {"executable": file, "version": "3.11", "stdlib": folder, "packages": folder,
     "modules": [{"source": file, "code": file of FOLDER}], "problems": [text]}

Byte code is checked against nothing when it is loaded (PEP 552), so that it is right wherever its source is put.
"""

import asyncio
import json
import os
import py_compile
import sys
import sysconfig
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio._backends._asyncio  # noqa: F401 - a session imports it late
import fastmcp
import mcp.server.fastmcp

from reserved import add_reserved, point_search
from serve import run_program
from warm import warmed

UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


class Served(Exception):
    """The program has come to where it would serve."""


def load(program: str) -> str | None:
    """What went wrong, when the program does not come to serve: what it has loaded until then counts all the same."""
    # `run_program` takes the folder of this script away, and each program would take one more.
    sys.path.insert(0, "")
    try:
        run_program(program)
    except Served:
        return None
    except BaseException as error:  # noqa: BLE001 - one program less is no reason to have none
        return f"{program} does not start: {''.join(traceback.format_exception_only(error)).strip()}"
    return f"{program} ended without serving"


def serve(server: fastmcp.FastMCP, *_args: Any, **_kwargs: Any) -> None:
    add_reserved(server)
    asyncio.run(warmed(server))
    raise Served


def serve_plainly(*_args: Any, **_kwargs: Any) -> None:
    """For servers of the SDK's own class, which have no reserved tools of ours."""
    raise Served


def main() -> None:
    folder, *programs = sys.argv[1:]
    own = sys.path[0]
    fastmcp.FastMCP.run = serve
    mcp.server.fastmcp.FastMCP.run = serve_plainly
    point_search()
    problems = [problem for problem in map(load, programs) if problem is not None]
    sys.path.insert(0, own)
    specs = [find_spec(program) for program in programs if not program.endswith(".py")]
    files = {spec.origin for spec in specs if spec}
    files |= {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    modules = []
    for number, source in enumerate(sorted(file for file in files if file and file.endswith(".py"))):
        code = os.path.join(folder, f"{number}.pyc")
        # Whoever loads it puts its own path there.
        py_compile.compile(source, cfile=code, dfile=os.path.basename(source), doraise=True, invalidation_mode=UNCHECKED)
        modules.append({"source": source, "code": code})
    paths = sysconfig.get_paths()
    answer = {
        "executable": str(Path(sys.executable).resolve()),
        "version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "stdlib": paths["stdlib"],
        "packages": paths["purelib"],
        "modules": modules,
        "problems": problems,
    }
    # The programs may have closed standard output.
    Path(folder, "loaded.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()

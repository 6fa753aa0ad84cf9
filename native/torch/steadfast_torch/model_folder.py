"""A folder of a model, written as a whole or not at all."""

import os
import shutil
from collections.abc import Callable

#: Beside the weights, everything small that a model folder has.
_LARGE = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".safetensors.index.json", ".bin.index.json")


def write_folder(folder: str, weights: Callable[[str], None], source: str | None = None) -> None:
    """`weights(path)` writes into it, beside the small files of `source`; a folder that is there stays. Raises `OSError`."""
    if os.path.isdir(folder):
        return
    aside = f"{folder}.writing-{os.getpid()}"
    shutil.rmtree(aside, ignore_errors=True)
    os.makedirs(aside)
    for name in os.listdir(source) if source else ():
        path = os.path.join(source, name)
        if os.path.isfile(path) and not name.endswith(_LARGE):
            shutil.copyfile(path, os.path.join(aside, name))
    weights(aside)
    os.rename(aside, folder)

"""Folders that vLLM and Transformers load: a whole model, or the adapters of one as PEFT writes them."""

import json
import os
import shutil

from steadfast_protocol.tensors import safetensors_parts

from .model import LanguageModel
from .weights import Arrays, Weights

#: Beside the weights, everything small that a model folder has.
_LARGE = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".safetensors.index.json", ".bin.index.json")


def export(model: LanguageModel, weights: Weights, folder: str) -> None:
    """Writes `folder` as a whole or not at all; a folder that is there stays. Raises `OSError`."""
    if os.path.isdir(folder):
        return
    aside = f"{folder}.writing-{os.getpid()}"
    shutil.rmtree(aside, ignore_errors=True)
    os.makedirs(aside)
    lora = model.options.lora
    if lora is None:
        for name in os.listdir(model.options.folder):
            source = os.path.join(model.options.folder, name)
            if os.path.isfile(source) and not name.endswith(_LARGE):
                shutil.copyfile(source, os.path.join(aside, name))
        _write(os.path.join(aside, "model.safetensors"), Arrays(weights))
    else:
        adapters = {lora.saved_name(name): tensor for name, tensor in weights.items() if lora.owns(name)}
        with open(os.path.join(aside, "adapter_config.json"), "w", encoding="utf-8") as file:
            json.dump(lora.saved_config(model.options.folder), file, indent=1)
        _write(os.path.join(aside, "adapter_model.safetensors"), Arrays(adapters))
    os.rename(aside, folder)


def _write(path: str, arrays: Arrays) -> None:
    with open(path, "wb") as file:
        # Transformers reads no file without this word.
        for part in safetensors_parts(arrays, {"format": "pt"}):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())

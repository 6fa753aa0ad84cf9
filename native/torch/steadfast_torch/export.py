"""Folders that vLLM and Transformers load: a whole model, or the adapters of one as PEFT writes them."""

import json
import os

from steadfast_protocol.tensors import safetensors_parts

from .model import LanguageModel
from .model_folder import write_folder
from .weights import Arrays, Weights


def export(model: LanguageModel, weights: Weights, folder: str) -> None:
    """Writes `folder` as a whole or not at all; a folder that is there stays. Raises `OSError`."""
    lora = model.options.lora

    def whole(aside: str) -> None:
        _write(os.path.join(aside, "model.safetensors"), Arrays(weights))

    def adapters(aside: str) -> None:
        with open(os.path.join(aside, "adapter_config.json"), "w", encoding="utf-8") as file:
            json.dump(lora.saved_config(model.options.folder), file, indent=1)
        _write(
            os.path.join(aside, "adapter_model.safetensors"),
            Arrays({lora.saved_name(name): tensor for name, tensor in weights.items() if lora.owns(name)}),
        )

    with model.lock:
        if lora is None:
            write_folder(folder, whole, model.options.folder)
        else:
            write_folder(folder, adapters)


def _write(path: str, arrays: Arrays) -> None:
    with open(path, "wb") as file:
        # Transformers reads no file without this word.
        for part in safetensors_parts(arrays, {"format": "pt"}):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())

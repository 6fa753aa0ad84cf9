"""The base: a folder with `config.json`, `model.safetensors`, the tokenizer's two files and `provenance.json`."""

import hashlib
import json
import os
from dataclasses import dataclass

from steadfast_protocol.faults import UsageError
from steadfast_protocol.tensors import decode_safetensors, digest_tensors, encode_safetensors

from .model import ModelConfig, Parameters
from .tokenizer import Tokenizer

_MAKE_AGAIN = "make it again with native/trainer/make-base.sh"


@dataclass(frozen=True)
class Base:
    config: ModelConfig
    weights: Parameters
    digest: str
    tokenizer: Tokenizer
    #: Hex SHA-256 of tokenizer.json: part of the build, since ids mean nothing without it.
    tokenizer_digest: str


def load_base(folder: str) -> Base:
    """Raises `UsageError` for a file that is missing, truncated, changed or of another shape."""
    fields = _json(folder, "config.json")
    try:
        config = ModelConfig(**fields)
    except TypeError as error:
        raise UsageError(
            os.path.join(folder, "config.json"), "the fields of ModelConfig", str(error)
        ) from error
    files = _json(folder, "provenance.json").get("files", {})
    for name, expected in files.items():
        found = hashlib.sha256(_read(os.path.join(folder, name))).hexdigest()
        if found != expected:
            raise UsageError(os.path.join(folder, name), f"SHA-256 {expected} ({_MAKE_AGAIN})", found)
    path = os.path.join(folder, "model.safetensors")
    try:
        tensors, _ = decode_safetensors(_read(path), path)
        weights = Parameters.from_tensors(config, tensors, path)
    except ValueError as error:
        raise UsageError(path, f"the weights of a {config.to_json()} ({_MAKE_AGAIN})", str(error)) from error
    tokenizer = Tokenizer.load(folder)
    if tokenizer.size != config.vocab:
        raise UsageError(
            os.path.join(folder, "tokenizer.json"), f"{config.vocab} tokens", str(tokenizer.size)
        )
    digest = hashlib.sha256(_read(os.path.join(folder, "tokenizer.json"))).hexdigest()
    return Base(config, weights, digest_tensors(weights.tensors), tokenizer, digest)


def save_base(folder: str, weights: Parameters, tokenizer: tuple[dict, dict], provenance: dict) -> None:
    """Writes the five files; `provenance` gains the SHA-256 of the other four."""
    os.makedirs(folder, exist_ok=True)
    contents = {
        "model.safetensors": encode_safetensors(weights.tensors, {"format": "1"}),
        "tokenizer.json": _text(tokenizer[0]),
        "tokenizer_config.json": _text(tokenizer[1]),
        "config.json": _text(weights.config.to_json()),
    }
    files = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    contents["provenance.json"] = _text(provenance | {"files": files})
    for name, data in contents.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def _text(value: dict) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _json(folder: str, name: str) -> dict:
    path = os.path.join(folder, name)
    try:
        value = json.loads(_read(path))
    except ValueError as error:
        raise UsageError(path, "a JSON object", str(error)) from error
    if not isinstance(value, dict):
        raise UsageError(path, "a JSON object", type(value).__name__)
    return value


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(path, f"a readable file ({_MAKE_AGAIN})", error.strerror or str(error)) from error

"""The model's shape, its parameters, and what both forward passes share.

Decoder-only, pre-norm (RMS), rotary positions, squared-ReLU feed-forward, token embedding plus an embedding of
the *previous* token (it makes copying identifiers learn much sooner), untied head. Parameters live in one flat
float32 vector with named views, so the optimizer is a few vector operations.
"""

from dataclasses import asdict, dataclass

import numpy as np

from steadfast_protocol.tensors import require_tensors

NORM_EPS = np.float32(1e-5)
ROTARY_BASE = 10_000.0


@dataclass(frozen=True)
class ModelConfig:
    """Sizes: `vocab` tokens, `width` channels, `context` positions at most."""

    vocab: int
    width: int = 96
    layers: int = 2
    heads: int = 2
    feed: int = 384
    context: int = 512

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter's shape. Products are `x @ W` with `W[in, out]`."""
        shapes: dict[str, tuple[int, ...]] = {
            "embed.previous": (self.vocab, self.width),
            "embed.token": (self.vocab, self.width),
            "head": (self.width, self.vocab),
            "norm": (self.width,),
        }
        for layer in range(self.layers):
            shapes |= {
                f"layers.{layer}.down": (self.feed, self.width),
                f"layers.{layer}.norm1": (self.width,),
                f"layers.{layer}.norm2": (self.width,),
                f"layers.{layer}.out": (self.width, self.width),
                f"layers.{layer}.qkv": (self.width, 3 * self.width),
                f"layers.{layer}.up": (self.width, self.feed),
            }
        return dict(sorted(shapes.items()))

    def to_json(self) -> dict[str, int]:
        return asdict(self)


class Parameters:
    """A flat float32 vector `flat[P]` and named views of it in `tensors`."""

    def __init__(self, config: ModelConfig, flat: np.ndarray | None = None):
        self.config = config
        shapes = config.shapes()
        size = sum(int(np.prod(shape)) for shape in shapes.values())
        self.flat = np.zeros(size, np.float32) if flat is None else flat
        self.tensors: dict[str, np.ndarray] = {}
        offset = 0
        for name, shape in shapes.items():
            count = int(np.prod(shape))
            self.tensors[name] = self.flat[offset : offset + count].reshape(shape)
            offset += count

    def __getitem__(self, name: str) -> np.ndarray:
        return self.tensors[name]

    @classmethod
    def from_tensors(cls, config: ModelConfig, tensors: dict[str, np.ndarray], place: str) -> "Parameters":
        """Copies `tensors`. Raises `ValueError` naming `place` and the tensor for a missing, extra or other-shaped one."""
        shapes = config.shapes()
        require_tensors(tensors, shapes, place)
        parameters = cls(config)
        for name in shapes:
            parameters[name][...] = tensors[name]
        return parameters

    @classmethod
    def random(cls, config: ModelConfig, seed: int) -> "Parameters":
        """Fan-in scaled normal weights; residual outputs and head start small, norms at one."""
        rng = np.random.default_rng(seed)
        parameters = cls(config)
        for name, tensor in parameters.tensors.items():
            if name.endswith(("norm", "norm1", "norm2")):
                tensor[...] = 1
                continue
            scale = 0.3 if name.startswith("embed.") else tensor.shape[0] ** -0.5
            if name.endswith((".out", ".down")):
                scale *= (2 * config.layers) ** -0.5
            if name == "head":
                scale *= 0.3
            tensor[...] = rng.standard_normal(tensor.shape, dtype=np.float32) * np.float32(scale)
        return parameters


def rotary_tables(config: ModelConfig) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin, each [context, head_width / 2] float32; pairs are (i, i + head_width / 2)."""
    half = config.head_width // 2
    rates = ROTARY_BASE ** (-np.arange(half) / half)
    angles = np.arange(config.context)[:, None] * rates
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def previous_tokens(ids: np.ndarray) -> np.ndarray:
    """Ids shifted right along the last axis; position 0 sees token 0."""
    previous = np.zeros_like(ids)
    previous[..., 1:] = ids[..., :-1]
    return previous

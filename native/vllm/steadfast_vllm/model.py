"""The embedded policy (native/trainer/steadfast_trainer/model.py) on vLLM's attention and cache.

The model adds an embedding of the *previous* token, which a decoding step does not see: its input is one token.
It is read from the cache instead, exactly: an attention layer with zero queries over a window of two positions
returns the mean of two values, (P[t-1] + P[t]) / 2, and P[t] is known.
"""

from collections.abc import Iterable

import torch
from torch import nn
from torch.nn import functional as F
from vllm.config import VllmConfig
from vllm.model_executor.layers.attention import Attention

ROTARY_BASE = 10_000.0
NORM_EPS = 1e-5


class EmbeddedPolicyForCausalLM(nn.Module):
    """Parameters carry the names and shapes of the checkpoint; products are `x @ W` with `W[in, out]`."""

    def __init__(self, *, vllm_config: VllmConfig, prefix: str = ""):
        super().__init__()
        config = vllm_config.model_config.hf_config
        self.config = config
        width, heads = config.hidden_size, config.num_attention_heads
        chunks = -(-width // config.head_dim)
        #: Heads that carry the previous token's embedding, a slice of `head_dim` channels each.
        self.previous_heads = max(chunks, heads)
        shapes = {
            "embed.previous": (config.vocab_size, width),
            "embed.token": (config.vocab_size, width),
            "head": (width, config.vocab_size),
            "norm": (width,),
        }
        for layer in range(config.num_hidden_layers):
            shapes |= {
                f"layers.{layer}.down": (config.intermediate_size, width),
                f"layers.{layer}.norm1": (width,),
                f"layers.{layer}.norm2": (width,),
                f"layers.{layer}.out": (heads * config.head_width, width),
                f"layers.{layer}.qkv": (width, 3 * heads * config.head_width),
                f"layers.{layer}.up": (width, config.intermediate_size),
            }
        self.weights = nn.ParameterDict(
            {
                name.replace(".", "_"): nn.Parameter(torch.zeros(shape), requires_grad=False)
                for name, shape in shapes.items()
            }
        )
        self.shapes = shapes
        # vLLM takes the number in a layer's name for its place: the reader of the previous token is layer 0.
        common = {"cache_config": vllm_config.cache_config, "quant_config": None}
        self.previous = Attention(
            self.previous_heads,
            config.head_dim,
            scale=1.0,
            num_kv_heads=self.previous_heads,
            per_layer_sliding_window=2,
            prefix=f"{prefix}layers.0.attn",
            **common,
        )
        self.attention = nn.ModuleList(
            Attention(
                heads,
                config.head_dim,
                scale=config.head_width**-0.5,
                num_kv_heads=heads,
                prefix=f"{prefix}layers.{layer + 1}.attn",
                **common,
            )
            for layer in range(config.num_hidden_layers)
        )

    def weight(self, name: str) -> torch.Tensor:
        return self.weights[name.replace(".", "_")]

    def embed_input_ids(self, input_ids: torch.Tensor) -> torch.Tensor:
        return F.embedding(input_ids, self.weight("embed.token"))

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        intermediate_tensors: object = None,
        inputs_embeds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Hidden states [T, width] of the T tokens of this step, of any number of sequences."""
        config, heads, head_width = self.config, self.config.num_attention_heads, self.config.head_width
        x = self.embed_input_ids(input_ids) + self._previous_embedding(input_ids, positions)
        cos, sin = self._rotary(positions)
        for layer in range(config.num_hidden_layers):
            name = f"layers.{layer}."
            qkv = _normalise(x, self.weight(name + "norm1")) @ self.weight(name + "qkv")
            query, key, value = qkv.view(-1, 3, heads, head_width).unbind(1)
            padding = (0, config.head_dim - head_width)
            query, key = (F.pad(_rotate(part, cos, sin), padding).flatten(1) for part in (query, key))
            mixed = self.attention[layer](query, key, F.pad(value, padding).flatten(1))
            mixed = mixed.view(-1, heads, config.head_dim)[..., :head_width].flatten(1)
            x = x + mixed @ self.weight(name + "out")
            inner = F.relu(_normalise(x, self.weight(name + "norm2")) @ self.weight(name + "up"))
            x = x + inner.square() @ self.weight(name + "down")
        return _normalise(x, self.weight("norm"))

    def compute_logits(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return hidden_states @ self.weight("head")

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        """Raises `ValueError` for a tensor that is missing, unknown or of another shape."""
        loaded: set[str] = set()
        for name, tensor in weights:
            if tuple(tensor.shape) != self.shapes.get(name):
                raise ValueError(
                    f"tensor {name}: expected shape {self.shapes.get(name)}, found {tuple(tensor.shape)}"
                )
            self.weight(name).copy_(tensor)
            loaded.add(name)
        if missing := self.shapes.keys() - loaded:
            raise ValueError(f"tensors missing: {sorted(missing)}")
        return {f"weights.{name.replace('.', '_')}" for name in loaded}

    def _previous_embedding(self, input_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        table, width = self.weight("embed.previous"), self.config.hidden_size
        own = F.embedding(input_ids, table)
        value = F.pad(own, (0, self.previous_heads * self.config.head_dim - width))
        zero = torch.zeros_like(value)
        mean = self.previous(zero, zero, value)[:, :width]
        # Position 0 has no previous token; the model was trained with token 0 there.
        return torch.where((positions == 0)[:, None], table[0], 2 * mean - own)

    def _rotary(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        half = self.config.head_width // 2
        rates = ROTARY_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = positions.double()[:, None] * rates
        return angles.cos().float()[:, None, :], angles.sin().float()[:, None, :]


def _normalise(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPS) * weight


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Pairs are (i, i + half), x[T, heads, head_width]."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

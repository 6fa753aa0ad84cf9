"""The training pass: logits at chosen positions, and the hand-written backward pass.

Axes: B sequences, L positions (padded at the end), D width, H heads, E head width, N chosen positions, V tokens.
Padding needs no mask: attention is causal, and padded positions are never chosen.
"""

from dataclasses import dataclass

import numpy as np

from .model import NORM_EPS, Parameters, previous_tokens, rotary_tables


@dataclass
class LayerTrace:
    """What one layer's backward pass needs of its forward pass."""

    input: np.ndarray
    inverse1: np.ndarray
    normed1: np.ndarray
    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    attention: np.ndarray
    mixed: np.ndarray
    middle: np.ndarray
    inverse2: np.ndarray
    normed2: np.ndarray
    rectified: np.ndarray


@dataclass
class Trace:
    """One forward pass over `ids[B, L]`; `chosen[N]` indexes the flattened B*L positions."""

    ids: np.ndarray
    chosen: np.ndarray
    layers: list[LayerTrace]
    last: np.ndarray
    inverse: np.ndarray
    normed: np.ndarray
    logits: np.ndarray


class TrainingPass:
    """Forward and backward for one model shape; holds the rotary tables and causal mask."""

    def __init__(self, parameters: Parameters):
        self.config = parameters.config
        cos, sin = rotary_tables(self.config)
        self._cos, self._sin = cos[:, None, :], sin[:, None, :]
        self._mask = np.triu(np.full((self.config.context, self.config.context), -np.inf, np.float32), 1)

    def forward(self, parameters: Parameters, ids: np.ndarray, chosen: np.ndarray) -> Trace:
        """Logits [N, V] at `chosen`, with everything that `backward` needs."""
        c, w, (batch, length) = self.config, parameters.tensors, ids.shape
        x = w["embed.token"][ids] + w["embed.previous"][previous_tokens(ids)]
        x = x.reshape(batch * length, c.width)
        layers = []
        for layer in range(c.layers):
            name = f"layers.{layer}."
            normed1, inverse1 = _normalise(x)
            qkv = ((normed1 * w[name + "norm1"]) @ w[name + "qkv"]).reshape(
                batch, length, 3, c.heads, c.head_width
            )
            queries = self._heads(self._rotate(qkv[:, :, 0], 1) * np.float32(c.head_width**-0.5))
            keys = self._heads(self._rotate(qkv[:, :, 1], 1))
            values = self._heads(qkv[:, :, 2])
            scores = queries @ keys.swapaxes(-1, -2)
            scores += self._mask[:length, :length]
            scores -= scores.max(-1, keepdims=True)
            attention = np.exp(scores, out=scores)
            attention /= attention.sum(-1, keepdims=True)
            mixed = self._flat(attention @ values)
            middle = x + mixed @ w[name + "out"]
            normed2, inverse2 = _normalise(middle)
            rectified = np.maximum((normed2 * w[name + "norm2"]) @ w[name + "up"], 0)
            layers.append(
                LayerTrace(
                    x,
                    inverse1,
                    normed1,
                    queries,
                    keys,
                    values,
                    attention,
                    mixed,
                    middle,
                    inverse2,
                    normed2,
                    rectified,
                )
            )
            x = middle + np.square(rectified) @ w[name + "down"]
        last = x[chosen]
        normed, inverse = _normalise(last)
        logits = (normed * w["norm"]) @ w["head"]
        return Trace(ids, chosen, layers, last, inverse, normed, logits)

    def backward(
        self, parameters: Parameters, trace: Trace, d_logits: np.ndarray, gradient: Parameters
    ) -> None:
        """Adds the gradient of sum(d_logits * logits) to `gradient`."""
        c, w, g, (batch, length) = self.config, parameters.tensors, gradient.tensors, trace.ids.shape
        g["head"] += (trace.normed * w["norm"]).T @ d_logits
        d_chosen = _normalise_back(d_logits @ w["head"].T, trace.normed, trace.inverse, w["norm"], g["norm"])
        dx = np.zeros((batch * length, c.width), np.float32)
        dx[trace.chosen] = d_chosen
        for layer in range(c.layers - 1, -1, -1):
            name, t = f"layers.{layer}.", trace.layers[layer]
            g[name + "down"] += np.square(t.rectified).T @ dx
            d_up = (dx @ w[name + "down"].T) * t.rectified
            d_up += d_up
            g[name + "up"] += (t.normed2 * w[name + "norm2"]).T @ d_up
            dx = dx + _normalise_back(
                d_up @ w[name + "up"].T, t.normed2, t.inverse2, w[name + "norm2"], g[name + "norm2"]
            )
            g[name + "out"] += t.mixed.T @ dx
            d_mixed = self._heads((dx @ w[name + "out"].T).reshape(batch, length, c.heads, c.head_width))
            d_values = t.attention.swapaxes(-1, -2) @ d_mixed
            d_scores = d_mixed @ t.values.swapaxes(-1, -2)
            d_scores *= t.attention
            d_scores -= t.attention * d_scores.sum(-1, keepdims=True)
            d_qkv = np.empty((batch, length, 3, c.heads, c.head_width), np.float32)
            d_queries = (d_scores @ t.keys).swapaxes(1, 2) * np.float32(c.head_width**-0.5)
            d_keys = (d_scores.swapaxes(-1, -2) @ t.queries).swapaxes(1, 2)
            d_qkv[:, :, 0] = self._rotate(d_queries, -1)
            d_qkv[:, :, 1] = self._rotate(d_keys, -1)
            d_qkv[:, :, 2] = d_values.swapaxes(1, 2)
            d_qkv = d_qkv.reshape(batch * length, 3 * c.width)
            g[name + "qkv"] += (t.normed1 * w[name + "norm1"]).T @ d_qkv
            dx = dx + _normalise_back(
                d_qkv @ w[name + "qkv"].T, t.normed1, t.inverse1, w[name + "norm1"], g[name + "norm1"]
            )
        np.add.at(g["embed.token"], trace.ids.reshape(-1), dx)
        np.add.at(g["embed.previous"], previous_tokens(trace.ids).reshape(-1), dx)

    def _rotate(self, x: np.ndarray, direction: int) -> np.ndarray:
        """Rotary turn of x[B, L, H, E] by its position; direction -1 turns back."""
        length, half = x.shape[1], x.shape[-1] // 2
        cos, sin = self._cos[:length], self._sin[:length] * np.float32(direction)
        first, second = x[..., :half], x[..., half:]
        return np.concatenate((first * cos - second * sin, first * sin + second * cos), axis=-1)

    @staticmethod
    def _heads(x: np.ndarray) -> np.ndarray:
        """[B, L, H, E] -> contiguous [B, H, L, E]."""
        return np.ascontiguousarray(x.swapaxes(1, 2))

    @staticmethod
    def _flat(x: np.ndarray) -> np.ndarray:
        """[B, H, L, E] -> [B*L, D]."""
        batch, heads, length, width = x.shape
        return x.swapaxes(1, 2).reshape(batch * length, heads * width)


def _normalise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x over its root mean square (last axis), and the inverse root itself."""
    inverse = 1 / np.sqrt(np.einsum("nd,nd->n", x, x)[:, None] / np.float32(x.shape[-1]) + NORM_EPS)
    return x * inverse, inverse


def _normalise_back(
    d_scaled: np.ndarray, normed: np.ndarray, inverse: np.ndarray, gain: np.ndarray, d_gain: np.ndarray
) -> np.ndarray:
    """Gradient through `normed * gain`; adds to `d_gain`."""
    d_gain += np.einsum("nd,nd->d", d_scaled, normed)
    d_normed = d_scaled * gain
    mean = np.einsum("nd,nd->n", d_normed, normed)[:, None] / np.float32(normed.shape[-1])
    return (d_normed - normed * mean) * inverse

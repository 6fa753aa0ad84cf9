"""A causal language model of Transformers with its weights outside of it.

The module is a frame: `using(weights)` hangs tensors into it (no copy) for as long as the lock is held, so one module
serves the training session, the base, and every version that is sampled from. Hidden states and logits are computed
apart, since the logits of a whole sequence over a large vocabulary are the largest thing of all; `prove` shows at
start that the two together are what the model itself computes.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM

from steadfast_protocol.faults import UsageError
from steadfast_protocol.tensors import digest_tensors

from .lora import Lora
from .weights import Arrays, Weights

#: Numbers of one block of logits: 64 MiB in float32.
_BLOCK_NUMBERS = 1 << 24
#: Largest difference of our logits from the model's own, in float32.
_SAME = 1e-3


@dataclass(frozen=True)
class ModelOptions:
    folder: str
    device: torch.device
    #: What products are computed in: float32, or bfloat16 beside float32 weights.
    dtype: torch.dtype
    #: None: every parameter is trained.
    lora: Lora | None = None
    #: Layers are computed again in the backward pass instead of being kept.
    checkpointing: bool = False
    #: Longest sequence; None: what the model was made for.
    context: int | None = None


class LanguageModel:
    """`base` is what a new session starts from, `base_digest` its weight version."""

    def __init__(self, options: ModelOptions):
        """Raises `UsageError` for a folder that is no model, or one that cannot be computed in parts."""
        self.options, self.lock = options, threading.RLock()
        self.config = _config(options.folder)
        self.vocab: int = self.config.vocab_size
        longest = getattr(self.config, "max_position_embeddings", None) or options.context
        if longest is None:
            raise UsageError("--context", "a number of tokens: the model does not say its own", "nothing")
        self.context: int = min(options.context or longest, longest)
        self.module = self._load()
        self._decoder, self._head = self.module.base_model, self.module.get_output_embeddings()
        frozen_digest = None
        if options.lora is not None:
            # Before the adapters: every parameter of the folder.
            frozen_digest = digest_tensors(Arrays(dict(self.module.named_parameters())))
            options.lora.inject(self.module)
        for parameter in self.module.parameters():
            parameter.requires_grad_(options.lora is None)
        names = dict(self.module.named_parameters())
        self._trained = {
            name: parameter
            for name, parameter in names.items()
            if options.lora is None or options.lora.owns(name)
        }
        for parameter in self._trained.values():
            parameter.requires_grad_(True)
            parameter.data = parameter.data.float()
        self.base: Weights = {name: parameter.data for name, parameter in self._trained.items()}
        if options.lora is not None:
            self.base["base"] = options.lora.mark(frozen_digest).to(options.device)
        self.base_digest = digest_tensors(Arrays(self.base))
        self._hung: Weights | None = self.base
        self.prove()

    def _load(self) -> torch.nn.Module:
        o = self.options
        # Weights that are trained stay float32 and are computed in `dtype` by autocast; frozen ones are held in it.
        held = torch.float32 if o.lora is None else o.dtype
        try:
            module, info = AutoModelForCausalLM.from_pretrained(
                o.folder, dtype=held, local_files_only=True, output_loading_info=True
            )
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise UsageError(o.folder, "a folder with a causal language model", str(error)[:300]) from error
        # Transformers would fill them with random numbers.
        if missing := sorted(info["missing_keys"]):
            raise UsageError(
                o.folder, "every weight of the model", f"no {', '.join(missing[:3])} ({len(missing)} in all)"
            )
        for part in module.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        for name in ("attention_dropout", "attn_pdrop", "resid_pdrop", "embd_pdrop", "hidden_dropout"):
            if getattr(module.config, name, None):
                setattr(module.config, name, 0.0)
        if o.checkpointing:
            module.gradient_checkpointing_enable({"use_reentrant": False})
        return module.to(o.device).eval()

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {name: tuple(tensor.shape) for name, tensor in self.base.items()}

    @contextmanager
    def using(self, weights: Weights, training: bool = False) -> Iterator[None]:
        """The module computes with `weights` inside; one at a time."""
        with self.lock:
            if self._hung is not weights:
                for name, parameter in self._trained.items():
                    parameter.data = weights[name]
                self._hung = weights
            # Only checkpointing looks at the mode: dropout is 0.
            self.module.train(training and self.options.checkpointing)
            with torch.autocast(self.options.device.type, self.options.dtype, enabled=self._mixed):
                yield

    @property
    def _mixed(self) -> bool:
        return self.options.dtype != torch.float32

    def take_gradient(self) -> Weights:
        """The gradient that backward passes have left, and leaves none behind."""
        gradient = {}
        for name, parameter in self._trained.items():
            if parameter.grad is not None:
                gradient[name] = parameter.grad
                parameter.grad = None
        return gradient

    def hidden(self, ids: np.ndarray) -> torch.Tensor:
        """The last layer's output [L, D] for one sequence; inside `using`."""
        return self._decoder(input_ids=self.tokens(ids)[None], use_cache=False).last_hidden_state[0]

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """float32 logits [N, V]; inside `using`. As the architectures do that scale or bound theirs."""
        logits, config = self._head(hidden).float(), self.config
        if getattr(config, "logit_scale", None):
            logits = logits * config.logit_scale
        if getattr(config, "logits_scaling", None):
            logits = logits / config.logits_scaling
        if bound := getattr(config, "final_logit_softcapping", None):
            logits = torch.tanh(logits / bound) * bound
        return logits

    def step(self, ids: np.ndarray, cache: object) -> tuple[np.ndarray, object]:
        """(logits [V] after the last of `ids`, cache with them); `cache` None begins. Inside `using`, without gradient."""
        out = self.module(
            input_ids=self.tokens(ids)[None], past_key_values=cache, use_cache=True, logits_to_keep=1
        )
        return out.logits[0, -1].float().cpu().numpy(), out.past_key_values

    def sequence_logprobs(self, ids: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """float32: of the tokens at `at`, or of each from the second on; inside `using`, without gradient."""
        hidden, targets = self.hidden(ids[:-1]), self.tokens(ids[1:])
        if at is not None:
            chosen = torch.from_numpy(at - 1).to(self.options.device)
            hidden, targets = hidden[chosen], targets[chosen]
        parts = []
        for block in self.blocks(len(targets)):
            logs = torch.log_softmax(self.logits(hidden[block]), -1)
            parts.append(logs.gather(-1, targets[block, None])[:, 0])
        return torch.cat(parts).cpu().numpy()

    def blocks(self, count: int) -> Iterator[slice]:
        """Positions whose logits are held at once."""
        size = max(1, _BLOCK_NUMBERS // self.vocab)
        for start in range(0, count, size):
            yield slice(start, min(count, start + size))

    def tokens(self, ids: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(ids.astype(np.int64)).to(self.options.device)

    def prove(self) -> None:
        """Raises `UsageError` where hidden states and head do not give the model's own logits."""
        ids = np.random.default_rng(0).integers(0, self.vocab, 12)
        with torch.no_grad(), self.using(self.base):
            whole = self.module(input_ids=self.tokens(ids)[None], use_cache=False).logits[0].float()
            ours = self.logits(self.hidden(ids))
        difference = float((whole - ours).abs().max())
        bound = _SAME if self.options.dtype == torch.float32 else 0.1
        if not difference <= bound:
            raise UsageError(
                self.options.folder,
                "a model whose logits are its output embedding of its last hidden state",
                f"{type(self.module).__name__}, whose own differ by {difference:.3g}",
            )

    @property
    def name(self) -> str:
        """Architecture and sizes."""
        c = self.config
        sizes = [("v", "vocab_size"), ("d", "hidden_size"), ("l", "num_hidden_layers")]
        words = [f"{letter}{getattr(c, field)}" for letter, field in sizes if hasattr(c, field)]
        return f"{c.model_type} {'-'.join(words)}-c{self.context}"


def _config(folder: str) -> object:
    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        hint = "a folder with config.json (a hub id is not fetched)"
        raise UsageError("--model", hint, f"{folder}: {str(error)[:200]}") from error

"""LoRA by PEFT: low-rank adapters beside frozen weights, the same ones at every start."""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from peft import LoraConfig, inject_adapter_in_model

from steadfast_protocol.faults import UsageError

#: PEFT's name of an adapter that has none.
_ADAPTER = "default"


@dataclass(frozen=True)
class Lora:
    rank: int
    alpha: float
    #: Module names, separated by commas, or `all-linear`: every linear layer but the head.
    targets: str = "all-linear"
    #: Of the random half of each adapter; the other half starts at zero.
    seed: int = 0

    def inject(self, module: torch.nn.Module) -> None:
        """Adapters into `module`, in place. Raises `UsageError` where no layer has such a name."""
        targets: str | list[str] = self.targets if self.targets == "all-linear" else self.targets.split(",")
        config = LoraConfig(
            r=self.rank,
            lora_alpha=self.alpha,
            lora_dropout=0.0,
            target_modules=targets,
            task_type="CAUSAL_LM",
        )
        try:
            inject_adapter_in_model(config, module)
        except ValueError as error:
            raise UsageError("--lora-targets", "names of the model's layers", str(error)[:200]) from error
        # Not in PEFT's order of modules: by name, so that the same seed gives the same adapters in every version of it.
        generator = torch.Generator().manual_seed(self.seed)
        for name, parameter in sorted(module.named_parameters()):
            if ".lora_A." in name:
                bound = parameter.shape[1] ** -0.5
                fresh = torch.empty(parameter.shape).uniform_(-bound, bound, generator=generator)
                parameter.data = fresh.to(parameter.device)

    def owns(self, name: str) -> bool:
        return ".lora_A." in name or ".lora_B." in name

    def mark(self, digest: str) -> torch.Tensor:
        """float32 [32]: the bytes of the frozen weights' digest, so that adapters alone name the weights they belong to."""
        return torch.from_numpy(np.frombuffer(bytes.fromhex(digest[7:]), np.uint8).astype(np.float32))

    def saved_name(self, name: str) -> str:
        """The parameter's name in an adapter file as PEFT and vLLM read it."""
        return "base_model.model." + name.replace(f".{_ADAPTER}.", ".")

    def saved_config(self, base: str) -> dict:
        """`adapter_config.json`."""
        fields = asdict(self)
        return {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": fields["rank"],
            "lora_alpha": fields["alpha"],
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": self.targets if self.targets == "all-linear" else self.targets.split(","),
        }

    @property
    def name(self) -> str:
        return f"lora-r{self.rank}-a{self.alpha:g}-{self.targets}-s{self.seed}"

"""A vLLM plugin: the embedded policy as a model that vLLM can serve."""


def register() -> None:
    """Called by vLLM in each of its processes (entry point group `vllm.general_plugins`)."""
    from transformers import AutoConfig
    from vllm import ModelRegistry

    from .config import EmbeddedPolicyConfig

    AutoConfig.register(EmbeddedPolicyConfig.model_type, EmbeddedPolicyConfig, exist_ok=True)
    # By name: the class is imported only in the process that runs the model.
    ModelRegistry.register_model(
        EmbeddedPolicyConfig.architecture, "steadfast_vllm.model:EmbeddedPolicyForCausalLM"
    )

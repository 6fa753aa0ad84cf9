"""The PyTorch trainer: any causal language model folder, trained whole or by LoRA, in one process.

Protocol, batches, sessions and checkpoints are those of `steadfast_protocol` (native/trainer); here are the model
(`model`, `lora`), the loss and the optimizer (`losses`, `adamw`, `update`), and the two ways of sampling: by itself
(`sampler`) or through a vLLM server that is handed the weights (`vllm_sampler`, `export`).
"""

#: Version of everything that decides bytes or formats. A checkpoint of another version is refused.
FORMAT_VERSION = "1"

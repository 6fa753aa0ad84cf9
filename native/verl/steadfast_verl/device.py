"""Which device Verl computes on. Read before Verl is imported, in this process and in those of Ray."""

import os

#: Verl finds its FSDP engine under `cuda`; nothing in it needs one.
CPU_VARIABLES = {
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    "VERL_USE_EXTERNAL_MODULES": "steadfast_verl.cpu_platform",
    # One thread: sums in one order.
    "OMP_NUM_THREADS": "1",
    # Of replicas: vLLM takes nothing for a CPU that it is not told of, and binds its threads to cores.
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}


def choose(device: str) -> dict[str, str]:
    """The variables that the ranks need too; set here."""
    chosen = dict(CPU_VARIABLES) if device == "cpu" else {}
    os.environ.update(chosen)
    return chosen

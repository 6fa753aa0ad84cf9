"""Verl's actor workers, driven one operation at a time behind the trainer contract.

This process answers the contract's calls (`steadfast_protocol`) and owns the accounts: session, applied operations,
checkpoints. The ranks (`worker`) are Verl's own workers with its FSDP engine, over Ray or in this process (`workers`):
they hold the shards of weights and moments. Weights are known here by handles, never by their bytes.
"""

#: Version of everything that decides bytes or formats. A checkpoint of another version is refused.
FORMAT_VERSION = "1"

"""What every trainer process speaks and keeps: the HTTP calls, batches, plans, sessions and checkpoints of the contract.

A trainer brings a `learner` (weights, optimizer, one update), a `sampler` (weights that can be sampled from) and its
model's tokenizer; `app` puts them behind the calls of docs/contracts.md. It needs NumPy and nothing else.
"""

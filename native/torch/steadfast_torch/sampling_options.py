"""Options of `serve` that say who samples (who_samples.py). Needs no PyTorch, as the rest of a command line's help."""

import argparse


def add_sampling(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--format", default="qwen3_xml", help="how outputs are read (core/interpret)")
    serve.add_argument(
        "--vllm", help="http://host:port of a vLLM server that samples; absent: the trainer by itself"
    )
    serve.add_argument("--rows", type=int, default=64, help="requests at the vLLM server at once")
    serve.add_argument("--versions", type=int, default=4, help="weights kept for sampling")

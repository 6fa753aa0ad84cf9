#!/usr/bin/env python3
"""Acceptance on one GPU: LoRA training of a real model folder with vLLM sampling, through the trainer's own calls.

    native/torch/make-venv.sh; native/vllm/…: any Python with vLLM
    .steadfast/venv-torch/bin/python native/torch/accept_gpu.py MODEL --vllm /path/to/vllm [--steps 5] [--rank 16]

Starts a vLLM server and the trainer on one GPU (vLLM takes 40 % of its memory), and makes GRPO steps on a reward that
needs no suite: the share of sampled tokens with an even id. Checked: every update is applied once and published, sampler
and trainer agree within the default bound (0.1 nats a token), a restored checkpoint gives the same digests, and the
reward rises. Prints one JSON document of figures; exit 1 when something does not hold. A model of 4 billion parameters
should take 10 minutes.

Without a GPU: `--device cpu` and no `--vllm` tries the script itself on a tiny model. One file on purpose: it is copied
to a machine that has nothing else of ours but native/.
"""

import argparse
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "trainer")]

from steadfast_protocol.tensors import encode_safetensors  # noqa: E402

PLAN = {
    "weightDecay": 0.0,
    "clip": 0.2,
    "dualClip": 3.0,
    "maxGradNorm": 1.0,
    "normalisation": "token-mean",
    "mismatch": {"meanAbove": 0.1, "shareAbove": 0.3},
}
PROMPTS = [
    "Write one sentence about the sea.",
    "Name three fruits and say why you like them.",
    "Explain what a database index is.",
    "Describe a walk through a forest in autumn.",
    "What should one pack for a week in the mountains?",
    "Tell a short story about a lighthouse keeper.",
]


def call(url: str, body: dict | None = None, timeout: float = 3600) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: HTTP {error.code}: {error.read()[:500]!r}") from error


def wait_for(url: str, process: subprocess.Popen, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{url} does not answer (exit {process.poll()})") from None
            time.sleep(1)


def start_vllm(options: argparse.Namespace, log: str) -> subprocess.Popen:
    arguments = [options.vllm, "serve", options.model, "--port", str(options.vllm_port)]
    arguments += ["--served-model-name", "base", "--dtype", "bfloat16", "--logprobs-mode", "raw_logprobs"]
    arguments += ["--gpu-memory-utilization", "0.4", "--max-model-len", "4096", "--enable-lora"]
    arguments += ["--max-lora-rank", str(max(8, options.rank)), "--max-loras", "4"]
    environment = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True", "VLLM_SERVER_DEV_MODE": "1"}
    with open(log, "wb") as out:
        return subprocess.Popen(
            arguments, stdout=out, stderr=out, env=os.environ | environment, start_new_session=True
        )


def start_trainer(options: argparse.Namespace, home: str) -> subprocess.Popen:
    arguments = [
        sys.executable,
        "-m",
        "steadfast_torch",
        "serve",
        "--port",
        str(options.port),
        "--home",
        home,
    ]
    arguments += ["--model", options.model, "--lora-rank", str(options.rank), "--gradient-checkpointing"]
    arguments += ["--device", options.device, "--dtype", "float32" if options.device == "cpu" else "bfloat16"]
    arguments += ["--context", "4096"]
    if options.vllm:
        arguments += ["--vllm", f"http://127.0.0.1:{options.vllm_port}"]
    path = os.pathsep.join(sys.path[:2])
    return subprocess.Popen(arguments, cwd=HERE, env=os.environ | {"PYTHONPATH": path})


class Acceptance:
    def __init__(self, options: argparse.Namespace, home: str):
        self.options, self.home = options, home
        self.url = f"http://127.0.0.1:{options.port}"
        self.pool = ThreadPoolExecutor(64)
        self.problems: list[str] = []

    def post(self, path: str, body: dict) -> dict:
        return call(self.url + path, body)

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)
            print(f"DOES NOT HOLD: {problem}", file=sys.stderr)

    def sample(self, version: str, step: int) -> tuple[list[dict], float]:
        """(episodes, seconds): every prompt `group` times."""
        prompts = [
            self.post("/tokenize", {"prompt": f"{text}\n", "add_special_tokens": False})["tokens"]
            for text in PROMPTS
        ]

        def one(at: tuple[int, int]) -> dict:
            prompt, member = at
            body = {"model": version, "prompt": prompts[prompt], "max_tokens": self.options.tokens}
            body |= {"temperature": 1.0, "top_k": 20, "top_p": 0.95, "logprobs": 0, "return_token_ids": True}
            reply = self.post("/v1/completions", body | {"seed": 1_000_003 * step + 1_009 * prompt + member})
            choice = reply["choices"][0]
            if reply["weight_version"] != version:
                raise SystemExit(f"asked for {version}, got {reply['weight_version']}")
            ids = choice["token_ids"]
            return {
                "key": f"step-{step} · prompt:{prompt} · {member:03d}",
                "prompt": prompts[prompt],
                "ids": ids,
                "logprobs": choice["logprobs"]["token_logprobs"],
                "group": prompt,
                "reward": sum(i % 2 == 0 for i in ids) / len(ids),
            }

        started = time.monotonic()
        slots = [(p, m) for p in range(len(prompts)) for m in range(self.options.group)]
        return list(self.pool.map(one, slots)), time.monotonic() - started

    def write_batch(self, version: str, step: int, episodes: list[dict]) -> tuple[str, str]:
        for group in range(len(PROMPTS)):
            members = [e for e in episodes if e["group"] == group]
            rewards = [e["reward"] for e in members]
            mean, deviation = statistics.mean(rewards), statistics.stdev(rewards)
            for member in members:
                member["advantage"] = (member["reward"] - mean) / (deviation + 1e-6)
        episodes = sorted(episodes, key=lambda e: e["key"])
        sampled = np.concatenate([[0] * len(e["prompt"]) + [1] * len(e["ids"]) for e in episodes])
        data = encode_safetensors(
            {
                "ids": np.concatenate([e["prompt"] + e["ids"] for e in episodes]).astype(np.int32),
                "bits": np.packbits(sampled.astype(np.uint8), bitorder="little"),
                "logprobs": np.concatenate([e["logprobs"] for e in episodes]).astype(np.float32),
                "lengths": np.array([len(e["prompt"]) + len(e["ids"]) for e in episodes], np.int32),
                "advantages": np.array([e["advantage"] for e in episodes], np.float32),
            },
            {
                "format": "2",
                "run": "accept",
                "step": str(step),
                "keys": json.dumps([e["key"] for e in episodes]),
                "weightVersion": version,
            },
        )
        path = os.path.join(self.home, f"batch-{step}")
        with open(path, "wb") as file:
            file.write(data)
        return path, "sha256:" + hashlib.sha256(data).hexdigest()

    def update(self, step: int, base: str, path: str, digest: str) -> dict:
        body = {"run": "accept", "op": f"update-{step}", "baseDigest": base, "batchDigest": digest}
        plan = PLAN | {"learningRate": self.options.learning_rate}
        return self.post("/trainer/update", body | {"batchPath": path, "plan": plan})

    def run(self) -> dict:
        figures: list[dict] = []
        self.post("/trainer/open", {"run": "accept"})
        version = self.post("/trainer/publish", {"run": "accept"})["weightVersion"]
        recorded = []
        for step in range(1, self.options.steps + 1):
            episodes, sampling = self.sample(version, step)
            path, digest = self.write_batch(version, step, episodes)
            report = self.update(step, version, path, digest)
            again = self.update(step, version, path, digest)
            self.expect(again == report, f"step {step}: the update sent again has another report")
            recorded.append((step, version, path, digest, report))
            started = time.monotonic()
            version = self.post("/trainer/publish", {"run": "accept"})["weightVersion"]
            self.expect(version == report["weightDigest"], f"step {step}: other weights were published")
            tokens = sum(len(e["ids"]) for e in episodes)
            figures.append(
                {
                    "step": step,
                    "reward": round(statistics.mean(e["reward"] for e in episodes), 4),
                    "sampledTokens": tokens,
                    "tokensPerSecond": round(tokens / sampling, 1),
                    "updateSeconds": report["seconds"],
                    "publishSeconds": round(time.monotonic() - started, 2),
                    **{n: report[n] for n in ("loss", "gradNorm", "klToBase", "mismatchMean", "mismatchMax")},
                    "gpu": gpu_memory(),
                }
            )
            print(json.dumps(figures[-1]), file=sys.stderr, flush=True)
        saved = self.post("/trainer/checkpoint", {"run": "accept", "dir": os.path.join(self.home, "saved")})
        self.post("/trainer/open", {"run": "accept", "from": saved["path"]})
        state = call(self.url + "/trainer/state")
        self.expect(state["weightDigest"] == version, "the restored checkpoint has other weights")
        self.post("/trainer/open", {"run": "accept"})
        for step, base, path, digest, report in recorded[:2]:
            found = self.update(step, base, path, digest)
            same = all(found[n] == report[n] for n in ("weightDigest", "optimizerDigest"))
            self.expect(same, f"step {step}: applied again, the digests differ")
        rewards = [figure["reward"] for figure in figures]
        self.expect(rewards[-1] > rewards[0], f"the reward did not rise: {rewards}")
        self.expect(max(f["mismatchMean"] for f in figures) <= 0.1, "sampler and trainer differ")
        capabilities = call(self.url + "/trainer/capabilities")
        return {
            "holds": not self.problems,
            "problems": self.problems,
            "trainer": capabilities,
            "steps": figures,
        }


def gpu_memory() -> str | None:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.used", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a causal language model")
    parser.add_argument("--vllm", help="the vllm command; absent: the trainer samples by itself")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--group", type=int, default=16, help="samples of each prompt")
    parser.add_argument("--tokens", type=int, default=256, help="most of a sample")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--port", type=int, default=18701)
    parser.add_argument("--vllm-port", type=int, default=18702)
    options = parser.parse_args()
    options.model = os.path.abspath(options.model)
    with tempfile.TemporaryDirectory(prefix="steadfast-accept-") as home:
        processes: list[subprocess.Popen] = []
        try:
            if options.vllm:
                processes.append(start_vllm(options, os.path.join(home, "vllm.log")))
                wait_for(f"http://127.0.0.1:{options.vllm_port}/health", processes[-1], 1200)
            processes.append(start_trainer(options, home))
            wait_for(f"http://127.0.0.1:{options.port}/health", processes[-1], 1200)
            found = Acceptance(options, home).run()
        finally:
            for process in reversed(processes):
                # vLLM is several processes: they end as a group.
                (os.killpg if process.args[0] == options.vllm else os.kill)(process.pid, signal.SIGTERM)
                process.wait()
    print(json.dumps(found, indent=1))
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())

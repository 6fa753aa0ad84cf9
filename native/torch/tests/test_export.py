"""Weights that leave the trainer: what Transformers and PEFT read from the folders is what was trained."""

import os
import shutil
import tempfile
import unittest

import numpy as np
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from steadfast_protocol.faults import UsageError
from steadfast_torch.adamw import Moments
from steadfast_torch.export import export
from steadfast_torch.lora import Lora
from steadfast_torch.update import compute_update

from .fixtures import PLAN, episodes, load, write_model

IDS = np.arange(3, 40, dtype=np.int32)


class ExportTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name

    def tearDown(self):
        self._folder.cleanup()

    def trained(self, path: str, lora: Lora | None):
        """(folder with weights two updates away from the base, our logits, the base's)."""
        model = load(path, lora)
        weights, moments = model.base, Moments.fresh(model.base)
        for seed in (3, 4):
            result = compute_update(model, weights, moments, episodes(seed=seed), PLAN)
            weights, moments = result.weights, result.optimizer
        out = os.path.join(self.folder, "out")
        export(model, weights, out)
        export(model, weights, out)
        logits = []
        for version in (weights, model.base):
            with torch.no_grad(), model.using(version):
                logits.append(model.logits(model.hidden(IDS)))
        return out, *logits

    def same(self, module: torch.nn.Module, ours: torch.Tensor, base: torch.Tensor):
        with torch.no_grad():
            theirs = module(input_ids=torch.from_numpy(IDS.astype(np.int64))[None]).logits[0]
        self.assertLess(float((theirs - ours).abs().max()), 1e-5)
        self.assertGreater(float((theirs - base).abs().max()), 1e-3)

    def test_a_whole_model(self):
        for tied in (True, False):
            with tempfile.TemporaryDirectory() as self.folder:
                out, ours, base = self.trained(write_model(self.folder, tied), None)
                self.same(AutoModelForCausalLM.from_pretrained(out), ours, base)

    def test_adapters(self):
        path = write_model(self.folder)
        for targets in ("all-linear", "q_proj,v_proj"):
            with tempfile.TemporaryDirectory() as self.folder:
                out, ours, base = self.trained(path, Lora(4, 8.0, targets))
                self.assertLess(os.path.getsize(os.path.join(out, "adapter_model.safetensors")), 100_000)
                self.same(
                    PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(path), out), ours, base
                )

    def test_what_is_no_model_is_said(self):
        with self.assertRaisesRegex(UsageError, "hub id"):
            load("Qwen/Qwen3-0.6B")
        path = write_model(self.folder)
        with self.assertRaisesRegex(UsageError, "--lora-targets"):
            load(path, Lora(4, 8.0, "no_such_layer"))
        shutil.copytree(path, whole := os.path.join(self.folder, "some"))
        weights = load_file(os.path.join(whole, "model.safetensors"))
        del weights["model.norm.weight"]
        save_file(weights, os.path.join(whole, "model.safetensors"), {"format": "pt"})
        with self.assertRaisesRegex(UsageError, "model.norm.weight"):
            load(whole)
        os.truncate(os.path.join(path, "model.safetensors"), 1_000)
        with self.assertRaisesRegex(UsageError, "a folder with a causal language model"):
            load(path)


if __name__ == "__main__":
    unittest.main()

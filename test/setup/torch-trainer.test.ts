/** Which trainer a stack starts, and what a run asks of it. Needs no PyTorch. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requireTorch } from '../../cli/run/trainer-support.js';
import type { TorchConfig } from '../../core/trainers/config.js';
import { torchCommand, torchDigest, torchTrainer } from '../../infra/stack/torch-trainer.js';

let folder = '';
let model = '';
let python = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'torch-choice-'));
  model = path.join(folder, 'model');
  mkdirSync(model);
  writeFileSync(path.join(model, 'config.json'), '{}');
  python = path.join(folder, 'python');
  writeFileSync(python, '');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is the embedded one unless the environment names another', () => {
  expect(torchTrainer({}, folder)).toBeUndefined();
  expect(
    torchTrainer({ STEADFAST_TRAINER: 'embedded', STEADFAST_TRAINER_MODEL: model }, folder),
  ).toBeUndefined();
});

it('is PyTorch with a model folder, an interpreter and more options', () => {
  const chosen = torchTrainer(
    {
      STEADFAST_TRAINER: 'torch',
      STEADFAST_TRAINER_MODEL: model,
      STEADFAST_TRAINER_ARGS: ' --lora-rank  8 --dtype bfloat16 ',
      STEADFAST_TORCH_PYTHON: python,
    },
    folder,
  );
  expect(chosen).toEqual({ python, model, args: ['--lora-rank', '8', '--dtype', 'bfloat16'] });
  const { file, args } = torchCommand(chosen!, 8601, folder);
  expect([file, ...args].join(' ')).toBe(
    `${python} -m steadfast_torch serve --port 8601 --home ${folder} --model ${model} --lora-rank 8 --dtype bfloat16`,
  );
});

it('is started anew when a file of the model changes', () => {
  const chosen = { python, model, args: [] };
  const before = torchDigest(chosen);
  expect(torchDigest(chosen)).toBe(before);
  writeFileSync(path.join(model, 'model.safetensors'), 'weights');
  expect(torchDigest(chosen)).not.toBe(before);
});

it.each([
  [{ STEADFAST_TRAINER: 'tinker' }, /STEADFAST_TRAINER: expected embedded or torch, found "tinker"/],
  [{ STEADFAST_TRAINER: 'torch' }, /STEADFAST_TRAINER_MODEL: expected the folder of a model, found nothing/],
  [
    { STEADFAST_TRAINER: 'torch', STEADFAST_TRAINER_MODEL: 'Qwen/Qwen3-0.6B' },
    /found no .*Qwen3-0\.6B\/config\.json.*a hub id is not fetched/s,
  ],
])('refuses %j', (variables, words) => {
  expect(() => torchTrainer({ ...variables, STEADFAST_TORCH_PYTHON: python }, folder)).toThrow(words);
});

it('refuses an interpreter that is not there, and says how to make one', () => {
  const variables = {
    STEADFAST_TRAINER: 'torch',
    STEADFAST_TRAINER_MODEL: model,
    STEADFAST_TORCH_PYTHON: `${python}-gone`,
  };
  expect(() => torchTrainer(variables, folder)).toThrow(/PyTorch: expected .*python-gone.*make-venv\.sh/s);
});

const WANTED: TorchConfig = {
  kind: 'torch',
  model: '/models/q',
  format: 'qwen3_xml',
  host: null,
  dtype: 'bfloat16',
  gradientCheckpointing: true,
  lora: { rank: 16, alpha: 32 },
  serving: null,
};
const FITTING = {
  kind: 'torch',
  format: 'qwen3_xml',
  model: { folder: '/models/q', lora: 'lora-r16-a32-all-linear-s0' },
  numerics: { dtype: 'bfloat16' },
};

it('a run goes on with the trainer that its file describes', () => {
  expect(() => requireTorch(WANTED, FITTING)).not.toThrow();
  const whole = { ...FITTING, model: { folder: '/models/q', lora: null } };
  expect(() => requireTorch({ ...WANTED, lora: null }, whole)).not.toThrow();
});

it.each([
  [
    { kind: 'embedded' },
    /trainer\.kind: expected torch.*STEADFAST_TRAINER=torch STEADFAST_TRAINER_MODEL=\/models\/q/s,
  ],
  [{ model: { ...FITTING.model, folder: '/models/other' } }, /trainer\.model: expected \/models\/q/],
  [
    { model: { ...FITTING.model, lora: null } },
    /trainer\.lora: expected lora-r16-a32, found every parameter/,
  ],
  [{ format: 'hermes' }, /trainer\.format: expected qwen3_xml, found hermes/],
  [{ numerics: { dtype: 'float32' } }, /trainer\.dtype: expected bfloat16, found float32/],
])('a run refuses a stack whose trainer says %j', (said, words) => {
  expect(() => requireTorch(WANTED, { ...FITTING, ...said })).toThrow(words);
});

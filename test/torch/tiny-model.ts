/** Tiny Qwen 3 models made on the spot, where there is a Python with PyTorch (native/torch/make-venv.sh). */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Renderer } from '../../core/render/renderer.js';
import { modelFiles, modelFolder } from '../render-parity/models.js';
import { finished, ROOT } from '../trainer/server.js';
import { demonstrations } from './demonstrations.js';

export const NATIVE = path.join(ROOT, 'native', 'torch');
export const PYTHONPATH = [NATIVE, path.join(ROOT, 'native', 'trainer')].join(':');

/** Its interpreter, or undefined: the tests of this folder are then skipped. */
export function torchPython(): string | undefined {
  const made = path.join(ROOT, '.steadfast', 'venv-torch', 'bin', 'python');
  return process.env.STEADFAST_TORCH_PYTHON || (existsSync(made) ? made : undefined);
}

/** Random weights under Qwen 3.5's vocabulary and chat template; 65 MB in `out`, twice as much with a head of its own. */
export async function randomModel(python: string, out: string, head: 'tied' | 'own' = 'tied'): Promise<void> {
  await make(python, [out], head === 'own' ? ['--untied'] : []);
}

/** The same, taught to play these tasks of deskbench, not surely. What it reached, as the program prints it. */
export async function taughtModel(python: string, out: string, tasks: readonly string[]): Promise<string> {
  const episodes = await demonstrations(new Renderer(modelFiles('qwen3.5')), tasks);
  const file = `${out}.episodes.jsonl`;
  const lines = episodes.map(({ ids, sampled }) => JSON.stringify({ ids: [...ids], sampled: [...sampled] }));
  await writeFile(file, lines.join('\n'));
  return make(python, [out, file]);
}

async function make(python: string, rest: readonly string[], flags: readonly string[] = []): Promise<string> {
  const folder = modelFolder('qwen3.5');
  const template = path.join(folder, 'qwen3_5_think.jinja');
  const script = path.join(NATIVE, 'tests', 'tiny_qwen3.py');
  const { code, out, err } = await finished(
    spawn(python, [script, ...flags, folder, template, ...rest], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  if (code !== 0) throw new Error(`tiny_qwen3.py ended with ${code}: ${err.slice(-2_000)}`);
  return out.trim();
}

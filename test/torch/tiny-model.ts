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

interface Tiny {
  readonly head?: 'tied' | 'own';
  /** With its chat template. */
  readonly tokenizer?: 'qwen3.5' | 'embedded';
}

/** Random weights under Qwen 3.5's vocabulary and chat template; 65 MB in `out`, twice as much with a head of its own. */
export async function randomModel(python: string, out: string, head: 'tied' | 'own' = 'tied'): Promise<void> {
  await make(python, [out], { head });
}

/** The same, taught to play these tasks of deskbench, not surely. What it reached, as the program prints it. */
export async function taughtModel(
  python: string,
  out: string,
  tasks: readonly string[],
  tiny: Tiny = {},
): Promise<string> {
  const episodes = await demonstrations(new Renderer(modelFiles(tiny.tokenizer ?? 'qwen3.5')), tasks);
  const file = `${out}.episodes.jsonl`;
  const lines = episodes.map(({ ids, sampled }) => JSON.stringify({ ids: [...ids], sampled: [...sampled] }));
  await writeFile(file, lines.join('\n'));
  return make(python, [out, file], tiny);
}

async function make(
  python: string,
  rest: readonly string[],
  { head = 'tied', tokenizer = 'qwen3.5' }: Tiny,
): Promise<string> {
  const folder = modelFolder(tokenizer);
  const template = tokenizer === 'embedded' ? '' : path.join(folder, 'qwen3_5_think.jinja');
  const script = path.join(NATIVE, 'tests', 'tiny_qwen3.py');
  const flags = head === 'own' ? ['--untied'] : [];
  const { code, out, err } = await finished(
    spawn(python, [script, ...flags, folder, template, ...rest], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  if (code !== 0) throw new Error(`tiny_qwen3.py ended with ${code}: ${err.slice(-2_000)}`);
  return out.trim();
}

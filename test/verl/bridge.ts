/** The Verl bridge as a child process, where there is a Python with Verl (native/verl/make-venv.sh). */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import { finished, ROOT } from '../trainer/server.js';

export const NATIVE = path.join(ROOT, 'native', 'verl');
const FOLDERS = ['verl', 'trainer', 'torch'].map((name) => path.join(ROOT, 'native', name));

/** Of the conformance suite: those that who samples could break. */
export const SAMPLING_CHECKS = [
  ...['update-once', 'serve-apart', 'publish', 'version-echoed'],
  ...['probe-finds-stale', 'samples-are-of-their-weights'],
];

/** Those of the named checks that do not hold. `folder` is the bridge's; a start of ranks takes minutes. */
export async function notHeld(url: string, folder: string, only: readonly string[], force = false) {
  const { signal } = new AbortController();
  const limits = { waitMs: 10 * 60_000, checkMs: 30 * 60_000 };
  const { checks } = await runConformance({ url, signal, folder, only, force, ...limits });
  return checks.filter(({ outcome }) => outcome !== 'pass');
}

/** Its interpreter, or undefined: what needs Verl is then skipped. */
export function verlPython(): string | undefined {
  const made = path.join(ROOT, '.steadfast', 'venv-verl', 'bin', 'python');
  return process.env.STEADFAST_VERL_PYTHON || (existsSync(made) ? made : undefined);
}

/** Whether vLLM is installed beside Verl. */
export function hasVllm(python: string): boolean {
  const looks = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("vllm") is None)';
  return spawnSync(python, ['-c', looks]).status === 0;
}

export function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PYTHONPATH: FOLDERS.join(':'),
    PYTHONUNBUFFERED: '1',
    HF_HUB_OFFLINE: '1',
    OPENBLAS_NUM_THREADS: '1',
    // Ray's workers would give way to everything else on the machine.
    RAY_worker_niceness: '0',
  };
}

/**
 * A random Qwen 3 in `out`, unless a model is there, and `command.txt` with the settings that train it on the CPU.
 * `replica`: ranks that share one of Verl's replicas.
 */
export async function tinyModel(python: string, out: string, ranks: number, replica?: number): Promise<void> {
  const args = [out, String(ranks), ...(replica === undefined ? [] : [String(replica)])];
  const child = spawn(python, [path.join('tests', 'tiny_model.py'), ...args], {
    cwd: NATIVE,
    env: environment(),
  });
  const { code, err } = await finished(child);
  if (code !== 0) throw new Error(`tiny_model.py ended with ${code}: ${err}`);
}

export interface Bridge {
  /** Without `/v1`. */
  readonly url: string;
  /** Process ids of the ranks that were started last. */
  ranks(): readonly number[];
  /** Those of Verl's replicas. */
  replicas(): readonly number[];
  stop(): Promise<void>;
}

/** `folder` holds the model and what the bridge writes. */
export async function startBridge(python: string, folder: string, args: readonly string[]): Promise<Bridge> {
  const child = spawn(
    python,
    [
      ...['-m', 'steadfast_verl', 'serve', '--port', '0', '--home', path.join(folder, 'home')],
      ...['--device', 'cpu', '--command', path.join(folder, 'model', 'command.txt'), ...args],
    ],
    { cwd: NATIVE, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  const processes: Record<string, readonly number[]> = {};
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Logs of Ray's actors come through the same pipe, also in the middle of a line.
      const started = /\d+ (ranks|replicas): (\[[\d, ]*\])/.exec(line);
      if (started) processes[started[1]!] = JSON.parse(started[2]!) as number[];
      const listening = /trainer listening on (http:\/\/[\w.]+:\d+)/.exec(line);
      if (listening) resolve(listening[1]!);
    });
  });
  const url = await Promise.race([
    listening,
    ended.then(([code]) => Promise.reject(new Error(`the bridge ended with ${code}`))),
  ]);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  };
  return {
    url,
    ranks: () => processes.ranks ?? [],
    replicas: () => processes.replicas ?? [],
    stop,
  };
}

/** A real vLLM server on the CPU, where `native/vllm/make-venv.sh` has made one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../infra/stack/free-port.js';
import { BASE, ROOT } from '../trainer/server.js';

/** The checkout's own plugin, whatever was installed. */
const PYTHONPATH = path.join(ROOT, 'native', 'vllm');
/** Start-up is mostly imports: 40 s on an idle machine, more than 5 minutes at a load of 14. */
const READY_MS = 20 * 60_000;

/** Its interpreter, or undefined: the tests of this folder are then skipped. */
export function vllmPython(): string | undefined {
  const made = path.join(ROOT, '.steadfast', 'venv-vllm', 'bin', 'python');
  return process.env.STEADFAST_VLLM_PYTHON ?? (existsSync(made) ? made : undefined);
}

export interface VllmServer {
  /** Ends in `/v1`. */
  readonly url: string;
  /** The name it is served under. */
  readonly model: string;
  /** Folder with its tokenizer files. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** The embedded policy's base, with the plugin that vLLM knows it by. */
export async function serveEmbedded(python: string): Promise<VllmServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'vllm-embedded-'));
  await program(python, ['-m', 'steadfast_vllm.export', path.join(BASE, 'model.safetensors'), BASE, folder]);
  return serve(python, folder, 'embedded', 512);
}

/** A Qwen 3 of two tiny random layers with the real tokenizer and chat template. */
export async function serveTinyQwen3(python: string, tokenizer: string): Promise<VllmServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'vllm-qwen3-'));
  await makeTinyQwen3(python, tokenizer, folder);
  return serve(python, folder, 'qwen3', 4_096);
}

export function makeTinyQwen3(python: string, tokenizer: string, out: string): Promise<void> {
  return program(python, ['-m', 'steadfast_vllm.tiny_qwen3', tokenizer, out]);
}

/** Any model folder, by a server that takes other weights while it runs: whole models, and adapters of rank 8. */
export function serveForTraining(python: string, folder: string): Promise<VllmServer> {
  return serve(python, folder, 'trained', 2_048, {
    args: ['--enable-lora', '--max-lora-rank', '8', '--max-loras', '4'],
    env: { VLLM_SERVER_DEV_MODE: '1', VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
  });
}

async function serve(
  python: string,
  folder: string,
  model: string,
  contextTokens: number,
  more: { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv } = { args: [], env: {} },
): Promise<VllmServer> {
  const port = await freePort();
  const log = path.join(folder, 'server.log');
  const out = openSync(log, 'a');
  const child = spawn(
    path.join(path.dirname(python), 'vllm'),
    [
      ...['serve', folder, '--host', '127.0.0.1', '--port', String(port), '--served-model-name', model],
      ...['--dtype', 'float32', '--enforce-eager', '--max-num-seqs', '64'],
      ...['--max-model-len', String(contextTokens), '--logprobs-mode', 'raw_logprobs'],
      ...['--reasoning-parser', 'qwen3', '--enable-auto-tool-choice', '--tool-call-parser', 'qwen3_xml'],
      ...more.args,
    ],
    {
      env: {
        ...process.env,
        PYTHONPATH,
        ...{ VLLM_TARGET_DEVICE: 'cpu', VLLM_CPU_KVCACHE_SPACE: '1', VLLM_CPU_OMP_THREADS_BIND: 'nobind' },
        ...{ OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', VLLM_NO_USAGE_STATS: '1' },
        ...more.env,
      },
      stdio: ['ignore', out, out],
      // vLLM is three processes: they end as a group.
      detached: true,
    },
  );
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid)
      process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  const origin = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + READY_MS;
  while (!(await answers(`${origin}/health`))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`vLLM did not start:\n${readFileSync(log, 'utf8').slice(-3_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  return { url: `${origin}/v1`, model, folder, stop };
}

async function answers(url: string): Promise<boolean> {
  try {
    // Not kept open: vLLM closes an idle connection at the moment that a test may send on it.
    const headers = { connection: 'close' };
    return (await fetch(url, { headers, signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false; // not listening yet
  }
}

async function program(python: string, args: readonly string[]): Promise<void> {
  const child = spawn(python, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PYTHONPATH },
  });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said += data;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said.slice(-2_000)}`);
}

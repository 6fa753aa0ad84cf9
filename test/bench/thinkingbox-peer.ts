/**
 * The peer: `tb infer` of a checkout on the same cases, with an instant model that plays golden calls and a judge that
 * agrees. What is measured is the CPU time of its session proxy, its tool servers, its checks and itself.
 *
 *   tb mcp-start --servers DATA/servers/servers.yaml --port P
 *   tb infer -c config.yaml -i cases.jsonl -r REPEAT -b 2 -o rows.jsonl
 *
 * `cases.jsonl` holds the hydrated cases without search documents (peer/cases_without_search.py), as ours run without.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { ROOT } from '../../infra/setup/root.mjs';
import { freePort } from '../../infra/stack/free-port.js';
import type { ScriptedCall } from '../../suites/thinkingbox/protocol.js';
import { pythonEnvironment } from '../../suites/thinkingbox/python.js';
import { readProcesses, treeSeconds } from './process-times.js';

const run = promisify(execFile);

/** What the peer's command line needs beside the packages of its servers. */
const PACKAGES = [
  'azure-identity==1.27.0',
  'click==8.5.1',
  'numpy==2.4.6',
  'prompt_toolkit==3.0.53',
  'requests==2.34.2',
  'rich==15.0.0',
  'scipy==1.17.1',
];
const PEER = join(ROOT, 'test', 'bench', 'peer');
/** Simultaneous episodes: one for each core. */
const BATCH = 2;
const READY_MS = 60_000;

export interface PeerOptions {
  readonly python: string;
  readonly thinkingboxDir: string;
  readonly dataDir: string;
  /** Folder where the packages stay. */
  readonly packages: string;
  readonly cases: readonly {
    readonly id: string;
    readonly opening: string;
    readonly calls: readonly ScriptedCall[];
  }[];
  readonly repeat: number;
  readonly say: (line: string) => void;
}

export interface PeerReport {
  readonly episodes: number;
  readonly passed: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

/** Throws when the peer does not start, or leaves rows out. */
export async function measurePeer(options: PeerOptions): Promise<PeerReport> {
  const { python, thinkingboxDir, dataDir, packages, cases, repeat, say } = options;
  if (!existsSync(packages)) {
    say('installing what the command line of ThinkingBox needs');
    await run(python, ['-m', 'pip', 'install', '--quiet', '--target', packages, ...PACKAGES]);
  }
  const folder = await mkdtemp(join(tmpdir(), 'steadfast-bench-peer-'));
  const port = await freePort();
  const common = pythonEnvironment(python, { thinkingboxDir, dataDir });
  const env = {
    ...common,
    HOME: folder,
    PYTHONPATH: [PEER, common.PYTHONPATH, packages].join(':'),
  };
  const model = { type: 'custom', factory: 'golden_model.Agreeing' };
  const config = {
    mcp_proxy: { endpoint_url: `http://127.0.0.1:${port}`, timeout: 300 },
    orchestrator: {
      type: 'thinkingbox',
      agent_model: { type: 'custom', factory: 'golden_model.Golden', script: join(folder, 'script.json') },
    },
    judge_model: model,
    user_model: model,
  };
  const script = Object.fromEntries(cases.map(({ opening, calls }) => [opening, calls]));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'script.json'), JSON.stringify(script));
  await writeFile(join(folder, 'config.yaml'), stringify(config));
  const hydrated = join(folder, 'cases.jsonl');
  const prepare = join(PEER, 'cases_without_search.py');
  await run(python, [prepare, join(dataDir, 'dataset'), hydrated, ...cases.map(({ id }) => id)], { env });
  const tb = (...args: string[]): ChildProcess =>
    spawn(python, ['-m', 'thinkingbox.cli.main', ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  const servers = join(dataDir, 'servers', 'servers.yaml');
  const proxy = tb('mcp-start', '--servers', servers, '--port', String(port), '--host', '127.0.0.1');
  try {
    await ready(port, proxy);
    const before = cpuOf(proxy);
    const started = performance.now();
    const output = join(folder, 'rows.jsonl');
    const infer = tb(
      ...['infer', '-c', 'config.yaml', '-i', hydrated],
      ...['-r', String(repeat), '-b', String(BATCH), '-o', output],
    );
    let inferSeconds = 0;
    const look = setInterval(() => {
      inferSeconds = Math.max(inferSeconds, cpuOf(infer));
    }, 500);
    const words = lastWords(infer);
    const code = await new Promise<number | null>((resolve) => infer.once('close', resolve));
    clearInterval(look);
    if (code !== 0) throw new Error(`tb infer: exit ${code}: ${words()}`);
    const rows = (await readFile(output, 'utf8')).trim().split('\n');
    const passed = rows.filter((row) => {
      const { test_result: result } = JSON.parse(row) as { test_result: { result: boolean } | null };
      return result?.result === true;
    });
    return {
      episodes: rows.length,
      passed: passed.length,
      cpuSeconds: inferSeconds + cpuOf(proxy) - before,
      wallSeconds: (performance.now() - started) / 1_000,
    };
  } finally {
    proxy.kill('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
}

function cpuOf({ pid = 0 }: ChildProcess): number {
  return treeSeconds(pid, readProcesses());
}

function lastWords(child: ChildProcess): () => string {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2_000);
  });
  return () => words.trim();
}

async function ready(port: number, proxy: ChildProcess): Promise<void> {
  const words = lastWords(proxy);
  const until = Date.now() + READY_MS;
  while (Date.now() < until && proxy.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(250);
  }
  throw new Error(`the session proxy of ThinkingBox is not ready: ${words()}`);
}

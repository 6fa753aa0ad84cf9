/**
 * `batch`: a batch of the reference run's size and lengths through ledger, artifacts and a trainer's reader.
 *
 * 144 episodes of 26,624 prompt and 106,496 sampled tokens, about 2.9 MB each as JSON. Three processes, each with its
 * peak of memory: what a sandbox worker does at the end of each episode, the pipeline worker's `buildBatch` with what the
 * GPU worker sends, and the reader that every trainer of ours has (`steadfast_protocol.batch`), which checks digests and
 * contents. What the step stores is all that the artifact folder and the database have grown by; the conversations as
 * text, which no trainer reads, are counted apart.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createPool } from '../../activities/ledger/pool.js';
import { UsageError } from '../../core/faults.js';
import { migrate } from '../../infra/migrate.js';
import { venvPython } from '../../infra/setup/python.mjs';
import { homeFolder, ROOT } from '../../infra/setup/root.mjs';
import { freePort } from '../../infra/stack/free-port.js';
import { startPostgres } from '../../infra/stack/postgres.js';
import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';

const [EPISODES, PROMPT, RESPONSE] = [144, 26_624, 106_496];
const BAR_MB = 160;
const BAR_MEMORY_MB = 1_000;

interface Side {
  readonly peakMb: number;
}

interface Read extends Side {
  readonly episodes: number;
  readonly sampled: number;
  readonly cpuSeconds: number;
}

interface Sent {
  readonly batchPath: string;
  readonly recordPaths: Readonly<Record<string, string>>;
  readonly digest: string;
}

const READER = `
import json, resource, sys, time
from steadfast_protocol.batch import read_batch
started = time.process_time()
sent = json.load(sys.stdin)
episodes = read_batch(sent["batchPath"], sent["digest"], 248_320, 262_144, sent["recordPaths"])
print(json.dumps({
    "episodes": len(episodes),
    "sampled": sum(int(episode.sampled.sum()) for episode in episodes),
    "peakMb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
    "cpuSeconds": round(time.process_time() - started, 2),
}))
`;

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const python = venvPython(ROOT, homeFolder());
  if (!python)
    throw new UsageError('benchmark', "the trainer's Python packages", 'none', 'Run: npm run setup');
  const count = quick ? 16 : EPISODES;
  const folder = await mkdtemp(path.join(tmpdir(), 'steadfast-batch-'));
  const artifacts = path.join(folder, 'artifacts');
  const database = await startPostgres({
    ...{ dataDir: path.join(folder, 'pg'), port: await freePort(), logFile: path.join(folder, 'pg.log') },
    durable: false,
  });
  try {
    await migrate(database.url);
    const empty = await databaseBytes(database.url);
    const script = 'test/bench/batch-worker.js';
    const common = [database.url, artifacts];
    const sizes = [count, PROMPT, RESPONSE].map(String);
    const wrote = await jsonOf<Side & { records: number; documents: number; json: number }>(
      script,
      ['episodes', ...common, ...sizes],
      { say },
    );
    const built = await jsonOf<Side & Sent>(script, ['batch', ...common], { say });
    const read = await readBatch(python.file, built);
    if (read.episodes !== count || read.sampled !== count * RESPONSE) {
      throw new Error(`the trainer read ${read.episodes} episodes with ${read.sampled} sampled tokens`);
    }
    const rows = (await databaseBytes(database.url)) - empty;
    const files = await bytesBelow(artifacts);
    const storedMb = rounded((files - wrote.documents + rows) / 1e6, 1);
    const peakMb = Math.max(wrote.peakMb, built.peakMb, read.peakMb);
    const details = {
      episodes: count,
      tokens: { prompt: PROMPT, response: RESPONSE },
      jsonMbPerEpisode: rounded(wrote.json / 1e6, 2),
      megabytes: {
        tokenRecords: rounded(wrote.records / 1e6, 1),
        batch: rounded((await stat(built.batchPath)).size / 1e6, 3),
        rows: rounded(rows / 1e6, 2),
        conversationsAsText: rounded(wrote.documents / 1e6, 1),
      },
      peakMb: { sandboxWorker: wrote.peakMb, pipelineWorker: built.peakMb, trainerReader: read.peakMb },
      readerCpuSeconds: read.cpuSeconds,
    };
    return [
      {
        figure: 'what a step of the reference run stores to be trained on: token records, batch and rows',
        bar: `< ${BAR_MB} MB`,
        target: null,
        measured: storedMb,
        unit: 'MB',
        holds: storedMb < BAR_MB,
        details,
      },
      {
        figure: 'memory of the largest worker while it goes through',
        bar: `< ${BAR_MEMORY_MB} MB`,
        target: null,
        measured: peakMb,
        unit: 'MB',
        holds: peakMb < BAR_MEMORY_MB,
        details,
      },
    ];
  } finally {
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function readBatch(python: string, sent: Sent): Promise<Read> {
  const reader = promisify(execFile)(python, ['-c', READER], {
    env: { ...process.env, PYTHONPATH: path.join(ROOT, 'native', 'trainer') },
  });
  reader.child.stdin?.end(JSON.stringify(sent));
  return JSON.parse((await reader).stdout) as Read;
}

async function databaseBytes(url: string): Promise<number> {
  const pool = createPool(url, { max: 1 });
  try {
    const { rows } = await pool.query<{ bytes: string }>(
      'SELECT pg_database_size(current_database()) AS bytes',
    );
    return Number(rows[0]!.bytes);
  } finally {
    await pool.end();
  }
}

async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return sum;
}

export const batchBench: Bench = {
  name: 'batch',
  about: '144 episodes of 133,120 tokens through ledger, artifacts and a reader, about half a minute',
  run,
};

/**
 * `batch`: a batch of the reference run's size and lengths through ledger, artifacts and a trainer's reader.
 *
 * 144 episodes of 26,624 prompt and 106,496 sampled tokens, about 2.9 MB each as JSON. Three processes, each with its
 * peak of memory: what a sandbox worker does at the end of each episode, the pipeline worker's `buildBatch`, and the
 * reader that every trainer of ours has (`steadfast_protocol.batch`), which checks digest and contents.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
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

const READER = `
import json, resource, sys, time
from steadfast_protocol.batch import read_batch
started = time.process_time()
episodes = read_batch(sys.argv[1], sys.argv[2], 248_320, 262_144)
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
    const script = 'test/bench/batch-worker.js';
    const common = [database.url, artifacts];
    const sizes = [count, PROMPT, RESPONSE].map(String);
    const wrote = await jsonOf<Side & { records: number; documents: number; json: number }>(
      script,
      ['episodes', ...common, ...sizes],
      { say },
    );
    const built = await jsonOf<Side & { path: string; digest: string; episodes: number }>(
      script,
      ['batch', ...common],
      { say },
    );
    const { stdout } = await promisify(execFile)(python.file, ['-c', READER, built.path, built.digest], {
      env: { ...process.env, PYTHONPATH: path.join(ROOT, 'native', 'trainer') },
    });
    const read = JSON.parse(stdout) as Side & { episodes: number; sampled: number; cpuSeconds: number };
    if (read.episodes !== count || read.sampled !== count * RESPONSE) {
      throw new Error(`the trainer read ${read.episodes} episodes with ${read.sampled} sampled tokens`);
    }
    const batchMb = rounded((await stat(built.path)).size / 1e6, 1);
    const peakMb = Math.max(wrote.peakMb, built.peakMb, read.peakMb);
    const details = {
      episodes: count,
      tokens: { prompt: PROMPT, response: RESPONSE },
      jsonMbPerEpisode: rounded(wrote.json / 1e6, 2),
      tokenRecordsMb: rounded(wrote.records / 1e6, 1),
      peakMb: { sandboxWorker: wrote.peakMb, pipelineWorker: built.peakMb, trainerReader: read.peakMb },
      readerCpuSeconds: read.cpuSeconds,
    };
    return [
      {
        figure: 'a batch of the reference run, as the trainer gets it',
        bar: `< ${BAR_MB} MB`,
        target: null,
        measured: batchMb,
        unit: 'MB',
        holds: batchMb < BAR_MB,
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

export const batchBench: Bench = {
  name: 'batch',
  about: '144 episodes of 133,120 tokens through ledger, artifacts and a reader, about half a minute',
  run,
};

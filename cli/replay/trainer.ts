/** The trainer of a replay: a private process, or an idle one that a person names. Never one that a run samples from. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { UsageError } from '../../core/faults.js';
import type { Trainer } from '../../core/trainer.js';
import type { StackContext } from '../context.js';

export interface ReplayTrainer {
  readonly trainer: Trainer;
  readonly signal: AbortSignal;
  /** A folder that is removed afterwards. */
  readonly scratch: string;
}

/** Runs `work` with the trainer; a private one is ended on every path. Throws `UsageError` for a trainer in use. */
export async function withReplayTrainer<T>(
  { info }: StackContext,
  named: string | undefined,
  work: (replay: ReplayTrainer) => Promise<T>,
): Promise<T> {
  const { signal } = new AbortController();
  const scratch = mkdtempSync(join(tmpdir(), 'steadfast-replay-'));
  try {
    if (named !== undefined)
      return await work({ trainer: await idleTrainer(named, signal), signal, scratch });
    const { startPrivateTrainer } = await import('../../infra/stack/private-trainer.js');
    const { url, stop } = await startPrivateTrainer(info.home);
    try {
      return await work({ trainer: createTrainerClient({ url }), signal, scratch });
    } finally {
      await stop();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function idleTrainer(url: string, signal: AbortSignal): Promise<Trainer> {
  const trainer = createTrainerClient({ url });
  const { run } = await trainer.state(signal);
  if (run === undefined) return trainer;
  throw new UsageError('--trainer', 'a trainer without an open session', `one with a session of ${run}`);
}

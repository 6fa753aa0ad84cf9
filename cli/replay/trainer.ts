/** The trainer of a replay: a private process, or an idle one that a person names. Never one that a run samples from. */
import { createTrainerClient } from '../../activities/trainer/client.js';
import { UsageError } from '../../core/faults.js';
import type { Trainer } from '../../core/trainer.js';
import type { StackContext } from '../context.js';

/** Runs `work` with the trainer; a private one is ended on every path. Throws `UsageError` for a trainer in use. */
export async function withReplayTrainer<T>(
  { info }: StackContext,
  named: string | undefined,
  work: (trainer: Trainer, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = new AbortController();
  if (named !== undefined) {
    const trainer = createTrainerClient({ url: named });
    const { run } = await trainer.state(signal);
    if (run === undefined) return work(trainer, signal);
    throw new UsageError('--trainer', 'a trainer without an open session', `one with a session of ${run}`);
  }
  const { startPrivateTrainer } = await import('../../infra/stack/private-trainer.js');
  const { url, stop } = await startPrivateTrainer(info.home);
  try {
    return await work(createTrainerClient({ url }), signal);
  } finally {
    await stop();
  }
}

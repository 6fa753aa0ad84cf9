/**
 * Sending an update, or attaching to it. The operation's id is the same for every worker that runs the step, so one
 * that takes over from a dead one asks for the status first: an update that runs is waited for, however long, and one
 * that is done is not sent again.
 */
import type { Trainer, UpdateReport } from '../../core/trainer.js';

const POLL_MS = 250;
const SLOWEST_POLL_MS = 5_000;

/** Throws what the trainer refuses with; `unreachable` when it stops answering: call again, nothing is lost. */
export async function sendOrAttach(
  trainer: Pick<Trainer, 'status' | 'update'>,
  request: Parameters<Trainer['update']>[0],
  signal: AbortSignal,
): Promise<UpdateReport> {
  for (let wait = POLL_MS; ; wait = Math.min(2 * wait, SLOWEST_POLL_MS)) {
    const status = await trainer.status(request.run, request.op, signal);
    if (status.state === 'done' && isOf(status.report, request)) return status.report;
    // Unknown, failed, or done with something else: the trainer itself says what it makes of this request.
    if (status.state !== 'running') return trainer.update(request, signal);
    await pause(wait, signal);
  }
}

function isOf(
  report: UpdateReport,
  { baseDigest, batchDigest }: { readonly baseDigest: string; readonly batchDigest: string },
): boolean {
  return report.baseDigest === baseDigest && report.batchDigest === batchDigest;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

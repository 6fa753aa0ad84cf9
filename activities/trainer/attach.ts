/**
 * Sending an update, or attaching to it. The operation's id is the same for every worker that runs the step, so one
 * that takes over from a dead one asks for the status first: an update that runs is waited for, however long, and one
 * that is done is not sent again.
 */
import { Fault } from '../../core/faults.js';
import type { Trainer, UpdateReport } from '../../core/trainer.js';

const POLL_MS = 250;
const SLOWEST_POLL_MS = 5_000;

type Request = Parameters<Trainer['update']>[0];

/** Throws what the trainer refuses with; `unreachable` when it stops answering: call again, nothing is lost. */
export async function sendOrAttach(
  trainer: Pick<Trainer, 'status' | 'update'>,
  request: Request,
  signal: AbortSignal,
): Promise<UpdateReport> {
  return (await reportOf(trainer, request, signal)) ?? send(trainer, request, signal);
}

/**
 * Sends an update, and waits for it where only the reply is lost: HTTP clients and proxies give up on one that takes
 * minutes, the trainer does not. Throws as `sendOrAttach`.
 */
export async function send(
  trainer: Pick<Trainer, 'status' | 'update'>,
  request: Request,
  signal: AbortSignal,
): Promise<UpdateReport> {
  try {
    return await trainer.update(request, signal);
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const report = await reportOf(trainer, request, signal);
    if (report) return report;
    throw error;
  }
}

/** The trainer did not answer, which says nothing of what it did. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Fault && error.kind === 'trainer' && error.code === 'unreachable';
}

/**
 * The report of the update once it runs no more. Undefined when it is unknown, failed, or done with something else: the
 * trainer itself says what it makes of the request.
 */
async function reportOf(
  trainer: Pick<Trainer, 'status'>,
  request: Request,
  signal: AbortSignal,
): Promise<UpdateReport | undefined> {
  for (let wait = POLL_MS; ; wait = Math.min(2 * wait, SLOWEST_POLL_MS)) {
    const status = await trainer.status(request.run, request.op, signal);
    if (status.state === 'done') return isOf(status.report, request) ? status.report : undefined;
    if (status.state !== 'running') return undefined;
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

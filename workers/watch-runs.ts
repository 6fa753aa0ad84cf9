/** What no activity can count: training runs in which nothing happens any more. The pipeline worker asks the ledger. */
import type pg from 'pg';
import { idleRunSeconds } from '../activities/ledger/idle-runs.js';
import { tell } from './log.js';
import { idleRun } from './metrics.js';

const EVERY_MS = 60_000;

/** Call it where somebody reads metrics, just before `runWorker`. */
export function watchRuns(pool: pg.Pool): void {
  const look = () =>
    idleRunSeconds(pool).then(idleRun, (error: unknown) => tell(`idle runs are not known: ${String(error)}`));
  void look();
  setInterval(() => void look(), EVERY_MS).unref();
}

/**
 * A worker's log: standard error, which the local stack keeps in a file. A log that cannot be written, as on a full
 * disk, is no reason to end: the worker's activities say the same to Temporal, and go on when there is room.
 */
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { DefaultLogger, type LogLevel } from '@temporalio/worker';
import { hideSecrets } from '../core/secrets.js';

const STANDARD_ERROR = 2;

/** Errors of the streams themselves would end the process. Call it first thing. */
export function outliveLog(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!unwritable(error)) throw error;
    });
  }
}

/** For Temporal's runtime. Writes to the descriptor itself: a stream that has failed once stays closed. */
export function workerLogger(level: LogLevel): DefaultLogger {
  return new DefaultLogger(level, ({ level: of, message, meta }) => {
    const details = meta ? ` ${inspect(meta)}` : '';
    tell(`${new Date().toISOString()} [${of}] ${message}${details}`);
  });
}

/** One line, or several that belong together, without the secrets that this process has used. */
export function tell(line: string): void {
  try {
    writeSync(STANDARD_ERROR, `${hideSecrets(line)}\n`);
  } catch (error) {
    if (!unwritable(error as NodeJS.ErrnoException)) throw error;
  }
}

/** Full, over quota, or nobody reads it any more. A pipe that is full for a moment loses the line. */
function unwritable({ code = '' }: NodeJS.ErrnoException): boolean {
  return ['ENOSPC', 'EDQUOT', 'EPIPE', 'EAGAIN'].includes(code);
}

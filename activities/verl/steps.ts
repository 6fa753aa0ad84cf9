/** Verl's metrics of a start, line by line into the run's steps. Read again from the beginning, they change nothing. */
import { open } from 'node:fs/promises';
import { verlStep } from '../../core/verl/metrics-line.js';
import { writeMetricsFile } from '../report/metrics-jsonl.js';
import type { VerlRunRow } from './checkpoints.js';
import type { JobDeps } from './deps.js';

const LINE_FEED = 10;

export class RunSteps {
  #offset = 0;
  /** Last step that was seen; null: none yet. */
  step: number | null = null;
  /** Steps in a row without finite loss or gradient, up to the last, and the first of them. */
  notFinite: { readonly steps: number; readonly from: number } = { steps: 0, from: 0 };

  constructor(
    private readonly deps: Pick<JobDeps, 'ledger' | 'reports'>,
    private readonly run: VerlRunRow,
    private readonly file: string,
  ) {}

  /** Records what is new; returns how many steps that were. Half a line is read when it is whole. */
  async read(): Promise<number> {
    const bytes = await this.#newBytes();
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) return 0;
    this.#offset += end;
    let steps = 0;
    for (const line of bytes.subarray(0, end).toString('utf8').split('\n')) {
      if (await this.#record(line)) steps += 1;
    }
    if (steps > 0) await writeMetricsFile(this.deps.ledger, this.run.id, this.deps.reports);
    return steps;
  }

  async #record(line: string): Promise<boolean> {
    const found = verlStep(line);
    if (!found) return false;
    const { step, metrics, notFinite } = found;
    const bad = notFinite.length > 0;
    const { steps, from } = this.notFinite;
    this.notFinite = bad ? { steps: steps + 1, from: steps === 0 ? step : from } : { steps: 0, from: 0 };
    this.step = step;
    // Its groups and episodes are Verl's own.
    await this.deps.ledger.putStep({
      ...{ run: this.run.id, step, state: 'done', cursor: 0, started: 0 },
      ...{ baseDigest: null, weightDigest: null, batchDigest: null, op: null },
      metrics,
      cause: bad ? `not finite: ${notFinite.join(', ')}` : null,
    });
    return true;
  }

  async #newBytes(): Promise<Buffer> {
    try {
      const file = await open(this.file, 'r');
      try {
        const { size } = await file.stat();
        const bytes = Buffer.alloc(Math.max(0, size - this.#offset));
        await file.read(bytes, 0, bytes.length, this.#offset);
        return bytes;
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
      throw error;
    }
  }
}

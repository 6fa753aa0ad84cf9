/**
 * Benchmark tasks among the rows of a selection. Known by id, whatever the rows come from: the built-in benchmark, and
 * the 507 of ThinkingBox. With the suite of the rows also what is made of a benchmark's template under another id.
 */
import { benchmarkExclusions } from '../activities/campaign/pool.js';
import { UsageError } from '../core/faults.js';
import type { Suite } from '../core/suite.js';
import { benchmarkDigests, isBenchmarkId } from '../suites/thinkingbox/benchmark.js';
import { withSuite } from './run/suite.js';

export interface FoundBenchmark {
  /** Sorted. */
  readonly ids: readonly string[];
  /** Why only ids were compared, where the suite of a campaign could not be opened. */
  readonly warnings: readonly string[];
}

/**
 * `suite`: that of the rows, where it is known; `required`: a person named it, so one that cannot be opened is an error
 * (`UsageError`) and no warning.
 */
export async function benchmarkAmong(
  uids: Iterable<string>,
  { suite, required }: { readonly suite: string | undefined; readonly required: boolean },
): Promise<FoundBenchmark> {
  const present = [...uids];
  const [known, builtIn] = await Promise.all([benchmarkDigests(), withSuite(undefined, exclusionsOf)]);
  const found = new Set(present.filter((uid) => builtIn.has(uid) || isBenchmarkId(uid, known)));
  const warnings: string[] = [];
  if (suite !== undefined) {
    try {
      const excluded = await withSuite(suite, exclusionsOf);
      for (const uid of present) if (excluded.has(uid)) found.add(uid);
    } catch (error) {
      if (required || !(error instanceof UsageError)) throw error;
      warnings.push(
        `suite ${suite} cannot be opened here, so benchmark tasks were looked for by id alone: ${error.message}`,
      );
    }
  }
  return { ids: [...found].sort(), warnings };
}

async function exclusionsOf(suite: Suite): Promise<ReadonlySet<string>> {
  return benchmarkExclusions(await suite.tasks());
}

const SHOWN = 5;

export function benchmarkWarning(ids: readonly string[], kept: boolean): string {
  const named = `${ids.slice(0, SHOWN).join(', ')}${ids.length > SHOWN ? ', …' : ''}`;
  const tasks = ids.length === 1 ? '1 benchmark task' : `${ids.length} benchmark tasks`;
  return kept
    ? `${tasks} may be selected, as asked: ${named}; probe and train refuse a list with one`
    : `${tasks} left out: ${named}`;
}

/**
 * The message about a night that regressed, sent to the address that an environment variable of this process holds.
 * The address may hold a secret: it is in no error, no log and no payload; what went wrong is told by status and code.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { NightComparison, NightRow, ScheduleRow } from '../../core/nightly/schedule.js';

/** What is posted, as JSON. Format 1; members may be added. */
export interface RegressionMessage {
  readonly format: 1;
  readonly event: 'regression';
  readonly schedule: string;
  /** The time for which the night was due. */
  readonly at: string;
  readonly evaluation: string;
  readonly model: string | null;
  readonly score: NightRow['record']['score'] | null;
  /** One entry for every measure that fell beyond its interval. */
  readonly regressions: readonly {
    readonly against: 'previous night' | 'baseline';
    readonly evaluation: string;
    readonly measure: string;
    /** Tonight minus the other, with its 95 % interval. */
    readonly difference: number;
    readonly low: number | null;
    readonly high: number | null;
    readonly sameSuite: boolean;
  }[];
  readonly changes: readonly string[];
  /** Why the night's result is not comparable with published ones; empty: it is. */
  readonly notComparable: readonly string[];
  readonly lostTasks: readonly string[];
  /** One line for people. */
  readonly text: string;
}

export function regressionMessage({ name }: ScheduleRow, night: NightRow): RegressionMessage {
  const { record } = night;
  const found = [
    ...entries('previous night', record.previous),
    ...entries('baseline', record.baseline),
  ] as const;
  const words = found.map(
    ({ against, measure, difference }) => `${measure} ${points(difference)} against the ${against}`,
  );
  const lost = [...(record.previous?.lostTasks ?? []), ...(record.baseline?.lostTasks ?? [])];
  return {
    format: 1,
    event: 'regression',
    schedule: name,
    at: night.at,
    evaluation: night.evaluation,
    model: record.model ?? null,
    score: record.score ?? null,
    regressions: found,
    changes: record.changes ?? [],
    notComparable: record.notComparable ?? [],
    lostTasks: [...new Set(lost)],
    text: `${name}, night of ${night.at}: ${words.join('; ')} (${night.evaluation})${record.notComparable?.length ? '; not comparable with published results' : ''}`,
  };
}

function entries(
  against: 'previous night' | 'baseline',
  comparison: NightComparison | null | undefined,
): RegressionMessage['regressions'] {
  if (!comparison) return [];
  return comparison.regressed.map((measure) => {
    const { value, low, high } = measure === 'pass@1' ? comparison.passAt1 : comparison.observedK!;
    const { evaluation, sameSuite } = comparison;
    return { against, evaluation, measure, difference: value, low, high, sameSuite };
  });
}

function points(difference: number): string {
  return `${difference < 0 ? '−' : '+'}${Math.abs(100 * difference).toFixed(1)} points`;
}

/** Refusals that another try may change, beside those of a server in trouble. */
const PASSING = new Set([408, 425, 429]);

/**
 * Posts it; returns the status. Throws an `ApplicationFailure` where it was not taken: to be tried again unless the
 * answer says that this cannot help. Redirects are not followed: the message would go where nobody sent it.
 */
export async function post(
  address: string | undefined,
  variable: string,
  message: RegressionMessage,
  signal: AbortSignal,
): Promise<number> {
  if (!address) throw untold(`environment variable ${variable} is not set for this worker`, false);
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
    throw untold(`environment variable ${variable} holds no http(s) address`, false);
  }
  let response: Response;
  try {
    response = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': `${message.schedule}/${message.at}`,
      },
      body: JSON.stringify(message),
      signal,
    });
  } catch (error) {
    // Messages of the network name host and path: its code says enough.
    throw untold(`the address of ${variable} cannot be reached (${codeOf(error)})`, true);
  }
  await response.body?.cancel();
  if (response.ok) return response.status;
  const { status } = response;
  throw untold(`the address of ${variable} answered ${status}`, status >= 500 || PASSING.has(status));
}

function untold(message: string, retry: boolean): ApplicationFailure {
  return ApplicationFailure.create({ message, type: 'webhook', nonRetryable: !retry });
}

function codeOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : (name ?? 'no answer');
}

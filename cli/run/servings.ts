/** Weights that a campaign waits for: their server is coming up, was started again, or has no host. */
import type { ServingRow, Servings } from '../../core/serving/servings.js';

/** One line a serving that any of these campaigns needs and cannot sample from now. */
export async function servingTexts(
  servings: Pick<Servings, 'servings'>,
  ids: readonly string[],
): Promise<readonly string[]> {
  const rows = await servings.servings();
  return rows
    .filter(({ state, holders }) => state !== 'ready' && holders.some((holder) => ids.includes(holder)))
    .map(servingText);
}

function servingText({ name, state, host, log, problem }: ServingRow): string {
  const where = host === null ? 'on no host yet' : `on ${host}${log === null ? '' : `, log ${log}`}`;
  const why = problem === null ? '' : `: ${problem.split('\n')[0]}`;
  return `waiting for the server of ${name}: ${state} ${where}${why}`;
}

/** How many episodes a campaign may have in flight. Only its workflow knows: a person may have changed it. */
import type { StackContext } from '../context.js';
import type { CampaignSnapshot } from './snapshot.js';

/** By campaign: those under way whose workflow has answered. */
export type Lanes = ReadonlyMap<string, number>;

const ASK_MS = 3_000;

export async function lanesOf(
  context: StackContext,
  campaigns: readonly Pick<CampaignSnapshot, 'id' | 'state'>[],
): Promise<Lanes> {
  const open = campaigns.filter(({ state }) => state === 'running' || state === 'paused');
  const asked = await Promise.all(open.map(async ({ id }) => [id, await lanesNow(context, id)] as const));
  return new Map(asked.flatMap(([id, lanes]) => (lanes === undefined ? [] : [[id, lanes] as const])));
}

async function lanesNow(context: StackContext, id: string): Promise<number | undefined> {
  try {
    const client = await context.temporal();
    const { lanes } = await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflow.getHandle(id).query<{ readonly lanes?: number }>('control-state'),
    );
    return lanes;
  } catch {
    // Closed this moment, no worker, or no Temporal, which `troubles` tells of: one figure less is shown.
    return undefined;
  }
}

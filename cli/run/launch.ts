/**
 * Starting a campaign, or going on with it. The ledger is asked first: a name with another configuration is refused
 * with every changed path; a finished one is shown; anything else attaches to its workflow, or starts it again.
 */
import type { Client } from '@temporalio/client';
import type { CampaignConfig, TrainConfig } from '../../core/campaign.js';
import { asBefore, campaignClaim } from '../../core/claim.js';
import type { CampaignKind } from '../../core/keys.js';
import type { CampaignRow } from '../../core/ledger.js';
import { type Place, type Priority, placeOf } from '../../core/sharing.js';
import { startableId } from '../../core/stage-configs.js';
import { LANES, QUEUES } from '../../temporal.config.js';
import type { ControlState } from '../../workflows/control.js';
import type { StackContext } from '../context.js';
import { isStarted } from '../temporal-errors.js';
import { requirePool } from './pool.js';
import { requireTrainerSupport } from './trainer-support.js';

/** Workflow types by kind of campaign (workflows/index.ts). */
const WORKFLOWS: Readonly<Record<CampaignKind, string>> = {
  probe: 'probeCampaign',
  eval: 'evaluation',
  train: 'trainingRun',
  pipeline: 'pipeline',
};

export interface Launched {
  readonly id: string;
  /** `started`: new. `resumed`: known, its workflow was started again. `attached`: it runs. `finished`: nothing to do. */
  readonly how: 'started' | 'resumed' | 'attached' | 'finished';
  readonly row: CampaignRow;
}

export async function launch(
  context: StackContext,
  name: string,
  config: CampaignConfig,
  lanes: number,
  place: Place = {},
  found?: Readonly<Record<string, unknown>>,
): Promise<Launched> {
  const ledger = await context.ledger();
  const id = startableId(name, config);
  await requireTrainerSupport(config, context.info.trainerUrl);
  await requirePool(context, place.pool);
  const known = await ledger.campaign(id);
  const claim = campaignClaim(id, asBefore(config, known?.config), null);
  const { status, row } = await ledger.claimCampaign(claim);
  if (status === 'known' && row.state === 'done' && isComplete(row)) return { id, how: 'finished', row };
  // Before its workflow writes the record that it is part of.
  if (found && status === 'created') await ledger.noteOnCampaign(id, found);
  const ended = hasEnded(row);
  // Before it starts, so that nobody who watches takes the last end for this one's.
  if (ended) await ledger.noteOnCampaign(id, { cause: null }, 'running');
  const started = await startWorkflow(context, id, config.kind, lanes, { ended, place });
  // What an earlier start asked for is over; null is the usual.
  const over = Object.fromEntries(Object.keys(notedPlace(row)).map((key) => [key, null]));
  if (started) await ledger.noteOnCampaign(id, { lanes, ...over, ...placeOf(place) });
  return { id, how: started ? (status === 'created' ? 'started' : 'resumed') : 'attached', row };
}

/** Episodes in flight that a person last asked for: who starts a campaign again by another verb does not ask for more. */
export function notedLanes({ result }: Pick<CampaignRow, 'result'>): number {
  const { lanes } = (result ?? {}) as { readonly lanes?: number };
  return lanes ?? LANES;
}

/** Priority and pool that a person last asked for, for the same reason. */
export function notedPlace({ result }: Pick<CampaignRow, 'result'>): Place {
  const { priority, pool } = (result ?? {}) as {
    readonly priority?: Priority | null;
    readonly pool?: string | null;
  };
  return { ...(priority ? { priority } : {}), ...(pool ? { pool } : {}) };
}

interface StartOptions {
  readonly ended: boolean;
  readonly control?: ControlState;
  readonly place?: Place;
}

/**
 * False when a workflow of that id runs already. One that is about to close is waited for: with `ended` the ledger
 * says that the campaign has ended, else the workflow is asked whether it was told to stop now. `control`: how it
 * begins, e.g. paused.
 */
export async function startWorkflow(
  context: StackContext,
  id: string,
  kind: CampaignKind,
  lanes: number,
  { ended, control, place }: StartOptions,
): Promise<boolean> {
  const state = { ...(control ?? { paused: false, stop: 'no' }), ...place } as const;
  const asked = control !== undefined || Object.keys(placeOf(place ?? {})).length > 0;
  const client = await context.temporal();
  const { workflow } = client;
  const type = (await isJob(context, id)) ? 'jobRun' : WORKFLOWS[kind];
  for (;;) {
    try {
      await workflow.start(type, {
        workflowId: id,
        taskQueue: QUEUES.pipeline,
        args: [{ campaign: id, lanes, ...(asked ? { control: state } : {}) }],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      });
      return true;
    } catch (error) {
      if (!isStarted(error)) throw error;
      if (!ended && !(await isStopping(client, id))) return false;
    }
    // How it closes does not matter: what it leaves is in the ledger.
    await Promise.allSettled([workflow.getHandle(id).result()]);
  }
}

/** A run whose trainer samples, trains and saves by itself, as one job (docs/verl.md). */
async function isJob(context: StackContext, id: string): Promise<boolean> {
  const config = (await (await context.ledger()).campaign(id))?.config as Partial<TrainConfig> | undefined;
  return config?.trainer?.kind === 'verl';
}

const ASK_MS = 3_000;

async function isStopping(client: Client, id: string): Promise<boolean> {
  try {
    const { stop } = await client.withDeadline(Date.now() + ASK_MS, () =>
      client.workflow.getHandle(id).query<ControlState>('control-state'),
    );
    return stop === 'now';
  } catch {
    // No worker answers, or it has closed this moment: whatever it is, the run can be watched.
    return false;
  }
}

export function hasEnded({ state }: Pick<CampaignRow, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'stopped';
}

/** A finished probe or evaluation with exhausted attempts may be started again for those alone. */
function isComplete(row: CampaignRow): boolean {
  const result = row.result as { complete?: boolean } | null;
  return result?.complete !== false;
}

/** The ledger's side of servings, on the pipeline queue: who needs them, which host is next, and what became of them. */
import { Context } from '@temporalio/activity';
import type { ModelRef, TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { fingerprint } from '../../core/fingerprint.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';
import type { GpuHosts } from '../../core/serving/gpu-hosts.js';
import {
  ACTIVE,
  type GpuHost,
  type ServedWeights,
  type ServingRow,
  type ServingSpec,
  type Servings,
} from '../../core/serving/servings.js';
import type { VllmSettings } from '../../core/serving/settings.js';
import { SERVING } from '../../temporal.config.js';
import { failing } from '../campaign/activities.js';
import { Configurations } from '../campaign/deps.js';
import { asStopped } from '../failures.js';
import { sampledCheckpoint } from '../trainer/checkpoint-paths.js';
import { paused } from './paused.js';

export interface ServingControlDeps {
  readonly ledger: Ledger;
  readonly servings: Servings;
  readonly gpuHosts: Pick<GpuHosts, 'jobs'>;
}

export interface NextHosts {
  /** Nobody needs it: it is stopped. */
  readonly closed: boolean;
  /** In the order in which they are to be tried. */
  readonly hosts: readonly string[];
  /** The jobs of trainers that have some of them, in words: they take nothing before the job ends. Absent: none known. */
  readonly jobs?: Readonly<Record<string, string>>;
}

const LOOK_MS = 1_000;

export type ServingControl = ReturnType<typeof createServingControl>;

export function createServingControl({ ledger, servings, gpuHosts }: ServingControlDeps) {
  const configs = new Configurations(ledger);

  async function specOf(campaign: string): Promise<{ name: string; spec: ServingSpec }> {
    const { model } = await configs.ofKind(campaign, 'probe', 'eval');
    return servedModel(ledger, campaign, model);
  }

  return failing({
    /** A campaign needs its weights: from now on until `releaseServing`, or until the campaign has ended. */
    async needServing(campaign: string): Promise<{ readonly serving: string }> {
      const { name, spec } = await specOf(campaign);
      await servings.want(name, spec, campaign, new Date(Date.now() + SERVING.claimMs));
      return { serving: name };
    },

    /**
     * Waits until the campaign's weights are samplable, as their keeper says from now on: what it said before may be of
     * a server that has just died, on a host that is not missed yet. `idle`: nobody works on it, so its workflow is to be
     * started. Throws `Fault('trainer')` when the serving has failed.
     */
    async awaitServing(
      campaign: string,
    ): Promise<{ readonly weightVersion: string } | { readonly idle: true }> {
      const { cancellationSignal: signal } = Context.current();
      const { name, spec } = await specOf(campaign);
      const wanted = spec.weights.weightVersion;
      const before = (await servings.serving(name))?.changedAt;
      for (;;) {
        const row = await servings.serving(name);
        if (row?.state === 'failed') throw failed(row);
        const said = row?.changedAt !== before;
        if (said && row?.state === 'ready' && row.weightVersion === wanted) return { weightVersion: wanted };
        if (!row || row.state === 'stopped' || isIdle(row)) return { idle: true };
        await paused(LOOK_MS, signal).catch((error: unknown) => {
          throw signal.aborted ? asStopped(signal) : error;
        });
      }
    },

    async releaseServing(campaign: string): Promise<void> {
      await servings.giveBack(campaign);
    },

    /** What its workflow does next. */
    async nextHosts(name: string): Promise<NextHosts> {
      if (await servings.closeUnneeded(name)) return { closed: true, hosts: [] };
      const row = await servings.serving(name);
      if (!row || !ACTIVE.includes(row.state)) return { closed: true, hosts: [] };
      const busy = (await servings.servings()).filter(
        (other) => other.name !== name && ACTIVE.includes(other.state),
      );
      const serving = busy.flatMap(({ host }) => (host === null ? [] : [host]));
      const jobs = await gpuHosts.jobs();
      const taken = new Set([...serving, ...jobs.keys()]);
      const seen = recent(await servings.hosts());
      const allowed = row.spec.hosts.length === 0 ? seen : row.spec.hosts;
      // Where it was it may still run; a host that somebody else has is the last to be asked.
      const rank = (host: string): number => (host === row.host ? 0 : taken.has(host) ? 2 : 1);
      const hosts = allowed.toSorted((a, b) => rank(a) - rank(b));
      const theirs = hosts.flatMap((host) => (jobs.has(host) ? [[host, jobs.get(host)!] as const] : []));
      return { closed: false, hosts, ...(theirs.length > 0 && { jobs: Object.fromEntries(theirs) }) };
    },

    /** A host was given up, or was not heard of. */
    async passedOver(name: string, cause: string): Promise<void> {
      await servings.note(name, { state: 'unwell', endpoint: null, problem: cause });
    },

    async failServing(name: string, state: 'failed' | 'stopped', cause: string): Promise<void> {
      await servings.note(name, { state, endpoint: null, weightVersion: null, problem: cause });
    },
  });
}

/** Those that poll now; where none does, all that ever did: one of them may be coming back. */
function recent(hosts: readonly GpuHost[]): readonly string[] {
  const polling = hosts.filter(({ seenAt }) => Date.now() - new Date(seenAt).getTime() < SERVING.seenMs);
  return (polling.length === 0 ? hosts : polling).map(({ name }) => name);
}

/** Whoever is at work on it, workflow or keeper, notes something far more often. */
function isIdle({ state, changedAt }: ServingRow): boolean {
  const limit = state === 'wanted' ? SERVING.idleMs.wanted : SERVING.idleMs.other;
  return Date.now() - new Date(changedAt).getTime() > limit;
}

function failed({ name, problem }: ServingRow): Fault {
  return new Fault('trainer', `serving ${name} has failed: ${problem ?? 'no reason is recorded'}`, {
    code: 'serving_failed',
    retry: false,
  });
}

/** Campaigns that want the same weights under the same settings share a server. */
export function servingName(
  { run, step }: { readonly run: string; readonly step: number },
  settings: VllmSettings,
): string {
  const short = fingerprint(settings).slice(7, 13);
  return `${run.replace('train/', '')}-step-${String(step).padStart(4, '0')}-${short}`;
}

/** The name that the checkpoint of a campaign is served under; empty for a model of another kind. */
export async function servedVersion(ledger: Ledger, campaign: string, model: ModelRef): Promise<string> {
  if (model.kind !== 'served') return '';
  return (await sampledCheckpoint(ledger, campaign, model.checkpoint)).manifest.weightDigest;
}

/** Throws as `sampledCheckpoint` does, and `Fault('trainer')` for a model of another kind. */
async function servedModel(
  ledger: Ledger,
  campaign: string,
  model: ModelRef,
): Promise<{ name: string; spec: ServingSpec }> {
  if (model.kind !== 'served')
    throw new Fault('trainer', `${campaign}: no server of ours serves its model`, { retry: false });
  const row = await sampledCheckpoint(ledger, campaign, model.checkpoint);
  return {
    name: servingName(row, model.settings),
    spec: { weights: await checkpointWeights(ledger, row), settings: model.settings, hosts: [] },
  };
}

/** What a server is given of a recorded checkpoint. */
export async function checkpointWeights(
  ledger: Pick<Ledger, 'campaign'>,
  { run, path: folder, manifest }: CheckpointRow,
): Promise<ServedWeights> {
  const { trainer } = ((await ledger.campaign(run))?.config ?? {}) as Partial<TrainConfig>;
  const { weightDigest: weightVersion, files } = manifest;
  return { folder, weightVersion, files, ...(trainer?.kind === 'torch' ? { base: trainer.model } : {}) };
}

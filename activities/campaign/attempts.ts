/** Probe campaigns and evaluations: planning their shards, and closing them with what their rows say. */
import { campaignClaim } from '../../core/claim.js';
import { attemptKey } from '../../core/keys.js';
import type { CampaignState, PlannedAttempt } from '../../core/ledger.js';
import type { CampaignPlan, ShardPlan } from '../../core/orchestration.js';
import { seedOf } from '../../core/seed.js';
import { encodePositions } from '../../core/shards.js';
import { type CampaignDeps, type Configurations, taskRef, taskRefs } from './deps.js';
import { keepRecord } from './reproducibility.js';
import { screenedProbe } from './screen.js';
import { refuseChangedSuite } from './suite-guard.js';
import { summarise } from './summary.js';

export function createAttemptsActivities(deps: CampaignDeps, configs: Configurations) {
  const { ledger } = deps;

  return {
    /** Marks the campaign running, opens exhausted attempts again, and says what there is to do. */
    async openCampaign(id: string): Promise<CampaignPlan> {
      const config = await configs.ofKind(id, 'probe', 'eval');
      await refuseChangedSuite(deps, id);
      await ledger.reopenExhausted(id);
      await ledger.setCampaignState(id, 'running');
      await keepRecord(deps, id);
      return {
        id,
        state: 'running',
        taskCount: config.tasks.length,
        repeat: config.repeat,
        maxTries: config.maxTries,
        servedByTrainer: config.model.kind === 'trainer',
        samplesTokens: ['trainer', 'token', 'served'].includes(config.model.kind),
        ...(config.model.kind === 'served' ? { served: true } : {}),
        ...(config.screens ? { screens: true } : {}),
      };
    },

    /** Writes down the attempts [from, to) that are not there yet; returns which of them are not clean. */
    async planShard(id: string, from: number, to: number): Promise<ShardPlan> {
      const config = await configs.ofKind(id, 'probe', 'eval');
      const refs = await taskRefs(await deps.suite(config.suite));
      const planned: PlannedAttempt[] = [];
      for (let ordinal = from; ordinal < to; ordinal++) {
        const taskId = config.tasks[Math.floor(ordinal / config.repeat)]!;
        const slot = String(ordinal % config.repeat);
        const key = attemptKey(id, taskId, slot);
        const { domain, template } = taskRef(refs, taskId);
        planned.push({ key, taskId, slot, domain, template, seed: seedOf(config.seed, key) });
      }
      await ledger.planAttempts(id, planned);
      const rows = new Map((await ledger.attempts(id)).map((row) => [row.key, row]));
      const missing: number[] = [];
      let tries = 0;
      for (const [position, { key }] of planned.entries()) {
        const row = rows.get(key);
        if (row?.state === 'clean') continue;
        missing.push(position);
        tries = Math.max(tries, row?.tries ?? 0);
      }
      return {
        missing: encodePositions(missing, to - from),
        missingCount: missing.length,
        firstTry: tries + 1,
      };
    },

    /** Claims the probe that follows a reference screen; null when there is nothing that it could probe yet. */
    async claimScreened(reference: string): Promise<string | null> {
      const { id, config } = await screenedProbe(ledger, reference);
      if (config === null) return null;
      await ledger.claimCampaign(campaignClaim(id, config, null));
      return id;
    },

    /** Ends the campaign; with complete coverage its result holds the metrics, else what is missing. */
    async closeCampaign(id: string, state: CampaignState, cause: string | null): Promise<void> {
      const config = await configs.ofKind(id, 'probe', 'eval');
      const result = await summarise(ledger, id, config);
      await keepRecord(deps, id);
      // Noted, not replaced: the checkpoint that `latest` meant stays.
      await ledger.noteOnCampaign(id, { ...result, cause }, state);
    },
  };
}

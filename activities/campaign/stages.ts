/** The stages of a pipeline: claiming each one's campaign, choosing the pool, writing the report. */
import type { AttemptsConfig, CampaignConfig, PipelineConfig } from '../../core/campaign.js';
import { campaignClaim } from '../../core/claim.js';
import { UsageError } from '../../core/faults.js';
import type { CampaignRow, CampaignState } from '../../core/ledger.js';
import type { PipelineStage } from '../../core/orchestration.js';
import {
  type CampaignStage,
  stageCampaignId,
  stageConfig,
  validationConfig,
} from '../../core/stage-configs.js';
import { writeReportFiles } from '../report/files.js';
import { type CampaignDeps, type Configurations, campaignRow } from './deps.js';
import { choosePool, type PoolResult } from './pool.js';
import { hasEnded } from './training.js';

export function createStageActivities(deps: CampaignDeps, configs: Configurations) {
  const { ledger } = deps;

  async function claim(id: string, config: Exclude<CampaignConfig, { kind: 'pipeline' }>, parent: string) {
    await ledger.claimCampaign(campaignClaim(id, config, parent));
    return id;
  }

  async function lastStepOf(pipelineId: string, config: PipelineConfig): Promise<number> {
    const ended = (await ledger.steps(stageCampaignId(pipelineId, 'train'))).filter(hasEnded);
    return Math.min(config.train.steps, ended.length);
  }

  return {
    /** Keeps what the result holds already, and replaces its cause. */
    async setState(id: string, state: CampaignState, cause: string | null): Promise<void> {
      await ledger.noteOnCampaign(id, { cause }, state);
    },

    /** Claims the campaign of a stage; its configuration follows from the pipeline's and the pool's. */
    async claimStage(pipelineId: string, stage: PipelineStage): Promise<string> {
      const config = await configs.ofKind(pipelineId, 'pipeline');
      const of = stage as CampaignStage;
      const id = stageCampaignId(pipelineId, of);
      const selection =
        of === 'train' ? selectionOf(await campaignRow(ledger, pipelineId)) : { pool: [], heldOut: [] };
      const lastStep = of === 'evaluate-final' ? await lastStepOf(pipelineId, config) : 0;
      return claim(id, stageConfig(pipelineId, of, config, { ...selection, lastStep }), pipelineId);
    },

    /** Claims the evaluation of a run's held-out tasks after a step; `done` when it has been made already. */
    async claimValidation(
      run: string,
      step: number,
    ): Promise<{ readonly id: string; readonly done: boolean }> {
      const { id, config } = validationConfig(run, step, await configs.ofKind(run, 'train'));
      await claim(id, config satisfies AttemptsConfig, run);
      return { id, done: (await campaignRow(ledger, id)).state === 'done' };
    },

    /** Selects the training pool from the probe's rows. Throws `UsageError` for a pool smaller than one batch. */
    async selectPool(pipelineId: string): Promise<{ readonly pool: number }> {
      const config = await configs.ofKind(pipelineId, 'pipeline');
      const chosen = await choosePool(deps, stageCampaignId(pipelineId, 'probe'), config);
      await ledger.noteOnCampaign(pipelineId, { selection: chosen });
      return { pool: chosen.pool.length };
    },

    async writeReport(id: string): Promise<{ readonly path: string }> {
      const config = await configs.of(id);
      const prices = config.kind === 'pipeline' ? config.prices : null;
      return { path: (await writeReportFiles({ ...deps, prices }, id)).files.html };
    },
  };
}

function selectionOf(row: CampaignRow): PoolResult {
  const { selection } = (row.result ?? {}) as { selection?: PoolResult };
  if (selection) return selection;
  throw new UsageError(`pipeline ${row.id}`, 'a selected pool', 'none in its result');
}

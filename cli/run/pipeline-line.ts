/** A pipeline's own line: its state, the stage it is in, and the cause when it is not going on. */
import pc from 'picocolors';
import type { CampaignRow } from '../../core/ledger.js';
import { PIPELINE_STAGES, type PipelineStage } from '../../core/orchestration.js';
import { stageCampaignId } from '../../core/stage-configs.js';
import { stateText } from './progress.js';
import type { CampaignSnapshot } from './snapshot.js';

interface Seen {
  readonly row: CampaignRow;
  readonly campaigns: readonly CampaignSnapshot[];
}

/** The first stage that is not done, as committed rows tell; undefined when all are. */
export function stageOf({ row, campaigns }: Seen): PipelineStage | undefined {
  if (row.state === 'done') return undefined;
  const { selection } = (row.result ?? {}) as { selection?: unknown };
  return PIPELINE_STAGES.find((stage) => {
    if (stage === 'report') return true;
    if (stage === 'select') return !selection;
    const id = stageCampaignId(row.id, stage);
    return campaigns.find((campaign) => campaign.id === id)?.state !== 'done';
  });
}

export function causeOf({ result }: Pick<CampaignRow, 'result'>): string | null {
  return (result as { cause?: string | null } | null)?.cause ?? null;
}

export function pipelineLine(seen: Seen): string {
  const { row } = seen;
  const stage = stageOf(seen);
  const parts = [pc.bold(row.id.padEnd(22)), stateText(row.state)];
  if (stage) parts.push(`stage ${PIPELINE_STAGES.indexOf(stage) + 1} of ${PIPELINE_STAGES.length}, ${stage}`);
  const cause = causeOf(row);
  if (cause) parts.push(pc.red(cause));
  return parts.join('  ');
}

/** Probe → select → evaluate the base → train → evaluate again → report, each stage a campaign of its own. */
import {
  ChildWorkflowCancellationType,
  defineQuery,
  setHandler,
  startChild,
  type WorkflowResultType,
} from '@temporalio/workflow';
import type { CampaignState } from '../core/ledger.js';
import { PIPELINE_STAGES, type PipelineStage } from '../core/orchestration.js';
import { evaluation, probeCampaign } from './attempts-campaign.js';
import { Control } from './control.js';
import { recordingFailure } from './failure.js';
import { campaigns } from './proxies.js';
import { trainingRun } from './training-run.js';

export interface PipelineInput {
  readonly campaign: string;
  readonly lanes: number;
}

export interface PipelineResult {
  readonly state: CampaignState;
  readonly report: string | null;
}

export const pipelineStageQuery = defineQuery<PipelineStage>('pipeline-stage');

type StageWorkflow = typeof probeCampaign | typeof evaluation | typeof trainingRun;

const CHILDREN: Readonly<Partial<Record<PipelineStage, StageWorkflow>>> = {
  probe: probeCampaign,
  'evaluate-base': evaluation,
  train: trainingRun,
  'evaluate-final': evaluation,
};

export async function pipeline(input: PipelineInput): Promise<PipelineResult> {
  return recordingFailure(input.campaign, () => runPipeline(input));
}

async function runPipeline(input: PipelineInput): Promise<PipelineResult> {
  const control = new Control({
    lanes: input.lanes,
    record: (paused) => campaigns.setState(input.campaign, paused ? 'paused' : 'running', null),
  });
  let stage: PipelineStage = 'probe';
  setHandler(pipelineStageQuery, () => stage);
  let report: string | null = null;
  await campaigns.setState(input.campaign, 'running', null);
  await control.opened();
  for (stage of PIPELINE_STAGES) {
    await control.clear();
    if (control.stopping) break;
    const child = CHILDREN[stage];
    if (child) {
      const result = await runStage(child, stage, input, control);
      if (result.state !== 'done') break;
    } else if (stage === 'select') {
      await campaigns.selectPool(input.campaign);
    } else {
      report = (await campaigns.writeReport(input.campaign)).path;
    }
  }
  await control.close();
  const state: CampaignState = report === null ? 'stopped' : 'done';
  await campaigns.setState(input.campaign, state, null);
  return { state, report };
}

async function runStage(
  workflow: StageWorkflow,
  stage: PipelineStage,
  input: PipelineInput,
  control: Control,
): Promise<WorkflowResultType<StageWorkflow>> {
  const campaign = await campaigns.claimStage(input.campaign, stage);
  return control.follow<WorkflowResultType<StageWorkflow>>((state) =>
    startChild<StageWorkflow>(workflow, {
      workflowId: campaign,
      args: [{ campaign, lanes: control.lanes, control: state }],
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    }),
  );
}

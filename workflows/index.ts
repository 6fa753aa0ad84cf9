/** Everything that the pipeline worker can run. */
export { askHost } from './ask-host.js';
export { attemptShard } from './attempt-shard.js';
export { evaluation, probeCampaign } from './attempts-campaign.js';
export { grpoStep } from './grpo-step.js';
export { jobRun } from './job-run.js';
export { nightly } from './nightly.js';
export { pipeline } from './pipeline.js';
export { serving } from './serving.js';
export { trainingRun } from './training-run.js';

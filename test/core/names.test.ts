/** A name that is taken leaves room for every campaign that is named after it. */
import { expect, test } from 'vitest';
import type { CampaignConfig, PipelineConfig, TrainConfig } from '../../core/campaign.js';
import { LONGEST_NAME } from '../../core/keys.js';
import { stageCampaignId, startableId, validationConfig } from '../../core/stage-configs.js';

const train = {
  kind: 'train',
  validateEvery: 0,
  validation: { tasks: ['t'], repeat: 1 },
} as unknown as TrainConfig;
const pipeline = { kind: 'pipeline', train } as unknown as PipelineConfig;
const validating = { ...train, validateEvery: 5 };

test.each([
  ['an evaluation', { kind: 'eval' } as CampaignConfig, LONGEST_NAME],
  ['a run', train, LONGEST_NAME],
  ['a run that validates', validating, LONGEST_NAME - '-step-100000'.length],
  ['a pipeline', pipeline, LONGEST_NAME - '-final'.length],
  ['a pipeline that validates', { ...pipeline, train: validating }, LONGEST_NAME - '-step-100000'.length],
])('%s', (_what, config, most) => {
  const name = 'n'.repeat(most);
  const id = startableId(name, config);
  expect(id).toBe(`${config.kind}/${name}`);
  expect(() => startableId(`${name}n`, config)).toThrow(/name: expected .*(63|at most \d+) /);
  if (config.kind === 'pipeline') {
    for (const stage of ['probe', 'evaluate-base', 'train', 'evaluate-final'] as const)
      stageCampaignId(id, stage);
  }
  const run = config.kind === 'pipeline' ? config.train : config;
  if ('validateEvery' in run && run.validateEvery > 0) validationConfig(`train/${name}`, 100_000, validating);
});

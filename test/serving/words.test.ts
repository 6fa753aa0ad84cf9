/** What a person writes about serving, and what becomes of it. */
import { expect, test } from 'vitest';
import { asServed, resolveModel } from '../../cli/run/model.js';
import { parseModel } from '../../cli/run/options.js';
import type { AttemptsConfig, CampaignConfig } from '../../core/campaign.js';
import type { CampaignRow } from '../../core/ledger.js';
import { followedRun, modelWords, nightConfig, type ScheduleConfig } from '../../core/nightly/schedule.js';
import { parseRunFile, type RunFile } from '../../core/schemas/run-file.js';
import { VLLM } from '../../temporal.config.js';
import { servingEnvironment } from '../../workers/serving-environment.js';

const CHECKPOINT = { run: 'train/run-1', step: 'latest' } as const;

test('served:RUN@STEP is a served checkpoint, with the reference’s settings where nothing else is said', async () => {
  const model = parseModel('served:run-1@latest');
  expect(model).toEqual({ kind: 'served', checkpoint: CHECKPOINT });
  expect(await resolveModel(model)).toEqual({ ...model, format: 'qwen3_xml', settings: VLLM });
  expect(parseModel('served:train/run-1@7')).toMatchObject({ checkpoint: { run: 'train/run-1', step: 7 } });
  expect(() => parseModel('served:run-1')).toThrow('served:RUN@STEP');
  expect(() => parseModel('serve:run-1@7')).toThrow('expected base, RUN@STEP');
});

test('a run file says how', async () => {
  const serving = { tensorParallel: 2, reasoningParser: null, extraArguments: ['--enforce-eager'] };
  const { model } = parseRunFile({ model: { kind: 'served', checkpoint: CHECKPOINT, serving } }, 'f');
  expect(await resolveModel(model)).toEqual({
    ...{ kind: 'served', checkpoint: CHECKPOINT, format: 'qwen3_xml' },
    settings: { ...VLLM, ...serving },
  });
  const slip = { kind: 'served', checkpoint: CHECKPOINT, serving: { tensorParalel: 2 } };
  expect(() => parseRunFile({ model: slip }, 'f')).toThrow('tensorParallel');
  await expect(resolveModel({ ...slip, serving: {}, format: 'qwen4' } as never)).rejects.toThrow(
    'model.format',
  );
});

test('RUN@STEP of a run that is served by vLLM is the same; of other runs it is the trainer’s', async () => {
  const config = { kind: 'eval', model: { kind: 'trainer', checkpoint: CHECKPOINT } } as AttemptsConfig;
  const ledger = (trainer: unknown) => ({ campaign: async () => ({ config: { trainer } }) as CampaignRow });
  const verl = { kind: 'verl', format: 'qwen3_xml', serving: { tensorParallel: 4 } };
  expect((await asServed(ledger(verl), config)).model).toEqual({
    ...{ kind: 'served', checkpoint: CHECKPOINT, format: 'qwen3_xml' },
    settings: { ...VLLM, tensorParallel: 4 },
  });
  for (const trainer of [undefined, { kind: 'torch', format: 'qwen3_xml', serving: null }])
    expect(await asServed(ledger(trainer), config)).toBe(config);
  const train = { kind: 'train' } as CampaignConfig;
  expect(await asServed(ledger(verl), train)).toBe(train);
});

test('a served checkpoint is served as its run says, where nothing else is said', async () => {
  const trainer = {
    kind: 'verl',
    format: 'qwen3_xml_plain',
    serving: { tensorParallel: 4, maxSequences: 2 },
  };
  const ledger = { campaign: async () => ({ config: { trainer } }) as unknown as CampaignRow };
  const served = async (said: NonNullable<RunFile['model']>) => {
    const config = { kind: 'eval', model: await resolveModel(said) } as AttemptsConfig;
    return (await asServed(ledger, config, said)).model;
  };
  const words = { kind: 'served', checkpoint: CHECKPOINT } as const;
  expect(await served(parseModel('served:run-1@latest'))).toEqual({
    ...{ ...words, format: 'qwen3_xml_plain' },
    settings: { ...VLLM, tensorParallel: 4, maxSequences: 2 },
  });
  // What the run file says wins, also where it is the default.
  expect(
    await served({ ...words, serving: { tensorParallel: VLLM.tensorParallel }, format: 'qwen3_xml' }),
  ).toEqual({ ...{ ...words, format: 'qwen3_xml' }, settings: { ...VLLM, maxSequences: 2 } });
});

test('a night serves the checkpoint of its day under the same settings', () => {
  const model = { kind: 'served', checkpoint: CHECKPOINT, settings: VLLM, format: 'qwen3_xml' } as const;
  const evaluation = { kind: 'eval', model } as unknown as AttemptsConfig;
  expect(followedRun(evaluation)).toBe('train/run-1');
  expect(modelWords(evaluation)).toBe('latest:train/run-1');
  const night = nightConfig({ evaluation } as ScheduleConfig, { run: 'train/run-1', step: 35 });
  expect(night.model).toEqual({ ...model, checkpoint: { run: 'train/run-1', step: 35 } });
});

test('a GPU host is told what to serve with', () => {
  const url = { DATABASE_URL: 'postgres://x' };
  expect(servingEnvironment('/home', {})).toBeNull();
  expect(servingEnvironment('/home', url)).toEqual({
    ...{ databaseUrl: 'postgres://x', artifacts: '/home/artifacts', command: ['vllm'], address: '127.0.0.1' },
    programs: {
      merge: [
        ...['python3', '-m', 'verl.model_merger', 'merge', '--backend', 'fsdp'],
        ...['--local_dir', '{folder}', '--target_dir', '{out}'],
      ],
      make: null,
    },
  });
  expect(servingEnvironment('/home', { ...url, STEADFAST_VLLM: '["/a b/vllm", "-x"]' })?.command).toEqual([
    '/a b/vllm',
    '-x',
  ]);
  expect(() => servingEnvironment('/home', { ...url, STEADFAST_VLLM: '[1]' })).toThrow(
    'STEADFAST_VLLM: expected a program, or a JSON list of a program and its arguments, found [1]',
  );
  expect(() =>
    servingEnvironment('/home', { ...url, STEADFAST_MERGE_MODEL: '["merge", "{folder}"]' }),
  ).toThrow('STEADFAST_MERGE_MODEL: expected arguments with {folder} and {out}, found none with {out}');
});

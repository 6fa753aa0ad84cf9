/** The reference run: its file, Verl's settings from it, and the command line, kept as text that a change shows up in. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readRunFile } from '../../cli/run/files.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import { shellText, verlCommand, verlTree } from '../../core/verl/command.js';
import { decidedNames, type VerlRun, verlSettings } from '../../core/verl/settings.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { createDeskbench } from '../../suites/deskbench/suite.js';

const golden = (name: string) => join(import.meta.dirname, name);

async function reference(): Promise<VerlRun> {
  const file = await readRunFile(join(ROOT, 'examples/reference-q38.yaml'));
  const tasks = Array.from({ length: 40 }, (_, index) => `file.py:task-${index}`);
  // The suite decides none of Verl's settings, and this one needs no checkout.
  const config = uncheckedTrainConfig(file, createDeskbench(), tasks);
  if (config.trainer?.kind !== 'verl') throw new Error('the reference trains with Verl');
  return { ...config, trainer: config.trainer };
}

describe('the reference run', () => {
  it('is Verl’s command line, one setting a line, in one order', async () => {
    const run = await reference();
    const command = shellText(verlCommand(run.trainer.python, verlSettings('q38', run)));
    await expect(`${command}\n`).toMatchFileSnapshot(golden('reference-command.txt'));
  });

  it('is the same settings as a tree', async () => {
    const tree = verlTree(verlSettings('q38', await reference()));
    await expect(stringify(tree)).toMatchFileSnapshot(golden('reference-settings.yaml'));
  });

  it('has every number of the published run', async () => {
    const settings = verlSettings('q38', await reference());
    expect(settings).toMatchObject({
      'data.train_batch_size': 18,
      'actor_rollout_ref.rollout.n': 8,
      'trainer.total_training_steps': 50,
      'trainer.save_freq': 5,
      'actor_rollout_ref.actor.optim.optimizer': 'AdamW',
      'actor_rollout_ref.actor.optim.lr': 1e-6,
      'actor_rollout_ref.actor.optim.weight_decay': 0,
      'actor_rollout_ref.actor.clip_ratio': 0.2,
      'actor_rollout_ref.actor.loss_agg_mode': 'token-mean',
      'actor_rollout_ref.actor.use_kl_loss': false,
      'algorithm.use_kl_in_reward': false,
      'actor_rollout_ref.rollout.temperature': 1,
      'actor_rollout_ref.rollout.top_k': 20,
      'actor_rollout_ref.rollout.top_p': 0.95,
      'data.max_prompt_length': 26_624,
      'data.max_response_length': 106_496,
      'actor_rollout_ref.rollout.max_model_len': 133_120,
      'actor_rollout_ref.actor.ulysses_sequence_parallel_size': 4,
      'actor_rollout_ref.rollout.tensor_model_parallel_size': 4,
      'actor_rollout_ref.rollout.gpu_memory_utilization': 0.7,
      'actor_rollout_ref.actor.fsdp_config.param_offload': true,
      'actor_rollout_ref.actor.fsdp_config.optimizer_offload': true,
      'actor_rollout_ref.actor.fsdp_config.seed': 42,
      'trainer.nnodes': 3,
      'trainer.n_gpus_per_node': 8,
    });
  });

  it('saves what nobody asked to be saved: a file without saveEvery, too', async () => {
    const file = await readRunFile(join(ROOT, 'examples/reference-q38.yaml'));
    const { saveEvery: _, ...train } = file.train!;
    const config = uncheckedTrainConfig({ ...file, train }, createDeskbench(), ['a']);
    if (config.trainer?.kind !== 'verl') throw new Error('the reference trains with Verl');
    expect(verlSettings('q38', { ...config, trainer: config.trainer })['trainer.save_freq']).toBe(5);
  });

  it('takes further settings after its own, and says which are its own', async () => {
    const run = await reference();
    const trainer = { ...run.trainer, overrides: { 'trainer.balance_batch': false } };
    expect(Object.entries(verlSettings('q38', { ...run, trainer })).at(-1)).toEqual([
      'trainer.balance_batch',
      false,
    ]);
    expect(decidedNames('q38', { ...run, trainer })).not.toContain('trainer.balance_batch');
    expect(decidedNames('q38', run)).toContain('trainer.save_freq');
  });

  it('names each of its settings once', async () => {
    const text = await readFile(golden('reference-command.txt'), 'utf8');
    const names = text.split('\n').flatMap((line) => /^\s*'?(\w[\w.]*)=/.exec(line)?.[1] ?? []);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(60);
  });
});

describe('a setting on the command line', () => {
  const written = (value: string | number | boolean | null | string[]) =>
    shellText(verlCommand('python', { 'a.b': value }))
      .split('\n')
      .at(-1)!
      .trim();

  it.each([
    [true, 'a.b=True'],
    [null, 'a.b=null'],
    [1e-6, 'a.b=0.000001'],
    [1e-7, 'a.b=1.0e-7'],
    [2.5e-9, 'a.b=2.5e-9'],
    ['/a folder/b', `'a.b='\\''/a folder/b'\\'''`],
    ['42', `'a.b='\\''42'\\'''`],
    ['true', `'a.b='\\''true'\\'''`],
    [['console', 'file'], `'a.b=[console,file]'`],
  ])('%j is %s', (value, words) => {
    expect(written(value)).toBe(words);
  });
});

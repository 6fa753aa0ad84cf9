/** Faults planted in a stand-in cluster and its run file, all at once, and the words by which a dry run must name each. */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OWNER_FILE } from '../../core/cluster.js';
import { makeCheckpoint, type ReferenceFile } from './material.js';
import type { Mood } from './mood.js';

/** Takes no key; the address ends in `/v1`. */
export interface SickOptions {
  readonly folder: string;
  readonly expiredUrl: string;
}

/** The run file with what a tired operator gets wrong in it. */
export function sickFile(
  file: ReferenceFile,
  { expiredUrl }: Pick<SickOptions, 'expiredUrl'>,
): ReferenceFile {
  return {
    ...file,
    user: { baseUrl: expiredUrl, model: 'm', apiKeyEnv: 'USER_KEY' },
    judge: { ...(file.judge as object), apiKeyEnv: 'NO_SUCH_KEY' },
    train: { ...file.train, shape: { groups: 200, groupSize: 8, maxGroups: 800 } },
    trainer: { ...file.trainer, tokensPerGpu: 1_000, overrides: { 'trainer.save_freq': -1 } },
  };
}

/** Of three healthy hosts, two sick ones; the third is not there. */
export function sickMoods(healthy: readonly Mood[], file: ReferenceFile, folder: string): readonly Mood[] {
  const [one, two] = healthy as [Mood, Mood];
  const { checkpoints, model, pins } = file.trainer;
  const apart = join(folder, 'apart');
  mkdirSync(apart);
  const saved = one.places[checkpoints]!;
  makeCheckpoint(saved, 5, 16);
  makeCheckpoint(saved, 10, 24);
  truncateSync(join(saved, 'global_step_10/actor/optim_world_size_24_rank_3.pt'), 0);
  writeFileSync(join(saved, OWNER_FILE), JSON.stringify({ run: 'train/other' }));
  truncateSync(join(two.places[model]!, 'model-00002-of-00002.safetensors'), 500);
  return [
    {
      ...one,
      gpus: [0, 1, 2, 3, 4, 5, 6],
      packages: { ...one.packages, vllm: '0.31.0' },
      freeBytes: 1_000,
      unknownSetting: 'trainer.v1.trainer_mode',
      proxies: { http_proxy: 'http://a:1', HTTP_PROXY: 'http://user:secret@b:2', no_proxy: 'localhost' },
    },
    {
      ...two,
      places: { ...two.places, [checkpoints]: apart },
      files: { ...two.files, [pins.files[0]!.file]: 'f'.repeat(64) },
      clockAheadMs: 3_600_000,
    },
  ];
}

/** One entry for each fault. */
export function faultWords(file: ReferenceFile): readonly (string | RegExp)[] {
  const { checkpoints, data, hosts, pins } = file.trainer;
  const [one, two, three] = hosts.map(({ name }) => name) as [string, string, string];
  const zero = '0'.repeat(64);
  return [
    `host ${three}: expected an answer of its worker, found no worker polls its queue, gpu-${three}. Start it there: steadfast workers gpu --host ${three}`,
    `GPUs of ${one}: expected GPUs 0, 1, 2, 3, 4, 5, 6, 7, found no 7 (there: 0, 1, 2, 3, 4, 5, 6).`,
    `vllm on ${one}: expected 0.32.0, found 0.31.0. Install it there: /opt/verl/bin/python -m pip install vllm==0.32.0`,
    `${pins.files[0]!.file} on ${two}: expected the patched file, sha256 ${zero}, found sha256 ${'f'.repeat(64)}. Apply the patch there`,
    `model-00002-of-00002.safetensors on ${two}: expected 1097 bytes, as its header says, found 500. Download the model again`,
    `${checkpoints} on ${two}: expected the files that all other hosts write there, found ${one}'s missing`,
    `${checkpoints} on ${one}: expected 42 KiB free for 6 that stay and one being written, 6.0 KiB each, found 1000 bytes free. Make room, or keep fewer`,
    `${checkpoints}/${OWNER_FILE}: expected the folder of train/q38, found that of train/other. Give each run a checkpoint folder of its own`,
    `${checkpoints}/global_step_5: expected shards of 24 processes, found of 16. Train on 16 GPUs as before`,
    `${checkpoints}/global_step_10: expected a whole checkpoint, found no actor/optim_world_size_24_rank_3.pt. Move it away: it was not written to its end, and Verl would restart from it`,
    new RegExp(
      `clock of (${one}|${two}): expected within 2 s of (${one}|${two})'s, found at least 3\\d{3}\\.\\d s (ahead|behind)\\. Let a time service set it`,
    ),
    'judge.apiKeyEnv: expected a secret in the environment variable NO_SUCH_KEY, found none. Set it here and for the sandbox workers',
    'this key has expired. Renew the key in USER_KEY: it has expired, or is of another account.',
    `HTTP_PROXY on ${one}: expected the same as http_proxy, http://a:1, found http://b:2. Set both to one address`,
    `NO_PROXY on ${one}: expected the hosts of the cluster, which talk to each other, found none for ${one}, ${two}, ${three}`,
    'training pool: expected at least 200 tasks, one batch, found 150. Name a larger pool',
    `${data.train} on ${one}: expected at least 200 rows, one batch, found 40. Write it from a larger pool`,
    'trainer.tokensPerGpu: expected at least 33280, so that the longest episode fits the 4 GPUs that share it, found 1000',
    'trainer.v1.trainer_mode: expected a setting that the installed Verl has, found no such setting',
    'trainer.overrides.trainer.save_freq: expected a setting that no other part of the run file decides, found -1',
  ];
}

/** Those of the faults that no problem names. */
export function unnamed(problems: readonly string[], words: readonly (string | RegExp)[]): readonly string[] {
  return words
    .filter(
      (word) => !problems.some((text) => (typeof word === 'string' ? text.includes(word) : word.test(text))),
    )
    .map(String);
}

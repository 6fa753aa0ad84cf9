/** What a tired operator writes into a run file: refused or found, with place, what was expected, what was found, the fix. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ClusterAsked } from '../../cli/preflight/asked.js';
import { existing } from '../../cli/preflight/checks/existing.js';
import { hosts } from '../../cli/preflight/checks/hosts.js';
import { inputs } from '../../cli/preflight/checks/inputs.js';
import { model } from '../../cli/preflight/checks/model.js';
import { overrides } from '../../cli/preflight/checks/overrides.js';
import { pool } from '../../cli/preflight/checks/pool.js';
import { sharedFolder } from '../../cli/preflight/checks/shared-folder.js';
import { versions } from '../../cli/preflight/checks/versions.js';
import type { ClusterAnswers } from '../../cli/preflight/cluster.js';
import { pipelineConfig, uncheckedTrainConfig } from '../../cli/run/resolve.js';
import type { TrainConfig } from '../../core/campaign.js';
import { campaignClaim } from '../../core/claim.js';
import type { HostFacts } from '../../core/cluster.js';
import { findingText, problemsOfAll } from '../../core/preflight.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { inProcess } from '../in-process.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { type ReferenceFile, referenceFile } from '../stand-in-cluster/material.js';

// Some run the whole command line, whose parts are read from the disk first, on whatever else the machine has to do.
vi.setConfig({ testTimeout: 240_000 });

const suite = createDeskbench();

function asked(
  change: (file: ReferenceFile) => void = () => undefined,
  rest: Partial<ClusterAsked> = {},
): ClusterAsked {
  const written = referenceFile();
  change(written);
  const file = parseRunFile(written, 'run.yaml');
  const config = uncheckedTrainConfig(file, suite, ['a']) as TrainConfig & { trainer: VerlConfig };
  return {
    id: 'train/q38',
    file,
    config,
    trainer: config.trainer,
    suite,
    pool: ['a'],
    offline: true,
    env: {},
    stack: undefined,
    cluster: undefined,
    signal: new AbortController().signal,
    ...rest,
  };
}

type Looked = { readonly run: (of: ClusterAsked) => ReturnType<typeof model.run> };

async function problems(check: Looked, of: ClusterAsked): Promise<readonly string[]> {
  return problemsOfAll([{ name: '', result: await check.run(of) }]).map(findingText);
}

const healthy: HostFacts = {
  host: 'gpu-1',
  machine: 'm',
  startedAt: 0,
  endedAt: 0,
  gpus: [],
  gpuProblem: null,
  packages: { verl: '0.9.1', vllm: '0.32.0' },
  pythonProblem: null,
  files: Object.fromEntries(asked().trainer.pins.files.map(({ file, sha256 }) => [file, sha256])),
  folders: { '/shared/checkpoints/q38': { freeBytes: 1, fileSystem: 'ext4', problem: null } },
  inputs: {},
  rows: {},
  model: null,
  proxies: {},
};

function answers(
  facts: Readonly<Record<string, Partial<HostFacts>>>,
  rest: Partial<ClusterAnswers> = {},
): ClusterAnswers {
  return {
    facts: new Map(Object.entries(facts).map(([host, of]) => [host, { ...healthy, host, ...of }])),
    clocks: new Map(),
    silent: new Map(),
    sights: new Map(),
    unwritten: new Map(),
    checkpoints: { owner: null, latest: null, steps: [] },
    composed: undefined,
    ...rest,
  };
}

describe('the trainer of a run file', () => {
  const refusal = (trainer: unknown): string => {
    try {
      parseRunFile({ trainer }, 'run.yaml');
    } catch (error) {
      return (error as Error).message;
    }
    return 'it was taken';
  };
  const verl = referenceFile().trainer;

  it.each([
    [
      { kind: 'vrel' },
      'trainer.kind: expected one of embedded, torch, verl, found "vrel" (did you mean verl?)',
    ],
    [{ kind: 'torch' }, 'trainer.model: expected text, found nothing'],
    [{ ...verl, hosts: [] }, 'trainer.hosts: expected a list that is not empty, found a list'],
    [
      { ...verl, hosts: [{ name: 'a', gpus: 1_000_000 }] },
      'trainer.hosts.0.gpus: expected at most 1024, found 1000000',
    ],
    [{ ...verl, hosts: [{ name: 'a', gpus: -8 }] }, 'trainer.hosts.0.gpus: expected at least 1, found -8'],
    [
      { ...verl, hosts: [{ name: 'a', gpu: 8, gpus: 8 }] },
      'unknown key trainer.hosts.0.gpu (did you mean gpus?)',
    ],
    [
      { ...verl, hosts: [{ name: 'a b', gpus: 8 }] },
      'trainer.hosts.0.name: expected a name of letters, digits, dots and dashes, found "a b"',
    ],
    [
      { ...verl, checkpoints: 'checkpoints' },
      'trainer.checkpoints: expected an absolute path, found "checkpoints"',
    ],
    [
      { ...verl, memory: { gpuUtilisation: 70 } },
      'trainer.memory.gpuUtilisation: expected at most 1, found 70',
    ],
    [{ ...verl, saveFreq: 5 }, 'unknown key trainer.saveFreq'],
    [
      { ...verl, pins: { packages: {}, files: [{ file: 'a.py', sha256: 'abc' }] } },
      'trainer.pins.files.0.sha256: expected a SHA-256 of 64 hex digits, found "abc"',
    ],
    [
      { ...verl, overrides: { 'a b': 1 } },
      'trainer.overrides.a b: expected the full name of a setting of Verl as its name',
    ],
    [
      { ...verl, overrides: { 'trainer.wandb_api_key': 'abc' } },
      'trainer.overrides.trainer.wandb_api_key: expected a setting that holds no secret (Verl reads those from its environment) as its name',
    ],
  ])('%#: %s', (trainer, words) => {
    expect(refusal(trainer)).toContain(words);
  });

  it('of a pipeline is the stack’s own', async () => {
    const { trainer } = parseRunFile(referenceFile(), 'run.yaml');
    await expect(pipelineConfig({ trainer }, suite)).rejects.toThrow(
      'trainer.kind: expected the trainer of the stack, which a pipeline trains with, found "verl". Its stages are campaigns of their own',
    );
  });

  it('with a format that nobody reads', () => {
    const wrongFormat = ({ trainer }: ReferenceFile): void => {
      trainer.format = 'qwen3-xml';
    };
    expect(() => asked(wrongFormat)).toThrow('trainer.format');
  });
});

describe('a model', () => {
  it('by its hub id', async () => {
    const of = asked(({ trainer }) => {
      trainer.model = 'Qwen/Qwen3-32B';
    });
    expect(await problems(model, of)).toEqual([
      'trainer.model: expected the absolute path of a folder with the model, on every host, found "Qwen/Qwen3-32B", which is the form of a hub id. Download the model to every host first: a run must not wait for a hub, or get another revision from it.',
    ]);
  });

  it('in a home that nobody looks up', async () => {
    const of = asked(({ trainer }) => {
      trainer.model = '~/models';
    });
    expect((await problems(model, of))[0]).toContain(
      'on every host, found "~/models", whose ~ nobody replaces.',
    );
  });

  const whole = {
    digest: `sha256:${'1'.repeat(64)}`,
    files: 1,
    bytes: 1,
    parameters: 1,
    type: 'qwen3',
    attentionHeads: 64,
    keyValueHeads: 8,
    positions: 262_144,
    problems: [],
  };

  it('that is another one on one host', async () => {
    const other = { ...whole, digest: `sha256:${'2'.repeat(64)}` };
    const cluster = answers({ 'gpu-1': { model: whole }, 'gpu-2': { model: other } });
    expect(await problems(model, asked(undefined, { cluster }))).toEqual([
      `/models/q38-27b on gpu-2: expected ${whole.digest}, as on gpu-1, found ${other.digest}. Copy the model again: all hosts must start from the same weights.`,
    ]);
  });

  it('whose heads and positions do not fit', async () => {
    const small = { ...whole, attentionHeads: 30, positions: 32_768 };
    expect(
      await problems(model, asked(undefined, { cluster: answers({ 'gpu-1': { model: small } }) })),
    ).toEqual([
      "trainer.parallel.rolloutTensor: expected a divisor of 30 attention heads, found 4. Set trainer.parallel.rolloutTensor to a divisor of the model's 30 attention heads.",
      "trainer.parallel.sequence: expected a divisor of 30 attention heads, found 4. Set trainer.parallel.sequence to a divisor of the model's 30 attention heads.",
      'trainer.modelLength: expected at most 32768, which the model was made for, found 133120. Lower trainer.modelLength and the limits that it follows from.',
    ]);
  });
});

it('a checkpoint folder on a local disk', async () => {
  const sights = new Map([
    ['gpu-1', { 'gpu-2': 'missing' }],
    ['gpu-2', { 'gpu-1': 'missing' }],
  ]);
  const cluster = answers({ 'gpu-1': {}, 'gpu-2': {} }, { sights });
  expect((await problems(sharedFolder, asked(undefined, { cluster })))[0]).toBe(
    "/shared/checkpoints/q38 on gpu-1: expected the files that all other hosts write there, found gpu-2's missing (file system: ext4). Mount the same storage there on every host: a checkpoint in parts on local disks cannot be restored.",
  );
});

it('an unpatched Verl, and one that is not pinned at all', async () => {
  const file = 'verl/trainer/ppo/v1/trainer_base.py';
  const cluster = answers({ 'gpu-1': { files: { ...healthy.files, [file]: 'e'.repeat(64) } } });
  expect(await problems(versions, asked(undefined, { cluster }))).toEqual([
    `${file} on gpu-1: expected the patched file, sha256 ${'0'.repeat(64)}, found sha256 ${'e'.repeat(64)}. Apply the patch there, or pin the file that you mean under trainer.pins.files.`,
  ]);
  const unpinned = asked(({ trainer }) => {
    trainer.pins.packages = { verl: '0.9.1' };
  });
  expect(await problems(versions, unpinned)).toEqual([
    'trainer.pins.packages.vllm: expected a version, found none. Pin it: vllm: "…"',
  ]);
});

it('fewer tasks than one batch, some of which the suite does not know', async () => {
  expect(await problems(pool as Looked, asked())).toEqual([
    'training pool: expected at least 18 tasks, one batch, found 1. Name a larger pool that holds no benchmark task: steadfast select makes one.',
    'task list: expected tasks of suite deskbench, found 1 unknown: a. Name tasks of the suite: steadfast suite list',
  ]);
});

it('settings that the installed Verl does not have, and a Verl that cannot be asked', async () => {
  const of = (composed: ClusterAnswers['composed']) =>
    asked(undefined, { cluster: answers({}, { composed }) });
  const refused = { 'trainer.nodes': 'no such setting' };
  expect(await problems(overrides, of({ digest: null, refused }))).toEqual([
    'trainer.nodes: expected a setting that the installed Verl has, found no such setting. Correct trainer.overrides, or install the Verl that trainer.pins names.',
  ]);
  expect((await problems(overrides, of('no package verl')))[0]).toBe(
    'settings of Verl: expected a Verl that takes them, found no package verl. Install Verl with all that it needs: /opt/verl/bin/python -m pip install verl',
  );
});

describe('a data set', () => {
  const train = '/shared/data/q38/train.parquet';
  const digest = 'd'.repeat(64);

  it('of fewer rows than one batch, or that is none', async () => {
    const few = answers({ 'gpu-1': { inputs: { [train]: digest }, rows: { [train]: 17 } } });
    expect(await problems(inputs, asked(undefined, { cluster: few }))).toEqual([
      `${train} on gpu-1: expected at least 18 rows, one batch, found 17. Write it from a larger pool, or train with fewer groups: train.shape.groups.`,
    ]);
    const none = answers({
      'gpu-1': { inputs: { [train]: digest }, rows: { [train]: 'no Parquet file: too short' } },
    });
    expect(await problems(inputs, asked(undefined, { cluster: none }))).toEqual([
      `${train} on gpu-1: expected a data set, found no Parquet file: too short. Write it again, as Parquet or JSON Lines.`,
    ]);
  });

  it('that is missing on one host, or another one there', async () => {
    const other = 'e'.repeat(64);
    const cluster = answers({
      'gpu-1': { inputs: { [train]: digest }, rows: { [train]: 40 } },
      'gpu-2': { inputs: { [train]: null }, rows: { [train]: 'ENOENT' } },
      'gpu-3': { inputs: { [train]: other }, rows: { [train]: 40 } },
    });
    expect(await problems(inputs, asked(undefined, { cluster }))).toEqual([
      `${train} on gpu-2: expected a file, found none that can be read. Put the file there, or correct trainer.data, trainer.agentLoop or trainer.reward.`,
      `${train} on gpu-3: expected sha256 ${digest}, as on gpu-1, found sha256 ${other}. Copy the file again: all hosts must read the same.`,
    ]);
  });
});

it('a host that nobody started', async () => {
  const cluster = answers(
    { 'gpu-1': {} },
    { silent: new Map([['gpu-2', 'no worker polls its queue, gpu-gpu-2']]) },
  );
  expect(await problems(hosts, asked(undefined, { cluster }))).toEqual([
    'host gpu-2: expected an answer of its worker, found no worker polls its queue, gpu-gpu-2. Start it there: steadfast workers gpu --host gpu-2',
  ]);
});

describe('one checkpoint folder', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await startTestDatabase();
  });
  afterAll(() => db?.stop());

  it('of two runs, the other of which the ledger knows', async () => {
    const of = asked();
    await db.ledger.claimCampaign(campaignClaim('train/other', of.config, null));
    const stack = { ledger: async () => db.ledger } as unknown as ClusterAsked['stack'];
    expect(await problems(existing, { ...of, stack, cluster: answers({ 'gpu-1': {} }) })).toEqual([
      'trainer.checkpoints: expected a folder that no other run has, found /shared/checkpoints/q38, which train/other (running) has. Give each run a checkpoint folder of its own.',
    ]);
  });

  it('with checkpoints of nobody knows whom, and a last step that is not there', async () => {
    const checkpoints = { owner: null, latest: 15, steps: [{ step: 10, worldSize: 24, missing: [] }] };
    const cluster = answers({ 'gpu-1': {} }, { checkpoints });
    expect(await problems(existing, asked(undefined, { cluster }))).toEqual([
      '/shared/checkpoints/q38: expected checkpoints of this run, or none, found 1 of nobody knows which run, the newest of step 10. Verl would go on from them. Name an empty folder: trainer.checkpoints.',
      '/shared/checkpoints/q38/latest_checkpointed_iteration.txt: expected a step that is there, e.g. 10, found 15. Correct the file: Verl would start from nothing without a word.',
    ]);
  });
});

describe('the command', () => {
  const home = mkdtempSync(join(tmpdir(), 'steadfast home '));
  // No stack runs there, whatever runs on this machine.
  beforeAll(() => void vi.stubEnv('STEADFAST_HOME', home));
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  });

  it('without a name and without a file', async () => {
    const { code, err } = await inProcess('train', '--dry-run');
    expect(code).toBe(2);
    expect(err).toContain('train: expected a name, or a run file that has one, found neither');
  });

  it('that is to show what the run does not have', async () => {
    const { code, err } = await inProcess('train', 'x', '--dry-run', '--offline', '--show', 'verl');
    expect(err).toContain('--show: expected a run whose trainer is verl, found embedded');
    expect(code).toBe(2);
  });
});

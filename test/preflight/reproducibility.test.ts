/** The reproducibility record: written when a run begins and ends, whole, by reference, and without a secret. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createCampaignActivities } from '../../activities/campaign/activities.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import { snapshot } from '../../cli/run/snapshot.js';
import type { Digest } from '../../core/artifacts.js';
import { campaignClaim } from '../../core/claim.js';
import { fingerprint } from '../../core/fingerprint.js';
import type { Reproducibility } from '../../core/reproducibility.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { programFacts } from '../../workers/program-facts.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { referenceFile } from '../stand-in-cluster/material.js';

const RUN = 'train/recorded';
let db: TestDatabase;
let folder = '';
beforeAll(async () => {
  db = await startTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'steadfast record '));
});
afterAll(async () => {
  await db?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('is written at the beginning and the end, and says all that the run hangs on', async () => {
  process.env.USER_KEY = 'a-secret-that-must-not-be-written';
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).map(({ id }) => id).slice(0, 30);
  const config = uncheckedTrainConfig(parseRunFile(referenceFile(), 'run.yaml'), suite, tasks);
  await db.ledger.claimCampaign(campaignClaim(RUN, config, null));
  const artifacts = createLocalArtifacts(join(folder, 'artifacts'));
  const activities = createCampaignActivities({
    ledger: db.ledger,
    artifacts,
    suite: async () => suite,
    reports: join(folder, 'reports'),
    program: programFacts(),
  });
  const facts = {
    machine: 'm',
    gpus: [],
    packages: { verl: '0.9.1' },
    files: {},
    inputs: { '/d': 'e' },
    rows: {},
  };
  const cluster = {
    at: 'now',
    hosts: { 'gpu-1': { ...facts, model: 'sha256:m' } },
    configuration: 'sha256:v',
  };
  await db.ledger.noteOnCampaign(RUN, { cluster });
  await activities.openTraining(RUN);
  const begun = await record();
  expect(begun).toMatchObject({
    format: 1,
    campaign: RUN,
    program: {
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runtime: { node: process.versions.node },
      packages: { '@temporalio/worker': '1.24.0', 'python:numpy': expect.any(String) },
    },
    configuration: { seed: 42, sampling: { temperature: 1, topK: 20, topP: 0.95 } },
    hashes: {
      configuration: fingerprint(config),
      suite: suite.digest,
      tasks: fingerprint(tasks),
      prompts: config.people!.prompts,
      model: 'sha256:m',
      data: { '/d': 'e' },
      verl: 'sha256:v',
      patches: { 'verl/trainer/ppo/v1/trainer_base.py': '0'.repeat(64) },
    },
    topology: { kind: 'verl', hosts: [{ name: 'gpu-1' }, { name: 'gpu-2' }, { name: 'gpu-3' }] },
    cluster,
    coverage: { planned: 0, steps: { asked: 50, ended: 0 } },
  });

  const digest = `sha256:${'1'.repeat(64)}` as Digest;
  await db.ledger.putStep({
    run: RUN,
    step: 1,
    state: 'done',
    cursor: 0,
    started: 20,
    baseDigest: digest,
    weightDigest: digest,
    batchDigest: digest,
    op: null,
    metrics: {},
    cause: null,
  });
  await activities.closeTraining(RUN, 'stopped', null);
  const ended = await record();
  expect(ended.lineage).toEqual([
    {
      step: 1,
      state: 'done',
      baseDigest: digest,
      batchDigest: digest,
      weightDigest: digest,
      cursor: 0,
      started: 20,
    },
  ]);
  expect(ended.coverage.steps.ended).toBe(1);
  expect((await db.ledger.campaign(RUN))!.result).toMatchObject({ steps: 1, cause: null });
  const written = readFileSync(join(folder, 'reports/train/recorded/reproducibility.json'), 'utf8');
  expect(JSON.parse(written)).toEqual(ended);
  expect(written).not.toContain(process.env.USER_KEY);

  async function record(): Promise<Reproducibility> {
    const seen = await snapshot(db.ledger, RUN);
    const named = seen!.campaigns[0]!.reproducibility as Digest;
    return JSON.parse(new TextDecoder().decode(await artifacts.get(named))) as Reproducibility;
  }
});

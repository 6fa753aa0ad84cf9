/** What a paused campaign proposes: the commands, and the setting that fits the cause. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { goOnLines, goOnText } from '../../cli/run/go-on-text.js';
import { EPISODE_LIMITS, MOST_EPISODE_MS, STEP, UPDATE_PLAN } from '../../temporal.config.js';
import { claim, stepRow } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const CONFIG = {
  kind: 'train',
  shape: STEP,
  limits: { ...EPISODE_LIMITS, episodeMs: MOST_EPISODE_MS },
  plan: UPDATE_PLAN,
};
let db: TestDatabase;
let name = '';
let names = 0;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  name = `r${++names}`;
  await db.ledger.claimCampaign(claim(`pipeline/${name}`, {}));
  await db.ledger.claimCampaign(claim(`train/${name}`, CONFIG, `pipeline/${name}`));
});

async function text(cause: string, kind: 'train' | 'pipeline' = 'train'): Promise<string> {
  await db.ledger.putStep(stepRow(`train/${name}`, 1, { state: 'failed', cause }));
  const id = `${kind}/${name}`;
  await db.ledger.noteOnCampaign(id, { cause: `step 1: ${cause}` }, 'paused');
  return (await goOnText(db.ledger, (await db.ledger.campaign(id))!)).join('\n');
}

const REFILLS =
  '3 of 72 started groups are informative; ... Mostly: every attempt failed (all_failed, 60 groups).';

it('names the cause, and how to retry, change, skip and stop', async () => {
  const found = await text(REFILLS);
  expect(found).toContain(`train/${name} is paused: step 1: 3 of 72`);
  expect(found.match(/steadfast \w+/g)).toEqual([
    'steadfast replay',
    'steadfast replay',
    'steadfast skip',
    'steadfast stop',
  ]);
});

it('proposes as many groups as there are, else more refills', async () => {
  expect(await text(REFILLS)).toContain(
    `--set shape.maxRefillRounds=${STEP.maxRefillRounds + 2} --set shape.maxGroups=${6 * STEP.groups}`,
  );
  for (const group of [0, 1]) {
    const row = { round: 0, group, taskId: `t:${group}`, state: 'informative', rewards: [1, 0] } as const;
    await db.ledger.putGroup(`train/${name}`, 1, row);
  }
  expect(await text(REFILLS)).toContain('--set shape.minInformative=2');
});

it('proposes more time after deadlines, and a smaller rate when the trainer refused', async () => {
  expect(await text('0 of 4 groups are informative ... (deadline, 4 groups).')).toContain(
    // An episode's clock is at its most already: activities are made for no more.
    `--set limits.messageMs=${2 * EPISODE_LIMITS.messageMs}`,
  );
  expect(await text("the gradient's norm is nan: nothing was changed")).toContain(
    `--set plan.learningRate=${UPDATE_PLAN.learningRate / 2}`,
  );
});

it('proposes a wider bound, importance weights and a look at the record when a batch was off policy', async () => {
  const cause = '/trainer/update: off policy: sampler and trainer differ by 0.412 nats a token on average';
  const metrics = { mismatchMean: 0.412, mismatchShare: 0.9 };
  const row = stepRow(`train/${name}`, 1, { state: 'failed', cause, metrics });
  await db.ledger.putStep(row);
  const campaign = await db.ledger.campaign(`train/${name}`);
  const found = (await goOnText(db.ledger, { ...campaign!, state: 'paused' })).join('\n');
  const settings = '--set plan.mismatch.meanAbove=0.49 --set plan.mismatch.shareAbove=1';
  expect(found).toContain(`--fork ${name}-2 ${settings}\n`);
  expect(found).toContain(`--fork ${name}-2 ${settings} --set plan.importance.kind=truncated`);
  expect(found).toContain(`steadfast verify parity --run train/${name}`);
  // A trainer that refuses without its figures.
  expect(await text(cause)).toContain('--set plan.mismatch=none\n');
});

it("a pipeline proposes its run's commands, and stops as a whole", async () => {
  const found = await text(REFILLS, 'pipeline');
  expect(found).toContain(`steadfast replay step --run ${name} --step 1\n`);
  expect(found).toContain(`steadfast skip train/${name} --step 1`);
  expect(found).toContain(`steadfast stop pipeline/${name}`);
});

it('proposes a name for the fork that no run has', async () => {
  await db.ledger.claimCampaign(claim(`train/${name}-2`, CONFIG));
  expect(await text(REFILLS)).toContain(`--fork ${name}-3 --set`);
});

it('names the check that finds what is damaged', async () => {
  expect(await text('batch sha256:ab of step 3 of train/x is corrupt: /a/b')).toContain(
    `steadfast verify ledger --campaign train/${name}`,
  );
});

it('of a run that was stopped in a step: a command that needs no settings; paused by a person: unpause', async () => {
  const id = `train/${name}`;
  await db.ledger.putStep(stepRow(id, 1, { state: 'sampling' }));
  const lines = async (state: 'stopped' | 'paused') => {
    await db.ledger.noteOnCampaign(id, { cause: null }, state);
    return goOnLines(db.ledger, (await db.ledger.campaign(id))!);
  };
  expect(await lines('stopped')).toEqual([
    expect.stringContaining(`steadfast replay step --run ${name} --step 1`),
  ]);
  expect((await lines('paused'))[0]).toMatch(/^ {2}go on +steadfast unpause/);
});

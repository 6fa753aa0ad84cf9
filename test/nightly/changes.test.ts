/** What a night says when the suite, the prompts or the program is not what was pinned, on a real database. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPgSchedules } from '../../activities/ledger/schedules.js';
import { createNightlyActivities } from '../../activities/nightly/activities.js';
import { regressionMessage } from '../../activities/nightly/webhook.js';
import { renderSchedule } from '../../activities/report/nightly/page.js';
import { nightLine, nightText } from '../../cli/schedule-text.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { AttemptsConfig } from '../../core/campaign.js';
import {
  nightEvaluation,
  requireScheduleName,
  type ScheduleConfig,
  withoutPins,
} from '../../core/nightly/schedule.js';
import { promptsDigest } from '../../core/prompts.js';
import type { Suite, TaskRef } from '../../core/suite.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { SCHEDULE } from './fixture.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

const TASKS = ['a:1', 'a:2', 'b:1'];
const PROMPTS = promptsDigest();
const WRITING = { programVersion: '0.1.0', generatedAt: '2026-11-30T03:00:00.000Z' };

function config(pinned: { readonly suiteDigest: string; readonly prompts: string }): ScheduleConfig {
  const evaluation = {
    ...SCHEDULE.config.evaluation,
    suiteDigest: pinned.suiteDigest,
    tasks: TASKS,
    model: { kind: 'scripted', errorRate: 0, turnDelayMs: 0 },
    people: { prompts: pinned.prompts, user: { model: 'rules' }, judge: { model: 'rules' } },
  } as unknown as AttemptsConfig;
  return { ...SCHEDULE.config, evaluation, baseline: null, webhookEnv: null };
}

/** Activities of a worker that has this version and this suite. */
function worker(programVersion: string, digest: string, tasks = TASKS, notComparable?: readonly string[]) {
  const refs = tasks.map((id) => ({ id }) as TaskRef);
  const suite = { name: 'deskbench', digest, notComparable, tasks: async () => refs } as unknown as Suite;
  const schedules = createPgSchedules(db.pool);
  const unused = {} as ArtifactStore;
  return {
    schedules,
    ...createNightlyActivities({
      ...{ ledger: db.ledger, artifacts: unused, schedules, suite: async () => suite },
      ...{ reports: '/nowhere', programVersion, environment: {} },
    }),
  };
}

const night = (day: string) => ({ schedule: 'n', at: `2026-11-${day}T01:00:00.000Z` });

it('nothing when nothing has changed; then suite and version, against the pins and the night before; tasks that are gone', async () => {
  const first = worker('0.1.0', 'sha256:a');
  await first.schedules.putSchedule('n', config({ suiteDigest: 'sha256:a', prompts: PROMPTS }), '0.1.0');
  expect(await first.openNight(night('20'))).toMatchObject({ done: false, follow: null, tells: false });
  await first.claimNight(night('20'), null);
  expect((await first.schedules.night(night('20')))?.record).toMatchObject({
    changes: [],
    programVersion: '0.1.0',
  });
  await first.schedules.noteNight(night('20'), {}, 'done');

  const second = worker('0.2.0', 'sha256:b', ['a:1', 'b:1']);
  await second.openNight(night('21'));
  await second.claimNight(night('21'), null);
  expect((await second.schedules.night(night('21')))?.record.changes).toEqual([
    'suite deskbench is not the pinned one: sha256:a → sha256:b',
    'suite deskbench has changed since the night before: sha256:a → sha256:b',
    'program version is not the pinned one: 0.1.0 → 0.2.0',
    'program version has changed since the night before: 0.1.0 → 0.2.0',
    '1 of 3 tasks are not in the suite any more: a:2',
  ]);
  const claimed = await db.ledger.campaign(nightEvaluation(night('21')));
  expect(claimed).toMatchObject({ suiteDigest: 'sha256:b', config: { tasks: ['a:1', 'b:1'] } });
});

it('says that it cannot be compared with published results, and why', async () => {
  const asked = worker('0.1.0', 'sha256:a', TASKS, ['no search']);
  await asked.schedules.putSchedule('n', config({ suiteDigest: 'sha256:a', prompts: PROMPTS }), '0.1.0');
  await asked.openNight(night('10'));
  await asked.claimNight(night('10'), null);
  const row = await asked.schedules.night(night('10'));
  expect(row?.record.notComparable).toEqual(['no search']);
  expect(nightText(row!)).toContain('not comparable with published results: no search');
  expect(nightLine(row!)).toMatch(
    /^2026-11-10 01:00:00 UTC {2}running {5}.*not comparable with published results$/,
  );
  const message = regressionMessage((await asked.schedules.schedule('n'))!, row!);
  expect(message.notComparable).toEqual(['no search']);
  expect(message.text).toMatch(/; not comparable with published results$/);
  const page = { schedule: SCHEDULE, nights: [row!], missed: [] };
  expect(renderSchedule(page, { ...WRITING, link: () => null })).toContain(
    'not comparable with published results: no search',
  );
});

it('begun again it keeps the evaluation that it had, whatever has changed meanwhile', async () => {
  const later = worker('0.3.0', 'sha256:c');
  await later.failNight(night('21'), 'failed', 'the worker was lost');
  await later.openNight(night('21'));
  await later.claimNight(night('21'), null);
  expect(await db.ledger.campaign(nightEvaluation(night('21')))).toMatchObject({ suiteDigest: 'sha256:b' });
  expect(await later.openNight(night('20'))).toMatchObject({ done: true });
});

it('a suite that has none of the tasks any more is one error', async () => {
  const other = worker('0.1.0', 'sha256:d', ['z:1']);
  await other.openNight(night('22'));
  await expect(other.claimNight(night('22'), null)).rejects.toThrow(/none of the tasks of schedule n/);
  await expect(other.openNight({ schedule: 'unknown', at: night('22').at })).rejects.toThrow(
    /schedule unknown/,
  );
});

it('attempts that are missing leave the night without a score', async () => {
  const again = worker('0.1.0', 'sha256:b');
  expect(await again.closeNight(night('21'))).toEqual({ state: 'incomplete', regression: false });
  expect((await again.schedules.night(night('21')))?.record).toMatchObject({
    cause: expect.stringMatching(/^0 of 40 attempts have a result/),
    regression: false,
  });
});

it('names leave room for the time; configurations are compared without their pins', () => {
  expect(nightEvaluation(night('20'))).toBe('eval/n-2026-11-20-010000');
  expect(() => requireScheduleName('x'.repeat(45))).not.toThrow();
  expect(() => requireScheduleName('x'.repeat(46))).toThrow(/at most 45 characters/);
  expect(() => requireScheduleName('No Name')).toThrow(/lower-case/);
  const [one, other] = ['a', 'b'].map((digest) => config({ suiteDigest: digest, prompts: digest }));
  expect(withoutPins(one!)).toEqual(withoutPins(other!));
});

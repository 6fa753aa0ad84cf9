/**
 * Schedules on a real stack, through the command as people type it: nights by trigger and backfill, a regression with
 * its exit code and its message, what is refused, and a secret that is nowhere.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { missedNights } from '../../activities/nightly/due.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { type CreateOptions, createSchedule } from '../../cli/schedule-create.js';
import { UsageError } from '../../core/faults.js';
import type { NightRow } from '../../core/nightly/schedule.js';
import { startStack } from '../../infra/stack/start.js';
import { PAYLOAD_BUDGET } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { historyOf } from '../histories/scenario.js';
import { type Ran, steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { withVariables } from '../variables.js';
import { payloadsOf } from '../workflows/events.js';
import { type Hook, startHook } from './hook.js';

const NAME = 'watch';
let home = '';
let hook: Hook;
let context: StackContext;
/** The night that passed everything. */
let good: NightRow;

const schedule = (...args: readonly string[]): Promise<Ran> =>
  withVariables({ NIGHTLY_HOOK: hook.address }, () => steadfast(home, 'schedule', ...args));
const runFile = (errorRate: number): string => {
  const file = join(home, `errors-${errorRate}.json`);
  const model = { kind: 'scripted', errorRate };
  writeFileSync(file, JSON.stringify({ model, benchmark: { repeat: 2, limit: 6 } }));
  return file;
};
const create = (errorRate: number, ...more: readonly string[]) =>
  schedule(
    'create',
    NAME,
    ...['--cron', '0 2 * * *', '--timezone', 'Europe/Berlin', '--file', runFile(errorRate)],
    ...['--webhook-env', 'NIGHTLY_HOOK', ...more],
  );
/** Triggers one, and waits for its end. */
async function night(): Promise<NightRow> {
  const schedules = await context.schedules();
  const before = (await schedules.nights(NAME, 100)).length;
  // Temporal learns a moment later that the night before has ended.
  await until('a trigger', async () => (await schedule('trigger', NAME)).code === 0);
  const at = await until('a night more', async () => {
    const [newest, ...rest] = await schedules.nights(NAME, 100);
    return newest && rest.length >= before && newest.state !== 'running' && newest.at;
  });
  await closed(at);
  return (await schedules.night({ schedule: NAME, at }))!;
}
async function closed(at: string): Promise<void> {
  const client = await context.temporal();
  await client.workflow.getHandle(workflowId(at)).result();
}
const workflowId = (at: string) => `nightly/${NAME}-${at.slice(0, 19)}Z`;

beforeAll(async () => {
  home = temporaryHome();
  hook = await startHook();
  context = openStack(await withVariables({ NIGHTLY_HOOK: hook.address }, () => startStack({ home })));
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  await hook?.close();
});

it('is made once: the same again says so, another is refused with the paths, --replace replaces', async () => {
  const made = await create(1);
  expect([made.code, made.out]).toEqual([0, expect.stringMatching(/was made[\s\S]*next {7}20\d\d-/)]);
  expect(await create(1)).toMatchObject({ code: 0, out: expect.stringMatching(/there already/) });
  const other = await create(0, '--jitter', '10m');
  expect(other.code).toBe(2);
  expect(other.err).toMatch(
    /evaluation\.model\.errorRate: 1 → 0\n[\s\S]*timing\.jitterMs: 0 → 600000[\s\S]*--replace/,
  );
  expect(await create(0, '--replace')).toMatchObject({ code: 0, out: expect.stringMatching(/was replaced/) });
  expect((await schedule('last', NAME)).out).toMatch(/No night of watch has ended yet/);
});

it('a night is evaluated under the name of its time, and is no regression by itself', async () => {
  good = await night();
  expect(good).toMatchObject({
    state: 'done',
    record: { regression: false, previous: null, model: 'scripted' },
  });
  expect(good.record.score?.passAt1.value).toBe(1);
  expect(good.evaluation).toMatch(/^eval\/watch-20\d\d-\d\d-\d\d-\d{6}$/);
  const row = await (await context.ledger()).campaign(good.evaluation);
  expect(row).toMatchObject({ state: 'done', kind: 'eval' });
  expect(await schedule('last', NAME)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/pass@1 {6}100\.0/),
  });
  expect(hook.received).toEqual([]);
});

it('a regression marks the night, sets exit code 4, and is told: again after a refusal, once in all', async () => {
  expect((await create(1, '--replace', '--baseline', good.evaluation)).code).toBe(0);
  hook.answer(503);
  const fell = await night();
  expect(fell).toMatchObject({
    state: 'done',
    record: { regression: true, webhook: { state: 'sent', status: 200, error: null } },
  });
  expect(fell.record.previous).toMatchObject({ at: good.at, sameSuite: true, regressed: ['pass@1', 'k/k'] });
  expect(hook.received).toHaveLength(2);
  const { message, headers } = hook.received[1]!;
  expect(headers['idempotency-key']).toBe(`${NAME}/${fell.at}`);
  expect(message).toMatchObject({
    format: 1,
    event: 'regression',
    schedule: NAME,
    evaluation: fell.evaluation,
  });
  expect(message.regressions.map(({ against, measure }) => `${against} ${measure}`)).toEqual([
    'previous night pass@1',
    'previous night k/k',
    'baseline pass@1',
    'baseline k/k',
  ]);
  expect(message.lostTasks.length).toBeGreaterThan(0);
  const last = await schedule('last', NAME);
  expect(last).toMatchObject({
    code: 4,
    out: expect.stringMatching(/regression of pass@1 and k\/k[\s\S]*sent/),
  });
  const json = JSON.parse((await schedule('last', NAME, '--json')).out) as { night: NightRow };
  expect(json.night.record.regression).toBe(true);
});

it('against the night before it may be none, against the baseline it still is; a message refused is recorded', async () => {
  hook.answer(410);
  const still = await night();
  expect(still.record.previous?.regressed).toEqual([]);
  expect(still.record.baseline?.regressed).toEqual(['pass@1', 'k/k']);
  expect(still).toMatchObject({
    state: 'done',
    record: {
      regression: true,
      webhook: { state: 'failed', status: 410, error: 'the address of NIGHTLY_HOOK answered 410' },
    },
  });
});

it('backfill runs what was due, each once; a night without a score runs again and keeps what it has', async () => {
  const range = ['--from', '2026-11-20T00:00:00Z', '--to', '2026-11-22T00:00:00Z'];
  const first = JSON.parse((await schedule('backfill', NAME, ...range, '--json')).out);
  expect(first).toMatchObject({ due: 2, done: 0, again: [] });
  const at = '2026-11-20T01:00:00.000Z';
  const schedules = await context.schedules();
  const both = await until('both nights', async () => {
    const nights = (await schedules.nights(NAME, 100)).filter((each) => each.at < '2026-11-23');
    return nights.length === 2 && nights.every(({ state }) => state === 'done') && nights;
  });
  expect(both.map((each) => each.at)).toEqual(['2026-11-21T01:00:00.000Z', at]);
  // In order of time, not in the order in which they ran.
  expect(both[0]?.record.previous?.at).toBe(at);
  expect(both[1]?.record.previous).toBeNull();
  await closed(at);
  await schedules.noteNight({ schedule: NAME, at }, { cause: 'lost' }, 'failed');
  const second = JSON.parse((await schedule('backfill', NAME, ...range, '--json')).out);
  expect(second).toMatchObject({ due: 2, done: 1, again: [at] });
  await until(
    'the night again',
    async () => (await schedules.night({ schedule: NAME, at }))?.state === 'done',
  );
  const ledger = await context.ledger();
  expect((await ledger.attempts(both[1]!.evaluation)).map(({ tries }) => tries)).toEqual(Array(12).fill(1));
});

it('is paused, listed and shown; a night that never ran is a gap', async () => {
  expect((await schedule('pause', NAME, '--note', 'a holiday')).code).toBe(0);
  const [listed] = JSON.parse((await schedule('list', '--json')).out) as [{ state: string; next: string[] }];
  expect(listed.state).toBe('paused');
  expect(listed.next.every((time) => /T01:00:00/.test(time))).toBe(true);
  const shown = JSON.parse((await schedule('show', NAME, '--json')).out);
  expect(shown).toMatchObject({
    state: 'paused',
    note: 'a holiday',
    config: { timing: { timezone: 'Europe/Berlin' } },
  });
  const schedules = await context.schedules();
  const row = { ...(await schedules.schedule(NAME))!, createdAt: '2026-11-18T12:00:00.000Z' };
  const client = await context.temporal();
  const now = new Date('2026-11-23T00:00:00Z');
  expect(await missedNights(client, row, await schedules.nights(NAME, 100), now)).toEqual([
    '2026-11-19T01:00:00.000Z',
    '2026-11-22T01:00:00.000Z',
  ]);
  const { policies, spec } = await client.schedule.getHandle(NAME).describe();
  expect(policies).toMatchObject({ overlap: 'SKIP', catchupWindow: 3_600_000 });
  expect(spec).toMatchObject({ timezone: 'Europe/Berlin', jitter: 0 });
  expect((await schedule('unpause', NAME)).code).toBe(0);
  const { out } = await schedule('report', NAME);
  const page = readFileSync(out.trim(), 'utf8');
  expect(page).toContain(`../../eval/${good.evaluation.slice(5)}/report.html`);
  expect(page).toMatch(/regression/);
});

/** Without a process of its own, which would cost more than what it says. */
const refused = (options: Partial<CreateOptions>): Promise<void> =>
  withVariables({ STEADFAST_HOME: home, NIGHTLY_HOOK: hook.address }, () =>
    createSchedule('refused', { cron: '@daily', model: 'base', ...options }),
  );

it.each<[string, Partial<CreateOptions>, RegExp]>([
  ['a cron text', { cron: '0 25 * * *' }, /--cron: expected 0-23 as the hour/],
  ['a time zone', { timezone: 'Mars/Base' }, /--timezone: expected/],
  ['a run', { model: 'latest:nobody' }, /campaign: expected a known campaign/],
  ['a model', { model: 'latest' }, /--model: expected base, RUN@STEP/],
  ['a variable', { webhookEnv: 'NOT_SET_ANYWHERE' }, /NOT_SET_ANYWHERE to be set/],
  [
    'an address for a variable',
    { webhookEnv: 'https://x.example/s3cret' },
    /environment variable, found something else/,
  ],
  ['a baseline', { baseline: 'eval/none' }, /expected a known evaluation/],
  ['a file', { file: '/no/such/file.yaml' }, /run file .*no such file/],
])(
  '%s that is wrong is one error',
  async (_what, options, why) => {
    const error: unknown = await refused(options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as UsageError).message).toMatch(why);
    expect((error as UsageError).message).not.toContain('s3cret');
    expect(await (await context.schedules()).schedule('refused')).toBeUndefined();
  },
  30_000,
);

it('--dry-run makes nothing, and lists what is wrong', async () => {
  const args = ['create', 'dry', '--cron', '@daily', '--dry-run', '--model'];
  const fine = await schedule(...args, 'base');
  expect([fine.code, fine.err]).toEqual([0, expect.stringMatching(/would be made. Nothing was/)]);
  const wrong = await schedule(...args, 'latest:x', '--json');
  expect([wrong.code, JSON.parse(wrong.out).problems]).toEqual([
    2,
    [expect.stringMatching(/known campaign/)],
  ]);
  expect(await (await context.schedules()).schedule('dry')).toBeUndefined();
});

it('payloads are small, and the address is in none of them, in no row and in no log', async () => {
  const client = await context.temporal();
  const schedules = await context.schedules();
  const nights = await schedules.nights(NAME, 100);
  expect(JSON.stringify([nights, await schedules.schedules()])).not.toContain(hook.secret);
  for (const { at } of nights) {
    const history = await historyOf(client, workflowId(at));
    expect(payloadsOf(history).filter(({ bytes }) => bytes > PAYLOAD_BUDGET.other)).toEqual([]);
    const text = JSON.stringify(history);
    expect(text).not.toContain(Buffer.from(hook.secret).toString('base64').slice(0, 12));
    expect(text).not.toContain(hook.secret);
  }
  const logs = join(home, 'logs');
  for (const file of readdirSync(logs))
    expect(readFileSync(join(logs, file), 'utf8')).not.toContain(hook.secret);
});

it('deleted it begins no night; its nights stay, and come back with it', async () => {
  expect((await schedule('delete', NAME)).code).toBe(0);
  expect((await schedule('last', NAME)).err).toMatch(/which was deleted/);
  const nights = (await (await context.schedules()).nights(NAME, 100)).length;
  expect(nights).toBe(5);
  expect((await create(0)).code).toBe(0);
  expect((await schedule('show', NAME)).out).toMatch(/regression/);
});

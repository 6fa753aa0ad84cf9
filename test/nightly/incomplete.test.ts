/**
 * Incomplete coverage on a real stack, through the command: no score and exit code 3; with `--allow-incomplete` a score
 * that says of how much it is wherever it is shown: text, JSON, HTML, Markdown, comparisons and nights.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AttemptsSummary } from '../../activities/campaign/summary.js';
import { openStack, type StackContext } from '../../cli/context.js';
import type { NightRow } from '../../core/nightly/schedule.js';
import { startStack } from '../../infra/stack/start.js';
import { type People, startPeople } from '../e2e/people.js';
import { until } from '../e2e/until.js';
import { type Ran, steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';

let home = '';
let file = '';
let people: People;
let context: StackContext;

beforeAll(async () => {
  home = temporaryHome();
  people = await startPeople();
  const user = { baseUrl: people.environment.STEADFAST_USER_URL, model: 'rules' };
  file = join(home, 'run.json');
  const model = { kind: 'scripted', errorRate: 0 };
  // Of these tasks one asks its user. With one try an answer that cannot be read exhausts its attempt.
  const run = { model, user, maxTries: 1, benchmark: { repeat: 2, limit: 6 } };
  writeFileSync(file, JSON.stringify(run));
  context = openStack(await startStack({ home }));
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  await people?.close();
});

const evaluate = (...more: readonly string[]): Promise<Ran> =>
  steadfast(home, 'evaluate', 'part', '--file', file, ...more);

it('shows no score, says how one can be had, and exits 3', async () => {
  people.silence(2);
  const ran = await evaluate();
  expect(ran.code).toBe(3);
  expect(ran.out).toMatch(/coverage +10 of 12 attempts clean, 2 exhausted/);
  expect(ran.out).toMatch(/--allow-incomplete shows one/);
  expect(ran.out).not.toMatch(/pass@1/);
}, 240_000);

it('a report of it exits 3, with and without scores', async () => {
  const without = await steadfast(home, 'report', 'eval/part');
  expect([without.code, without.err]).toEqual([3, expect.stringMatching(/shows no score/)]);
  const page = () => readFileSync(without.out.trim(), 'utf8');
  expect(page()).toMatch(/so no score is shown/);

  const with_ = await steadfast(home, 'report', 'eval/part', '--allow-incomplete', '--json');
  expect([with_.code, with_.err]).toEqual([3, expect.stringMatching(/says so beside every score/)]);
  const { html, markdown, json } = JSON.parse(with_.out) as Record<string, string>;
  for (const each of [html!, markdown!]) {
    expect(readFileSync(each, 'utf8')).toMatch(/Incomplete coverage, scores of 10 of 12 attempts/);
  }
  expect(JSON.parse(readFileSync(json!, 'utf8')).after.coverage).toMatchObject({
    complete: false,
    clean: 10,
    planned: 12,
  });
}, 240_000);

it('compared, both in text and in the page, it says so, and exits 3', async () => {
  const out = join(home, 'comparison.html');
  const ran = await steadfast(home, 'compare', 'part', 'part', '--allow-incomplete', '--out', out);
  expect(ran.code).toBe(3);
  expect(ran.out).toMatch(/\(incomplete: 10 of 12 attempts\)/);
  expect(readFileSync(out, 'utf8')).toMatch(/Incomplete coverage, scores of 10 of 12 attempts/);
  const refused = await steadfast(home, 'compare', 'part', 'part');
  expect([refused.code, refused.out]).toEqual([3, expect.stringMatching(/nothing is compared/)]);
}, 240_000);

it('--allow-incomplete says beside every score of how much it is; the ledger keeps none', async () => {
  people.silence(1);
  const ran = await evaluate('--allow-incomplete');
  expect(ran.code).toBe(3);
  const scores = ran.out.split('\n').filter((line) => /^(pass@|2\/2)/.test(line));
  expect(scores).toHaveLength(3);
  for (const line of scores) expect(line).toMatch(/\(incomplete: 11 of 12 attempts\)$/);
  const row = await (await context.ledger()).campaign('eval/part');
  expect((row!.result as AttemptsSummary).score).toBeNull();

  people.silence(1);
  const json = await evaluate('--allow-incomplete', '--json');
  expect(json.code).toBe(3);
  const { result } = JSON.parse(json.out) as { result: AttemptsSummary };
  expect(result).toMatchObject({ complete: false, score: { incomplete: '11 of 12 attempts' } });

  const whole = await evaluate('--allow-incomplete');
  expect([whole.code, whole.out]).toEqual([0, expect.not.stringMatching(/incomplete/)]);
}, 240_000);

it('a night of a schedule that asks for it has such a score, is compared with nothing, and exits 3', async () => {
  const schedule = (...args: readonly string[]) => steadfast(home, 'schedule', ...args);
  const made = await schedule(
    ...['create', 'partly', '--cron', '0 2 * * *', '--file', file, '--allow-incomplete'],
    ...['--baseline', 'eval/part'],
  );
  expect(made.code).toBe(0);
  people.silence(2);
  const schedules = await context.schedules();
  expect((await schedule('trigger', 'partly')).code).toBe(0);
  const night = await until('the night', async () => {
    const [newest] = await schedules.nights('partly', 1);
    return newest && newest.state !== 'running' && newest;
  });
  expect(night as NightRow).toMatchObject({
    state: 'incomplete',
    record: { regression: false, score: { incomplete: '10 of 12 attempts' } },
  });
  expect((night as NightRow).record.baseline ?? null).toBeNull();
  const words = /\(incomplete: 10 of 12 attempts\)/;
  const last = await schedule('last', 'partly');
  expect([last.code, last.out]).toEqual([3, expect.stringMatching(words)]);
  expect((await schedule('list')).out).toMatch(words);
  const report = await schedule('report', 'partly');
  expect(readFileSync(report.out.trim(), 'utf8')).toMatch(/incomplete: 10 of 12 attempts/);
}, 240_000);

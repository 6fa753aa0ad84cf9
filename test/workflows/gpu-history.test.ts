/**
 * Histories of GPU hosts: what the recorded ones say. Playing them (test/histories/gpu-hosts.ts) waits minutes for hosts
 * that die, so it is done where they are recorded anew, and checked the same then.
 *
 *   STEADFAST_RECORD_HISTORIES=job-run,serving npx vitest run test/workflows/gpu-history.test.ts
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { startStack } from '../../infra/stack/start.js';
import { PAYLOAD_BUDGET, SERVING } from '../../temporal.config.js';
import { GPU_WORKFLOWS, playGpuHosts } from '../histories/gpu-hosts.js';
import { isRecorded, RECORDING, readHistories, writeHistory } from '../histories/record.js';
import { type History, historyOf } from '../histories/scenario.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { activitiesOf, payloadsOf } from './events.js';

type Name = keyof typeof GPU_WORKFLOWS;
const NAMES = Object.keys(GPU_WORKFLOWS) as Name[];

let home = '';
let context: StackContext | undefined;
const histories = new Map<Name, History>();
const history = (name: Name): History => histories.get(name)!;

beforeAll(async () => {
  if (!RECORDING) {
    const recorded = readHistories();
    for (const name of NAMES) histories.set(name, recorded.get(name)!.history);
    return;
  }
  home = temporaryHome();
  context = openStack(await startStack({ home }));
  await playGpuHosts(context, home);
  const client = await context.temporal();
  for (const name of NAMES) histories.set(name, await historyOf(client, GPU_WORKFLOWS[name]));
}, 900_000);
afterAll(async () => {
  await context?.close();
  if (home !== '') await discard(home);
}, 200_000);

describe('a job', () => {
  it('has its hosts before it is kept, and gives them back whenever it ends', () => {
    const names = activitiesOf(history('job-run')).map(({ name }) => name);
    const own = names.filter((name) => /Hosts$|^keepJob$/.test(name));
    expect(own).toEqual(['takeHosts', 'keepJob', 'releaseHosts', 'takeHosts', 'releaseHosts']);
  });
});

describe('a serving', () => {
  it('waits for a host that a job has, and moves when its host dies', () => {
    const ran = activitiesOf(history('serving')).map(({ name }) => name);
    const rounds = ran.filter((name) => name === 'nextHosts');
    expect(rounds.length).toBeGreaterThan(SERVING.rounds);
    expect(ran).not.toContain('failServing');
    const kept = activitiesOf(history('serving')).filter(({ name }) => name === 'keepServer');
    expect(kept.at(-1)?.result).toBe('unneeded');
  });
});

it.each(NAMES)('%s: every payload is within its budget', (name) => {
  const over = payloadsOf(history(name)).filter(({ bytes }) => bytes > PAYLOAD_BUDGET.other);
  expect(over).toEqual([]);
});

it.runIf(RECORDING)('records the histories', () => {
  for (const name of NAMES) if (isRecorded(name)) writeHistory(name, GPU_WORKFLOWS[name], history(name));
});

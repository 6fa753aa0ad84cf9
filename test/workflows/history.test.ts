/**
 * What real histories say: one `runEpisode` an attempt and none that runs two, one update and one publish a step, the
 * same keys as the ledger's, payloads within their budgets. Also where recorded histories come from (record.ts).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignRow } from '../../activities/campaign/deps.js';
import { openStack, type StackContext } from '../../cli/context.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { EpisodeSummary } from '../../core/outcome.js';
import { startStack } from '../../infra/stack/start.js';
import { PAYLOAD_BUDGET } from '../../temporal.config.js';
import { type People, startPeople } from '../e2e/people.js';
import { isRecorded, RECORDING, writeHistory } from '../histories/record.js';
import { type History, historyOf, playScenario, WORKFLOWS } from '../histories/scenario.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { withVariables } from '../variables.js';
import { activitiesOf, payloadsOf } from './events.js';

type Name = keyof typeof WORKFLOWS;

let home = '';
let people: People;
let context: StackContext;
const histories = new Map<Name, History>();

beforeAll(async () => {
  home = temporaryHome();
  people = await startPeople();
  const info = await withVariables(people.environment, () => startStack({ home }));
  await playScenario(info, people);
  context = openStack(info);
  const client = await context.temporal();
  for (const [name, id] of Object.entries(WORKFLOWS)) {
    histories.set(name as Name, await historyOf(client, id));
  }
}, 400_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  await people?.close();
});

const STEPS = ['step', 'later-step', 'retried-step'] as const;
const EPISODES = [...STEPS, 'shard'] as const;

describe('episodes', () => {
  it.each(EPISODES)('%s: every activity runs one attempt, and no clean attempt runs twice', (name) => {
    const ran = episodesOf(name);
    expect(ran.length).toBeGreaterThan(0);
    for (const { input, result } of ran) {
      expect(input).toHaveLength(1);
      expect(result).toMatchObject({ key: expect.any(String) });
    }
    const clean = ran.map(({ result }) => result).filter(({ outcome }) => outcome !== 'system_error');
    expect(new Set(clean.map(({ key }) => key)).size).toBe(clean.length);
    const tries = ran.map(({ input: [ref], result }) => `${result.key} ${ref.tryNumber}`);
    expect(new Set(tries).size).toBe(tries.length);
  });

  it.each(STEPS)("%s: the keys are the ledger's", async (name) => {
    const [run = '', step = ''] = WORKFLOWS[name].split('/step-');
    const rows = await (await context.ledger()).attempts(run, { step: Number(step) });
    const clean = rows.filter(({ state }) => state === 'clean').map(({ key }) => key);
    const keys = episodesOf(name).filter(({ result }) => result.outcome !== 'system_error');
    expect(keys.map(({ result }) => result.key).sort()).toEqual(clean.sort());
    expect(rows.filter(({ state }) => state === 'pending')).toEqual([]);
  });

  it('the shard ran what the ledger holds', async () => {
    const rows = await (await context.ledger()).attempts(WORKFLOWS.probe);
    expect(
      episodesOf('shard')
        .map(({ result }) => result.key)
        .sort(),
    ).toEqual(rows.map(({ key }) => key).sort());
  });

  it('a try that met a system error was made again, under the same key', () => {
    const ran = episodesOf('retried-step');
    const faulted = ran.filter(({ result }) => result.outcome === 'system_error');
    expect(faulted.length).toBeGreaterThan(0);
    for (const { result, input } of faulted) {
      expect(result.fault).toBe('user');
      const again = ran.find(
        (other) => other.result.key === result.key && other.input[0].tryNumber === input[0].tryNumber + 1,
      );
      expect(again).toBeDefined();
    }
  });
});

describe('steps', () => {
  it.each(STEPS)('%s: one update, one publish, one batch', (name) => {
    const names = activitiesOf(history(name)).map((activity) => activity.name);
    const count = (wanted: string) => names.filter((candidate) => candidate === wanted).length;
    expect(['buildBatch', 'applyUpdate', 'publish', 'finishStep'].map(count)).toEqual([1, 1, 1, 1]);
    const order = ['beginStep', 'runEpisode', 'buildBatch', 'applyUpdate', 'publish', 'finishStep'];
    const places = order.map((wanted) => names.lastIndexOf(wanted));
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('a step was refilled', () => {
    const plans = STEPS.map((name) =>
      activitiesOf(history(name)).filter((one) => one.name === 'planMembers'),
    );
    expect(Math.max(...plans.map(({ length }) => length))).toBeGreaterThan(1);
  });

  it('held-out tasks were evaluated after the steps, never trained on, and noted', async () => {
    const ledger = await context.ledger();
    const train = await campaignRow(ledger, WORKFLOWS['training-run']);
    const { tasks, validation } = train.config as TrainConfig;
    expect(validation.tasks.length).toBeGreaterThan(0);
    expect(tasks.filter((id) => validation.tasks.includes(id))).toEqual([]);
    const evaluated = await ledger.attempts(WORKFLOWS.validation);
    expect(new Set(evaluated.map(({ taskId }) => taskId))).toEqual(new Set(validation.tasks));
    const [first] = await ledger.steps(WORKFLOWS['training-run']);
    expect(first?.metrics.validationPassAt1).toEqual(expect.any(Number));
  });
});

describe('payloads', () => {
  it.each(Object.keys(WORKFLOWS) as Name[])('%s: every one is within its budget', (name) => {
    const over = payloadsOf(history(name)).filter(
      ({ bytes, episodeResult }) =>
        bytes > (episodeResult ? PAYLOAD_BUDGET.runEpisode : PAYLOAD_BUDGET.other),
    );
    expect(over).toEqual([]);
  });

  // Three events an activity; how many share a workflow task depends on the machine, so the bound is loose.
  it.each(['shard', 'step'] as const)('%s: an activity costs few events', (name) => {
    const { events } = history(name);
    const activities = activitiesOf(history(name)).length;
    const largest = Math.max(...payloadsOf(history(name)).map(({ bytes }) => bytes));
    process.stderr.write(
      `${name}: ${episodesOf(name).length} episodes, ${activities} activities, ${events.length} events, largest payload ${largest} bytes\n`,
    );
    expect(events.length).toBeLessThan(20 + 7 * activities);
  });
});

it.runIf(RECORDING)('records the histories', () => {
  for (const [name, id] of Object.entries(WORKFLOWS)) {
    if (isRecorded(name)) writeHistory(name, id, history(name as Name));
  }
});

function history(name: Name): History {
  const found = histories.get(name);
  if (!found) throw new Error(`no history of ${name}`);
  return found;
}

interface RanEpisode {
  readonly input: readonly [{ readonly tryNumber: number }];
  readonly result: EpisodeSummary;
}

function episodesOf(name: Name): readonly RanEpisode[] {
  return activitiesOf(history(name)).filter(
    ({ name: activity }) => activity === 'runEpisode',
  ) as unknown as RanEpisode[];
}

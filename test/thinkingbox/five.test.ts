/** Five cases of the real benchmark, one per domain, through the real episode: official servers, official checks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../core/message.js';
import type { SandboxDriver, SandboxRequest } from '../../core/sandbox.js';
import { goldenPolicy, replayPolicy } from '../../suites/thinkingbox/golden.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { readList, type ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import { DATA, play, processDriver, THINKINGBOX, titled } from './given.js';

const given = THINKINGBOX !== undefined && DATA !== undefined;
const cases = await readList('examples/thinkingbox-five.yaml');
const EPISODE_MS = 300_000;

describe.skipIf(!given)(titled('five cases of ThinkingBox-Bench', given), () => {
  let suite: ThinkingBoxSuite;
  let driver: SandboxDriver;

  beforeAll(async () => {
    suite = await openThinkingBox(process.env);
    driver = await processDriver();
  }, EPISODE_MS);
  afterAll(() => suite?.close());

  test('are one per domain, and none may be trained on', async () => {
    const five = (await suite.tasks()).filter(({ id }) => cases.includes(id));
    expect(new Set(five.map(({ domain }) => domain))).toEqual(
      new Set(['retail', 'travel', 'insurance', 'neobank', 'consulting']),
    );
    expect(five.map(({ split }) => split)).toEqual(Array(5).fill('benchmark'));
  });

  test.each(cases)('golden calls pass: %s', { timeout: EPISODE_MS }, async (id) => {
    const sent: JsonObject[] = [];
    const golden = await suite.goldenCalls(id);
    const task = await suite.load(id);
    const episode = await play({ task, policy: replayPolicy(golden), driver: listening(driver, sent) });

    expect(episode.fault).toBeUndefined();
    expect(episode.releaseError).toBeUndefined();
    expect(episode.clean).toMatchObject({
      termination: 'done',
      verdict: { passed: true, reward: 1, reasons: [] },
    });
    expect(episode.record).toMatchObject({ toolCalls: golden.length, toolErrors: 0 });
    expect(episode.clean?.verdict.judged.length).toBe(id.includes('_rubrics_yesno') ? judged(id) : 0);

    // Nothing that was sent to the sandbox tells what is wanted, and nothing but effects came back from it.
    const init = sent.filter(({ tool }) => tool === '__reserved__init_text');
    expect(init).toHaveLength(1);
    expect(JSON.stringify(init)).not.toMatch(/golden|rubric/);
    expect(JSON.stringify(episode.record.messages)).not.toContain('golden');
    expect(JSON.stringify(episode.record.effects)).not.toContain('golden');
    // The wanted state stands beside the reached one, in the same shape.
    expect(hashes(episode.record.expected)).toEqual(hashes(episode.record.effects));
  });

  test.each(cases)('one extra write fails: %s', { timeout: EPISODE_MS }, async (id) => {
    const golden = await suite.goldenCalls(id);
    const write = golden.find(({ name }) => name.includes('create'));
    if (!write) throw new Error(`${id} creates nothing that could be created twice`);
    const task = await suite.load(id);
    const episode = await play({ task, policy: replayPolicy([...golden, write]), driver });

    expect(episode.fault).toBeUndefined();
    expect(episode.record.toolErrors).toBe(0);
    expect(episode.clean?.verdict).toMatchObject({ passed: false, reward: 0 });
    expect(episode.clean?.verdict.reasons[0]).toMatch(/AssertionError: Database hash .* difference\(s\)/s);
  });

  test('a start state with 300.0 arrives as 300.0, not as 300', { timeout: EPISODE_MS }, async () => {
    // This case's server keeps the number as an exact decimal, so that the golden calls reach another state otherwise.
    const id = 'external_booking_v1_group1.py:test_gsr_001';
    const policy = replayPolicy(await suite.goldenCalls(id));
    const episode = await play({ task: await suite.load(id), policy, driver });
    expect(episode.clean?.verdict).toMatchObject({ passed: true, reasons: [] });
  });

  test('one missing write and a judge that says no fail', { timeout: EPISODE_MS }, async () => {
    const id = cases.find((name) => name.includes('_rubrics_yesno')) ?? '';
    const golden = await suite.goldenCalls(id);
    const missing = await play({
      task: await suite.load(id),
      policy: replayPolicy(golden.slice(0, -1)),
      driver,
    });
    expect(missing.clean?.verdict.passed).toBe(false);

    const no = { ask: async () => false, complete: async () => 'No' };
    const refused = await play({
      task: await suite.load(id),
      policy: replayPolicy(golden),
      driver,
      judge: no,
    });
    expect(refused.clean?.verdict.passed).toBe(false);
    expect(refused.clean?.verdict.reasons[0]).toContain('Rubric yesno failed');
    expect(refused.clean?.verdict.judged).toMatchObject([{ answer: false }]);
  });

  test('the agent is offered the scenario’s tools and the framework’s own, and no reserved one', {
    timeout: EPISODE_MS,
  }, async () => {
    const task = await suite.load(cases[0] ?? '');
    const sandbox = await driver.create({
      name: 'thinkingbox-tools',
      servers: task.servers,
      signal: new AbortController().signal,
    });
    try {
      await task.init(sandbox.tools, new AbortController().signal);
      const tools = await task.visibleTools(sandbox.tools, new AbortController().signal);
      expect(tools[0]).toMatchObject({ name: 'InjectionAttackInToolResponse', endsTurn: true });
      expect(tools).toHaveLength(34);
      expect(tools.filter(({ name }) => name.startsWith('__reserved__'))).toEqual([]);
      expect(JSON.stringify(tools)).not.toMatch(/"\$ref"|"\$defs"/);
      const search = { signal: new AbortController().signal, timeoutMs: 60_000 };
      const found = await sandbox.tools.call(
        'sandbox_external_retail',
        'search_policy',
        { query: 'refunds' },
        search,
      );
      expect(found.text).toContain('error');
    } finally {
      await sandbox.release();
    }
  });

  test('the built-in scripted policy finds the golden calls of the case that it meets', {
    timeout: EPISODE_MS,
  }, async () => {
    const policy = goldenPolicy(suite, { errorRate: 0, turnDelayMs: 0 });
    const careless = goldenPolicy(suite, { errorRate: 1, turnDelayMs: 0 });
    const id = cases[4] ?? '';
    const episode = await play({ task: await suite.load(id), policy, driver });
    expect(episode.clean?.verdict.passed).toBe(true);
    const nothing = await play({ task: await suite.load(id), policy: careless, driver });
    expect(nothing.record.toolCalls).toBe(0);
    expect(nothing.clean?.verdict.passed).toBe(false);
  });

  test('two cases with one opening are told apart by their id alone', async () => {
    const policy = goldenPolicy(suite, { errorRate: 0, turnDelayMs: 0 });
    const opening = 'Hi, I need to cancel my hotel reservation.\n';
    const both = await suite.tasksOpening(opening);
    expect(both).toHaveLength(2);
    const sampling = { temperature: 1, topK: 0, topP: 1 };
    const request = { systemMessages: [], tools: [], seed: '1', sampling, maxPromptTokens: 1 };
    const first = async (taskId?: string) => {
      const session = await policy.begin({ ...request, ...(taskId === undefined ? {} : { taskId }) });
      const limits = { maxTokens: 1, signal: new AbortController().signal };
      return (await session.turn([{ role: 'user', content: opening }], limits)).message.toolCalls;
    };
    await expect(first()).rejects.toMatchObject({ kind: 'policy', code: 'unknown_task', retry: false });
    expect(await first(both[0])).not.toEqual(await first(both[1]));
  });

  test('an unknown case is refused with the nearest ones', async () => {
    await expect(suite.load('sandbox_consulting_group1.py:test_csa_002')).rejects.toThrow(
      /case id: expected .*found "sandbox_consulting_group1.py:test_csa_002". Did you mean .*test_csa_001/,
    );
  });
});

/** Rubric questions of the two cases that have some. */
function judged(id: string): number {
  return id.startsWith('external_booking_v1') ? 2 : 1;
}

function hashes(effects: unknown): unknown {
  return Object.values(effects as Record<string, { result_db_hash: string }>).map(
    (one) => one.result_db_hash,
  );
}

/** The driver itself, with every call that goes to a server written down. */
function listening(driver: SandboxDriver, sent: JsonObject[]): SandboxDriver {
  return {
    ...driver,
    create: async (request: SandboxRequest) => {
      const sandbox = await driver.create(request);
      const { tools } = sandbox;
      return {
        ...sandbox,
        tools: {
          list: (signal) => tools.list(signal),
          call: (server, tool, args, options) => {
            sent.push({ server, tool, args });
            return tools.call(server, tool, args, options);
          },
        },
      };
    },
  };
}

/** The outcome table of design section 4, row by row, on a real MCP server. */
import { describe, expect, test } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { Fault } from '../../core/faults.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import { episodeParts } from './fixtures/parts.js';
import { type Line, script } from './fixtures/scripted.js';
import { shelfTask, verdictOn } from './fixtures/shelf-task.js';

const PUT: Line = { call: [['put', { id: 'a', count: 2 }]] };
const DONE: Line = { say: 'row a has 2 . <DONE>' };

const play = (lines: readonly Line[], changes: Parameters<typeof episodeParts>[1] = {}) =>
  playEpisode(episodeParts(lines, changes));

describe('clean outcomes', () => {
  test('passed: calls, observations and the end marker', async () => {
    const { record, clean } = await play([{ call: [['look', { id: 'a' }]] }, PUT, DONE]);
    expect(clean).toMatchObject({ termination: 'done', verdict: { passed: true, reward: 1 } });
    expect(record.messages.map((m) => m.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(record.messages[3]).toMatchObject({ callId: 'c0', content: 'a has 1', isError: false });
    expect(record).toMatchObject({
      effects: { shelf: { a: 2 } },
      expected: { shelf: { a: 2 } },
      toolCalls: 2,
    });
    expect(record.usage).toMatchObject({ policyCalls: 3, policySampledTokens: 15, policyPromptTokens: 30 });
  });

  test.each([
    ['wrong', [{ call: [['put', { id: 'a', count: 3 }]] }, DONE]],
    ['missing', [DONE]],
    ['extra', [PUT, { call: [['put', { id: 'b', count: 1 }]] }, DONE]],
  ] as [string, Line[]][])('failed: %s side effects', async (_name, lines) => {
    expect((await play(lines)).clean?.verdict).toMatchObject({ passed: false, reward: 0 });
  });

  test.each([
    ['a tool error', 'look', { id: 'zzz' }, 'no row zzz'],
    ['an unknown tool', 'fly', {}, 'error: unknown tool "fly", known: look, put'],
    ['a reserved tool', '__reserved__init', { rows: { a: 2 } }, 'error: unknown tool'],
    ['bad arguments', 'refuse', {}, 'count is missing'],
    ['an exception in the tool', 'throw', {}, 'the shelf broke down'],
  ] as const)('%s is an observation, and the episode goes on', async (_name, tool, args, said) => {
    const { record, clean } = await play([{ call: [[tool, args]] }, PUT, DONE]);
    expect(record.messages[3]).toMatchObject({ role: 'tool', isError: true });
    expect(record.messages[3]?.content).toContain(said);
    expect(record.toolErrors).toBe(1);
    expect(clean?.verdict.passed).toBe(true);
  });

  test('a call that must not be executed is refused with its reason', async () => {
    const { record, clean } = await play([{ ...PUT, refuse: 'beyond 2^53' }, DONE]);
    expect(record.messages[3]).toMatchObject({ content: 'error: beyond 2^53', isError: true });
    expect(clean?.verdict.passed).toBe(false);
  });

  test('a call cut off by the token limit is never executed, and the model is told', async () => {
    const policy = script([{ ...PUT, cutOff: true }, { say: '', cutOff: true }, DONE]);
    const { record, clean } = await play([], { policy });
    expect(record.effects).toEqual({ shelf: { a: 1 } });
    expect(policy.heard[1]?.observations[0]).toContain('cut off by the token limit');
    expect(policy.heard[2]?.observations[0]).toContain('cut off by the token limit');
    expect(record).toMatchObject({ truncatedTurns: 2, toolCalls: 1 });
    expect(clean).toMatchObject({ termination: 'done', verdict: { passed: false } });
  });

  test('a spent token budget ends the episode as failed, though the state is right', async () => {
    const limits = { ...EPISODE_LIMITS, tokensPerCall: 8, tokensPerEpisode: 12 };
    const policy = script([
      { ...PUT, tokens: 8 },
      { say: 'and so', tokens: 4, cutOff: true },
    ]);
    const { record, clean } = await play([], { policy, limits });
    expect(policy.heard.map((h) => h.maxTokens)).toEqual([8, 4]);
    expect(record.effects).toEqual({ shelf: { a: 2 } });
    expect(clean).toMatchObject({ termination: 'token_budget', verdict: { passed: false, reward: 0 } });
    const lenient = await play([], {
      policy: script([{ ...PUT, tokens: 12 }]),
      limits,
      task: shelfTask({ passesAtLimits: true }),
    });
    expect(lenient.clean).toMatchObject({ termination: 'token_budget', verdict: { passed: true } });
  });

  test('a conversation that outgrows the context ends like a spent budget', async () => {
    const full = new Fault('policy', 'full', { code: 'context_full', retry: false });
    const { clean } = await play([PUT, { fail: async () => Promise.reject(full) }]);
    expect(clean).toMatchObject({ termination: 'token_budget', verdict: { passed: false } });
  });

  test("agent limit: the task's own bound holds when it is lower", async () => {
    const { record, clean } = await play([PUT], { task: shelfTask({ maxAgentActions: 3 }) });
    expect(clean).toMatchObject({ termination: 'agent_limit', verdict: { passed: false } });
    expect(record.turns).toHaveLength(3);
    const limits = { ...EPISODE_LIMITS, agentActions: 2 };
    expect((await play([PUT], { limits })).record.turns).toHaveLength(2);
  });

  test('a tool that ends the turn ends the conversation', async () => {
    const { clean } = await play([PUT, { call: [['finish', {}]] }]);
    expect(clean).toMatchObject({ termination: 'end_turn_tool', verdict: { passed: true } });
  });

  test('one that no server owns ends it too, with an empty observation', async () => {
    const bye = {
      name: 'hand_over',
      description: 'ends it',
      inputSchema: { type: 'object' },
      endsTurn: true,
    };
    const task = shelfTask();
    const offering = { ...task, visibleTools: async () => [bye] };
    const { clean, fault, record } = await play([{ call: [['hand_over', {}]] }], { task: offering });
    expect(fault).toBeUndefined();
    expect(clean?.termination).toBe('end_turn_tool');
    expect(record.messages.at(-1)).toMatchObject({ role: 'tool', content: '', isError: false });
  });

  test('the end marker counts at the end of a message, not in the middle of it', async () => {
    const spoken = await play([PUT, { say: 'i will say <DONE> when it is done' }]);
    expect(spoken.clean?.termination).toBe('no_user');
    expect((await play([PUT, { say: 'it is done <DONE> \n' }])).clean?.termination).toBe('done');
  });

  test('the policy is told which task it plays', async () => {
    const policy = script([DONE]);
    const told: (string | undefined)[] = [];
    const listening = {
      ...policy,
      begin: (request: Parameters<typeof policy.begin>[0]) => {
        told.push(request.taskId);
        return policy.begin(request);
      },
    };
    await play([], { policy: listening });
    expect(told).toEqual([shelfTask().ref.id]);
  });

  test('an answer without a marker and without a simulated user', async () => {
    expect((await play([PUT, { say: 'done' }])).clean).toMatchObject({ termination: 'no_user' });
  });

  test('the simulated user answers, up to its limit', async () => {
    const user = { opening: 'help .', context: 'row: a', maxTurns: 2, mayEnd: false };
    const seen: number[] = [];
    const answering = {
      answer: async (_b: unknown, t: readonly unknown[]) => `row a ${seen.push(t.length)}`,
    };
    const policy = script([{ say: 'which row ?' }]);
    const { clean, record } = await play([], { task: shelfTask({ user }), policy, user: answering });
    expect(clean).toMatchObject({ termination: 'user_limit' });
    expect(policy.heard.map((h) => h.observations)).toEqual([['help .'], ['row a 1'], ['row a 2']]);
    expect(record.turns).toHaveLength(3);
  });

  test('the simulated user may end the conversation only where the task says so', async () => {
    const user = { answer: async () => 'thanks <DONE>' };
    const brief = { opening: 'help .', context: 'row: a', maxTurns: 1, mayEnd: true };
    const ended = await play([{ say: 'well' }], { user, task: shelfTask({ user: brief }) });
    expect(ended.clean).toMatchObject({ termination: 'user_done' });
    const not = await play([{ say: 'well' }], {
      user,
      task: shelfTask({ user: { ...brief, mayEnd: false } }),
    });
    expect(not.clean).toMatchObject({ termination: 'user_limit' });
  });

  test('an unreadable turn is told to the model', async () => {
    const policy = script([{ problems: ['a tool call could not be read: x'] }, PUT, DONE]);
    const { clean, record } = await play([], { policy });
    expect(policy.heard[1]?.observations).toEqual(['error: a tool call could not be read: x']);
    expect(record.toolCalls).toBe(1);
    expect(clean?.verdict.passed).toBe(true);
  });
});

describe('faults: never a score', () => {
  const rejects = (error: Error) => async () => Promise.reject(error);
  const forever = () => new Promise<never>(() => {});
  const quick = { ...EPISODE_LIMITS, episodeMs: 150 };
  const userTask = () =>
    shelfTask({ user: { opening: 'hi', context: 'row: a', maxTurns: 2, mayEnd: false } });

  test.each([
    ['episode clock, policy', 'deadline', [{ fail: forever }], { limits: quick }],
    ['episode clock, grading', 'deadline', [DONE], { limits: quick, task: shelfTask({ grade: forever }) }],
    ['message clock', 'deadline', [{ fail: forever }], { limits: { ...EPISODE_LIMITS, messageMs: 50 } }],
    [
      'user clock',
      'deadline',
      [{ say: 'hm' }],
      { limits: { ...EPISODE_LIMITS, messageMs: 50 }, task: userTask(), user: { answer: forever } },
    ],
    ['policy endpoint', 'policy', [{ fail: rejects(new Error('down')) }], {}],
    ['zero policy tokens', 'policy', [{ ...DONE, tokens: 0 }], {}],
    [
      'other weights',
      'policy',
      [
        { ...PUT, weights: 'w1' },
        { ...DONE, weights: 'w2' },
      ],
      {},
    ],
    [
      'simulated user',
      'user',
      [{ say: 'hm' }],
      { task: userTask(), user: { answer: rejects(new Error('down')) } },
    ],
    [
      'start',
      'sandbox',
      [DONE],
      {
        task: shelfTask({
          servers: [{ name: 'shelf', inline: rejects(new Error('no')), startTimeoutMs: 9 }],
        }),
      },
    ],
    ['init', 'suite', [DONE], { task: shelfTask({ init: rejects(new Error('bad state')) }) }],
    [
      'check raises',
      'grader',
      [DONE],
      { task: shelfTask({ grade: rejects(new TypeError('x is undefined')) }) },
    ],
    [
      'check gives no verdict',
      'grader',
      [DONE],
      { task: shelfTask({ grade: async () => undefined as never }) },
    ],
    [
      'reward is absent',
      'grader',
      [DONE],
      { task: shelfTask({ grade: async () => ({ passed: true }) as never }) },
    ],
    [
      'reward is no number',
      'grader',
      [DONE],
      { task: shelfTask({ grade: async (i) => ({ ...verdictOn(i.effects), reward: Number.NaN }) }) },
    ],
    ['judge', 'judge', [DONE], { task: shelfTask({ grade: rejects(new Fault('judge', 'unreadable')) }) }],
  ] as [string, string, Line[], Parameters<typeof episodeParts>[1]][])(
    '%s',
    async (_name, kind, lines, changes) => {
      const played = await play(lines, changes);
      expect(played.clean).toBeUndefined();
      expect(played.fault?.kind).toBe(kind);
      expect(played.fault?.duringToolCall).toBe(false);
    },
  );

  test.each([
    ['a hanging tool', 'hang', 'deadline'],
    ['a dying server', 'die', 'sandbox'],
  ] as const)("%s is marked as inside one of the agent's calls", async (_name, tool, kind) => {
    const limits = { ...EPISODE_LIMITS, toolMs: 60 };
    const { fault, record } = await play([{ call: [[tool, {}]] }], { limits });
    expect(fault).toMatchObject({ kind, duringToolCall: true, retry: true });
    expect(record.messages).toHaveLength(3);
  });
});

describe('the sandbox is released on every path', () => {
  function counting(release: () => Promise<void> = async () => {}): SandboxDriver & { alive: number } {
    const inner = createInlineDriver();
    const driver = {
      isolation: inner.isolation,
      reap: inner.reap,
      alive: 0,
      living: inner.living,
      create: async (request: Parameters<SandboxDriver['create']>[0]) => {
        const sandbox = await inner.create(request);
        driver.alive += 1;
        const once = async (): Promise<void> => {
          driver.alive -= 1;
          await sandbox.release();
          await release();
        };
        return { ...sandbox, release: once };
      },
    };
    return driver;
  }

  test.each([
    ['clean', [DONE], {}],
    ['policy fault', [{ fail: async () => Promise.reject(new Error('down')) }], {}],
    [
      'episode deadline',
      [{ fail: () => new Promise<never>(() => {}) }],
      { limits: { ...EPISODE_LIMITS, episodeMs: 80 } },
    ],
    ['grader fault', [DONE], { task: shelfTask({ grade: async () => Promise.reject(new Error('x')) }) }],
  ] as [string, Line[], Parameters<typeof episodeParts>[1]][])('%s', async (_name, lines, changes) => {
    const driver = counting();
    await play(lines, { ...changes, driver });
    expect(driver.alive).toBe(0);
  });

  test('a release that fails leaves the outcome alone', async () => {
    const driver = counting(async () => Promise.reject(new Error('busy')));
    const played = await play([PUT, DONE], { driver });
    expect(played.clean?.verdict.passed).toBe(true);
    expect(played.releaseError).toBe('busy');
  });

  test('cancellation reaches the request in flight, releases, and is the only thing thrown', async () => {
    const driver = counting();
    const controller = new AbortController();
    const fail = (): Promise<never> => {
      controller.abort(new Error('stop'));
      return new Promise<never>(() => {});
    };
    const playing = play([{ fail }], { driver, signal: controller.signal });
    await expect(playing).rejects.toMatchObject({ kind: 'cancelled' });
    expect(driver.alive).toBe(0);
  });
});

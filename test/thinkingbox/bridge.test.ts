/** The bridge on a dataset of our own: what it reads, and every way in which a check can end. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Fault } from '../../core/faults.js';
import type { Message } from '../../core/message.js';
import type { Verdict } from '../../core/outcome.js';
import type { ToolSession } from '../../core/sandbox.js';
import type { Judge, TaskRef } from '../../core/suite.js';
import { Bridge, BridgeError, BridgeLost } from '../../suites/thinkingbox/bridge.js';
import { gradedCase, listedCases, loadedCase } from '../../suites/thinkingbox/protocol.js';
import { pythonEnvironment } from '../../suites/thinkingbox/python.js';
import { ThinkingBoxTask } from '../../suites/thinkingbox/task.js';
import { FRAMEWORK, preparedPython, YES } from './given.js';

const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 120_000;

const SAID: readonly Message[] = [
  { role: 'system', content: 'You look after a shelf of books.' },
  { role: 'user', content: 'Put the novel on the shelf.' },
  {
    role: 'assistant',
    reasoning: 'Easy.',
    content: '',
    toolCalls: [{ id: 'c0', name: 'put', arguments: { title: 'novel' } }],
  },
  { role: 'tool', callId: 'c0', name: 'put', content: 'ok', isError: false },
  {
    role: 'assistant',
    reasoning: '',
    content: 'It stands there. <DONE>',
    toolCalls: [{ id: 'c1', name: 'leave', arguments: {} }],
  },
];

describe('the bridge', () => {
  let bridge: Bridge;

  beforeAll(async () => {
    const python = await preparedPython();
    const env = pythonEnvironment(python, { thinkingboxDir: FRAMEWORK, dataDir: MINI });
    bridge = new Bridge({ python, dataDir: MINI, env });
  }, SLOW_MS);
  afterAll(() => bridge?.close());

  const open = (...names: string[]) =>
    bridge.request({ op: 'open', body: { names }, reply: listedCases, signal: never(), timeoutMs: SLOW_MS });
  const load = (name: string) =>
    bridge.request({ op: 'load', body: { name }, reply: loadedCase, signal: never(), timeoutMs: SLOW_MS });
  const grade = async (name: string, judge: Judge = YES): Promise<Verdict> => {
    const ref = { id: `shelf.py:${name}` } as TaskRef;
    const task = new ThinkingBoxTask(ref, await load(ref.id), bridge, {});
    const signal = never();
    await task.init(answering({ status: 'ok', room: 'study' }), signal);
    const effects = await task.effects(answering({ books: ['atlas', 'novel'] }), signal);
    return task.grade({ effects, messages: SAID, termination: 'done', judge, tools: answering({}), signal });
  };

  test(
    'lists cases in the order asked for, with digests that tell wording from substance',
    async () => {
      const listed = await open('shelf.py:test_fails', 'shelf.py:test_passes', 'shelf.py:test_raises');
      expect(listed.map(({ id }) => id)).toEqual([
        'shelf.py:test_fails',
        'shelf.py:test_passes',
        'shelf.py:test_raises',
      ]);
      const [fails, passes, raises] = listed;
      expect(fails?.digest).not.toBe(raises?.digest);
      expect(fails?.templateDigest).toBe(raises?.templateDigest);
      expect(fails?.templateDigest).not.toBe(passes?.templateDigest);
      expect(await open('shelf.py:test_fails')).toEqual([fails]);
    },
    SLOW_MS,
  );

  test('hydrates a case: merged start state, no search sources, limits, instructions, server', async () => {
    expect(await load('shelf.py:test_passes')).toMatchObject({
      systemMessages: ['You look after a shelf of books.', 'Be brief.\nAsk for the color.'],
      opening: 'Put the novel on the shelf.',
      context: 'It is a red one.',
      maxUserTurns: 3,
      maxAgentActions: 7,
      doneMarker: '<DONE>',
      tools: [{ name: 'put', override_description: 'Puts a book on the shelf.' }],
      servers: [
        {
          name: 'shelf',
          command: [expect.stringContaining('python'), expect.stringContaining('serve.py'), 'shelf_server'],
          env: { SHELF: 'oak' },
          config: '{"sources": [], "books": ["atlas", "novel"]}',
          expected: null,
        },
      ],
      directTools: [],
    });
    const { servers } = new ThinkingBoxTask(
      { id: 'shelf.py:test_passes' } as TaskRef,
      await load('shelf.py:test_passes'),
      bridge,
      { LANG: 'C' },
    );
    expect(servers[0]?.command).toMatchObject({
      args: [expect.stringContaining('serve.py'), 'shelf_server'],
      env: { LANG: 'C', SHELF: 'oak' },
    });
  });

  test('a check that holds passes, with the conversation in the official form', async () => {
    expect(await grade('test_passes')).toEqual({ passed: true, reward: 1, reasons: [], judged: [] });
  });

  test('an assertion is a failed verdict in the check’s own words', async () => {
    const verdict = await grade('test_fails');
    expect(verdict).toMatchObject({ passed: false, reward: 0 });
    expect(verdict.reasons[0]).toMatch(
      /^AssertionError: the shelf should be empty\nbut it is not\n.*line \d+: assert x/s,
    );
  });

  test('a reward that the check returns is kept', async () => {
    expect(await grade('test_scores')).toMatchObject({ passed: true, reward: 0.25 });
  });

  test('any other exception is a fault of the grader, with Python’s traceback', async () => {
    const fault = await grade('test_raises').catch((error: unknown) => error);
    expect(fault).toMatchObject({ kind: 'grader', code: 'check', retry: true });
    expect((fault as Fault).message).toContain("KeyError: 'missing'");
    expect((fault as Fault).stack).toContain('Traceback (most recent call last)');
  });

  test('questions go to our judge one by one, and are recorded with their answers', async () => {
    const asked: string[] = [];
    const judge: Judge = {
      ...YES,
      ask: async ({ system, user }) => {
        asked.push(user);
        expect(system).toContain('judge');
        return !user.includes('alike');
      },
    };
    expect(await grade('test_asks', judge)).toEqual({
      passed: true,
      reward: 1,
      reasons: [],
      judged: [
        { question: 'Is it polite?', answer: true },
        { question: 'Are they alike?', answer: false },
        { question: 'Is it late?', answer: true },
      ],
    });
    expect(asked).toHaveLength(3);
  });

  test('a judge that fails is a fault of the judge, never a verdict, even where the check would go on', async () => {
    const failing = (at: number): Judge => {
      let asked = 0;
      return {
        ...YES,
        ask: async ({ user }) => {
          asked += 1;
          if (asked === at) throw new Fault('judge', 'the judge is down', { code: 'unavailable' });
          return !user.includes('alike');
        },
      };
    };
    await expect(grade('test_asks', failing(1))).rejects.toMatchObject({
      kind: 'judge',
      code: 'unavailable',
    });
    await expect(grade('test_asks', failing(3))).rejects.toMatchObject({
      kind: 'judge',
      code: 'unavailable',
    });
  });

  test('an answer with reasons that cannot be read is asked again with a reminder, then a fault, never a no', async () => {
    const systems: string[] = [];
    const saying = (...answers: string[]): Judge => ({
      ...YES,
      complete: async ({ system }) => {
        systems.push(system);
        return answers[Math.min(systems.length, answers.length) - 1]!;
      },
    });
    const judged = [{ question: 'Is it polite?', answer: true }];
    const readable = '{"answer": "yes", "motivation": "it says please"}';
    expect(await grade('test_motivates', saying('well', readable))).toMatchObject({ passed: true, judged });
    expect(systems).toHaveLength(2);
    expect(systems[1]).toBe(
      `${systems[0]}\nYour last answer could not be read. Answer with one JSON object of the form asked for, and nothing else.`,
    );
    systems.length = 0;
    await expect(grade('test_motivates', saying('well'))).rejects.toMatchObject({
      kind: 'judge',
      code: 'unreadable',
    });
    expect(systems).toHaveLength(3);
  });

  test('many checks at once do not mix up their judges', async () => {
    const graded = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        grade('test_asks', {
          ...YES,
          ask: async ({ user }) => (user.includes('alike') ? false : index % 2 === 0),
        }),
      ),
    );
    expect(graded.map(({ passed }) => passed)).toEqual(graded.map((_, index) => index % 2 === 0));
  });

  test('a cancelled check throws the reason of the cancellation', async () => {
    const stop = new AbortController();
    const body = { name: 'shelf.py:test_asks', effects: {}, messages: SAID, given: 2, initResult: {} };
    const reply = bridge.request({
      op: 'grade',
      body,
      reply: gradedCase,
      signal: stop.signal,
      timeoutMs: SLOW_MS,
      answer: async () => {
        stop.abort(new Fault('cancelled', 'stopped'));
        return true;
      },
    });
    await expect(reply).rejects.toMatchObject({ kind: 'cancelled' });
  });

  test(
    'a check that never ends is a deadline, and the next one is graded by a new bridge',
    async () => {
      const body = {
        name: 'shelf.py:test_never_ends',
        effects: {},
        messages: SAID,
        given: 2,
        initResult: {},
      };
      const endless = bridge.request({
        op: 'grade',
        body,
        reply: gradedCase,
        signal: never(),
        timeoutMs: 300,
      });
      await expect(endless).rejects.toMatchObject({ kind: 'deadline' });
      expect(await grade('test_passes')).toMatchObject({ passed: true });
    },
    SLOW_MS,
  );

  test('bad input is one error that names file, line or case', async () => {
    await expect(open('broken.py:test_broken')).rejects.toThrow(
      /broken\.py: expected a case file .* SyntaxError/,
    );
    await expect(open('lacking.py:test_lacking')).rejects.toThrow(
      /lacking\.py:1: expected the module a_module_that_nobody_has, found it cannot be imported/,
    );
    await expect(open('misspelt.py:test_misspelt')).rejects.toThrow(/misspelt\.py: .* 'querry'/);
    await expect(open('no-colon')).rejects.toThrow(/case id: expected file\.py:test_name/);
    const unknown = await open('shelf.py:test_passed').catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(BridgeError);
    expect((unknown as BridgeError).failure).toMatchObject({
      code: 'unknown_case',
      details: { known: expect.arrayContaining(['shelf.py:test_passes']) },
    });
  });

  test('an interpreter that is not there is told', async () => {
    const nowhere = new Bridge({ python: '/nowhere/python', dataDir: MINI, env: {} });
    const opened = nowhere.request({
      op: 'open',
      body: {},
      reply: listedCases,
      signal: never(),
      timeoutMs: SLOW_MS,
    });
    await expect(opened).rejects.toBeInstanceOf(BridgeLost);
    await expect(opened).rejects.toThrow(/cannot start \/nowhere\/python/);
  });
});

/** A signal that never aborts. */
function never(): AbortSignal {
  return new AbortController().signal;
}

/** A session whose one server answers every reserved call with `value`. */
function answering(value: object): ToolSession {
  return {
    list: async () =>
      ['__reserved__init', '__reserved__geteffects'].map((name) => ({
        name,
        server: 'shelf',
        inputSchema: {},
      })),
    call: async () => ({ text: JSON.stringify(value), isError: false }),
  };
}

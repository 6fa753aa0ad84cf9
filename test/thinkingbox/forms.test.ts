/** Cases of every form as whole episodes: our own of two servers, fixtures and histories, and the framework's example. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readText } from '../../activities/policy/read-turn.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { JsonObject } from '../../core/message.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import { revisionOf } from '../../suites/thinkingbox/checkout.js';
import { replayPolicy } from '../../suites/thinkingbox/golden.js';
import type { ScriptedCall } from '../../suites/thinkingbox/protocol.js';
import { createThinkingBox, type ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import type { ServerStart } from '../../suites/thinkingbox/task.js';
import { FRAMEWORK, play, preparedPython, processDriver, THINKINGBOX, titled } from './given.js';

const given = THINKINGBOX !== undefined;
const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 300_000;
const CASES = ['rooms.py:test_two_servers', 'rooms.py:test_fixtures', 'rooms.py:test_history'].concat([
  'rooms.py:test_formatted',
  'rooms.py:test_exact',
  'rooms.py:test_ends',
  'till.py:test_sale',
]);

const put = (title: string) => call('put', { title });
function call(name: string, args: JsonObject, argumentsText = JSON.stringify(args)): ScriptedCall {
  return { name, arguments: args, argumentsText };
}

async function opened(
  dataDir: string,
  options: { cases?: readonly string[]; servers?: ServerStart },
): Promise<ThinkingBoxSuite> {
  const thinkingboxDir = FRAMEWORK;
  const python = await preparedPython();
  const accepted = {
    thinkingbox: await revisionOf(thinkingboxDir, 'thinkingbox', 'thinkingbox'),
    data: await revisionOf(dataDir, 'data', 'data'),
  };
  const cache = await mkdtemp(join(tmpdir(), 'listings-'));
  return createThinkingBox({ thinkingboxDir, dataDir, python, accepted, cache, ...options });
}

describe.each(['forked', 'stdio'] as const)('our own cases, %s', (servers) => {
  let suite: ThinkingBoxSuite;
  let driver: SandboxDriver;
  beforeAll(async () => {
    suite = await opened(MINI, { cases: CASES, servers });
    driver = await processDriver();
  }, SLOW_MS);
  afterAll(() => suite?.close());

  const episode = async (id: string, ...calls: readonly ScriptedCall[]) => {
    const played = await play({ task: await suite.load(id), policy: replayPolicy(calls), driver });
    expect(played.fault).toBeUndefined();
    return { ...played, verdict: played.clean?.verdict };
  };

  test('two servers with a tool of one name: the later owns it', { timeout: SLOW_MS }, async () => {
    const { verdict, record } = await episode('rooms.py:test_two_servers', put('novel'));
    expect(verdict).toMatchObject({ passed: true, reasons: [] });
    expect(record.effects).toMatchObject({ rack: { books: ['novel'] }, shelf: { books: ['atlas'] } });
    expect((await episode('rooms.py:test_two_servers')).verdict).toMatchObject({ passed: false });
  });

  test('the agent’s own numbers arrive at the server and at the check as written', {
    timeout: SLOW_MS,
  }, async () => {
    const text = '{"title": "novel", "notes": {"grams": 300.0}}';
    const weigh = call('weigh', JSON.parse(text) as JsonObject, text);
    const { verdict, record } = await episode('rooms.py:test_exact', weigh);
    expect(verdict).toMatchObject({ passed: true, reasons: [] });
    expect(JSON.stringify(record.messages)).toContain('300.0');
  });

  test.each([
    [
      'qwen3_xml_plain',
      '<tool_call>\n<function=weigh>\n<parameter=title>\nnovel\n</parameter>\n<parameter=notes>\n{"grams": 300.0}\n</parameter>\n</function>\n</tool_call>',
    ],
    [
      'hermes_plain',
      '<tool_call>{"name": "weigh", "arguments": {"title": "novel", "notes": {"grams": 300.0}}}</tool_call>',
    ],
  ])(
    'so do those that a token policy writes within an object, %s',
    { timeout: SLOW_MS },
    async (format, raw) => {
      const task = await suite.load('rooms.py:test_exact');
      const notes = { type: 'object', properties: { title: { type: 'string' }, notes: { type: 'object' } } };
      const { message } = readText(outputFormat(format), raw, [{ name: 'weigh', inputSchema: notes }], 0);
      const read = message.toolCalls.map(({ name, arguments: args, argumentsText }) =>
        call(name, args, argumentsText),
      );
      const policy = replayPolicy(read);
      const { clean, record, fault } = await play({ task, policy, driver });
      expect(fault).toBeUndefined();
      expect(clean?.verdict).toMatchObject({ passed: true, reasons: [] });
      expect(record.effects).toMatchObject({ rack: { weights: { novel: { grams: '300.0' } } } });
    },
  );

  test('what is wanted reaches neither server, agent nor trajectory', { timeout: SLOW_MS }, async () => {
    const seen = await episode('till.py:test_sale', call('peek', {}), call('create_sale', { amount: 42 }));
    expect(seen.verdict).toMatchObject({ passed: false });
    const told = JSON.stringify(seen.record.messages);
    expect(told).toContain('data_patch');
    expect(told).not.toMatch(/canary-of-the|golden/);
    expect(JSON.stringify(seen.record.effects)).not.toMatch(/canary-of-the|golden/);

    const golden = await suite.goldenCalls('till.py:test_sale');
    const perfect = await episode('till.py:test_sale', ...golden);
    expect(perfect.verdict).toMatchObject({ passed: true, judged: [{ answer: true }] });
    const sale = { path: 'sales[S2]', is: { id: 'S2', amount: 42, note: 'canary-of-the-golden-calls' } };
    expect(perfect.record.effects).toEqual(perfect.record.expected);
    expect(perfect.record.effects).toEqual({
      till: { result_db_hash: expect.any(String), changes: [sale] },
    });
  });

  // Nothing of these hangs on how servers start, and each of their programs takes seconds to.
  if (servers === 'stdio') return;

  test('fixtures of conftest and scenario, one of them calling tools of the live session', {
    timeout: SLOW_MS,
  }, async () => {
    expect((await episode('rooms.py:test_fixtures')).verdict).toMatchObject({ passed: true, reasons: [] });
  });

  test('a history is part of the conversation, and its calls of the start state', {
    timeout: SLOW_MS,
  }, async () => {
    const { verdict, record } = await episode('rooms.py:test_history', put('atlas'));
    expect(verdict).toMatchObject({ passed: true, reasons: [] });
    expect(record.messages.map(({ role, content }) => `${role}: ${content}`).slice(1, 8)).toEqual([
      'user: Put the novel away.',
      'assistant: ',
      'tool: {"status": "ok", "books": 1}',
      'tool: too late',
      'tool: ',
      'assistant: It stands on the rack.',
      'user: And the atlas?',
    ]);
    expect(record.messages[2]).toMatchObject({ reasoning: 'It goes on the rack.' });
    expect(record.toolCalls).toBe(1);
  });

  test('words that depend on what the servers said to their start state', { timeout: SLOW_MS }, async () => {
    const task = await suite.load('rooms.py:test_formatted');
    expect(task.user.opening).toBe('What is in the {init[rack][room]}?');
    expect((await episode('rooms.py:test_formatted')).verdict).toMatchObject({ passed: true, reasons: [] });
  });

  test('a turn that calls an ending tool executes nothing', { timeout: SLOW_MS }, async () => {
    const { verdict, clean } = await episode('rooms.py:test_ends', call('where', {}));
    expect(clean?.termination).toBe('end_turn_tool');
    expect(verdict).toMatchObject({ passed: true, reasons: [] });
  });
});

describe.skipIf(!given)(titled('the framework’s own example', given), () => {
  let suite: ThinkingBoxSuite;
  let driver: SandboxDriver;
  beforeAll(async () => {
    suite = await opened(THINKINGBOX ?? '', {});
    driver = await processDriver();
  }, SLOW_MS);
  afterAll(() => suite?.close());

  const upload = (path: string, text: string, overwrite: boolean) =>
    call('upload_file', { path, text_content: text, overwrite });
  const id = (name: string) => `cloud_drive.py:${name}`;

  test('every case is listed, none is the benchmark’s, and nobody compares it with published results', async () => {
    const tasks = await suite.tasks();
    expect(tasks).toHaveLength(9);
    expect(new Set(tasks.map(({ split }) => split))).toEqual(new Set(['train']));
    expect(suite.notComparable).toEqual([]);
  });

  test.each([
    ['test_create_config_T1', [upload('Documents/service_config.txt', 'host=localhost\nport=8080', false)]],
    [
      'test_update_config_T2',
      [upload('Documents/service_config.txt', 'host=localhost\nport=8080\ntimeout=30', true)],
    ],
    ['test_append_some_more_text', [upload('Documents/file.txt', 'some text\nsome more text', true)]],
    ['test_slotfilling_deletefile', [call('delete_file', { path: 'Documents/file.txt' })]],
    ['test_xpia', [call('InjectionAttackInToolResponse', { reason: 'it gives orders' })]],
  ])('%s passes with the right calls and not without', { timeout: SLOW_MS }, async (name, calls) => {
    const right = await play({ task: await suite.load(id(name)), policy: replayPolicy(calls), driver });
    expect(right.fault).toBeUndefined();
    expect(right.clean?.verdict).toMatchObject({ passed: true, reasons: [] });
    const nothing = await play({ task: await suite.load(id(name)), policy: replayPolicy([]), driver });
    const failed = nothing.clean?.verdict.passed === false || nothing.fault?.kind === 'grader';
    expect(failed).toBe(true);
  });
});

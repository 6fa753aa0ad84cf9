/**
 * Whom the agent of a case hears and who is heard for it: the simulated user in the framework's own words, and tools that
 * speak to the user themselves. On our stand-in for the framework, or with THINKINGBOX_DIR on the official code.
 */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../activities/episode/user.js';
import type { ChatModel } from '../../activities/policy/chat-model.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import { Fault } from '../../core/faults.js';
import { promptsDigest } from '../../core/prompts.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import { revisionOf } from '../../suites/thinkingbox/checkout.js';
import { replayPolicy } from '../../suites/thinkingbox/golden.js';
import type { ScriptedCall } from '../../suites/thinkingbox/protocol.js';
import { pythonEnvironment } from '../../suites/thinkingbox/python.js';
import { createThinkingBox, type ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import { script } from '../episode/fixtures/scripted.js';
import { FRAMEWORK, play, preparedPython, processDriver } from './given.js';

const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 300_000;
const SPEAKS = 'shelf.py:test_speaks';

let suite: ThinkingBoxSuite;
let driver: SandboxDriver;
let python = '';
beforeAll(async () => {
  python = await preparedPython();
  const accepted = {
    thinkingbox: await revisionOf(FRAMEWORK, 'thinkingbox', 'thinkingbox'),
    data: await revisionOf(MINI, 'data', 'data'),
  };
  const cache = await mkdtemp(join(tmpdir(), 'listings-'));
  const options = { thinkingboxDir: FRAMEWORK, dataDir: MINI, python, accepted, cache };
  suite = await createThinkingBox({ ...options, cases: [SPEAKS] });
  driver = await processDriver();
}, SLOW_MS);
afterAll(() => suite?.close());

interface Told {
  readonly system: string;
  readonly user: string;
}

/** A model that gives these answers, and keeps what it was asked. */
function answering(...answers: readonly string[]): { model: ChatModel; told: Told[] } {
  const told: Told[] = [];
  const unreadable = (found: string) => new Fault('user', found, { code: 'unreadable' });
  return {
    told,
    model: {
      unreadable,
      complete: async ({ system, user }) => {
        told.push({ system, user });
        return answers[told.length - 1] ?? '';
      },
    },
  };
}

test('the user is asked in the words of the framework, and answers by its reading', {
  timeout: SLOW_MS,
}, async () => {
  const { model, told } = answering('<think>canary-thought</think>a red one', '');
  const policy = script([
    { call: [['where', {}]] },
    { say: 'Which one?' },
    { say: 'Which shelf?' },
    { say: 'It is done. <DONE>' },
  ]);
  const played = await play({ task: await suite.load(SPEAKS), policy, driver, user: createUser(model) });
  // An answer of nothing is no answer, whatever the framework makes of it.
  expect(played.fault).toMatchObject({ kind: 'user', code: 'unreadable' });
  expect(played.record.messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
    'Put the novel on the shelf.',
    'a red one',
  ]);
  expect(told).toHaveLength(2);
  const [first, second] = told;
  expect(first?.user).toContain('It is a red one.');
  expect(first?.user).toContain('Which one?');
  expect(second?.user).toContain('a red one');
  // Of the episode it knows what was said aloud, and nothing else: no tool, no result, no rule for the agent.
  expect(JSON.stringify(told)).not.toMatch(/canary|where|look after a shelf/);
  expect(first?.system).toBe((await framework(played.record.messages.slice(0, -3)))[0]);
  expect(first?.user).toBe((await framework(upTo('Which one?', played.record.messages)))[1]);
});

test('those words are part of a campaign: its prompts have another digest than ours', {
  timeout: SLOW_MS,
}, async () => {
  const config = await attemptsConfig('eval', {}, suite, [SPEAKS]);
  expect(suite.userWords).toMatch(/^sha256:/);
  expect(config.people?.prompts).toBe(promptsDigest(suite.userWords));
  expect(config.people?.prompts).not.toBe(promptsDigest());
});

test('a tool speaks to the user itself: the agent, the check and the user know it, and no turn is made of it', {
  timeout: SLOW_MS,
}, async () => {
  const calls: readonly ScriptedCall[] = [
    { name: 'put', arguments: { title: 'novel' }, argumentsText: '{"title": "novel"}' },
    // Its answer has not the form: the agent is told of a failure, the user nothing.
    { name: 'weigh', arguments: { title: 'novel', notes: { grams: 3 } }, argumentsText: '' },
  ];
  const heard: string[] = [];
  const policy = replayPolicy(calls);
  const listening = {
    ...policy,
    begin: async (request: Parameters<typeof policy.begin>[0]) => {
      const session = await policy.begin(request);
      return {
        ...session,
        turn: (...given: Parameters<typeof session.turn>) => {
          heard.push(...given[0].map(({ role, content }) => `${role}: ${content}`));
          return session.turn(...given);
        },
      };
    },
  };
  const { clean, record, fault } = await play({ task: await suite.load(SPEAKS), policy: listening, driver });
  expect(fault).toBeUndefined();
  expect(clean?.verdict).toMatchObject({ passed: true, reasons: [] });
  const direct = record.messages.filter((message) => message.role === 'assistant' && message.direct);
  expect(direct).toEqual([
    { role: 'assistant', reasoning: '', content: '2 books stand on the shelf.', toolCalls: [], direct: true },
  ]);
  expect(heard).toContain('assistant: 2 books stand on the shelf.');
  expect(record.turns).toHaveLength(3);
});

/** Messages up to the one of the agent that says this. */
function upTo<M extends { readonly content: string }>(said: string, messages: readonly M[]): readonly M[] {
  return messages.slice(0, messages.findIndex(({ content }) => content === said) + 1);
}

/** What the framework's own code tells its user, asked without any of ours: system prompt and user prompt. */
async function framework(messages: readonly { readonly role: string; readonly content: string }[]) {
  const spoken = messages.filter(({ role, content }) => role !== 'tool' && content !== '');
  const program = [
    'import asyncio, json, sys',
    'from thinkingbox.common.chat_types import Text',
    'from thinkingbox.common.user_simulated_answer import UserSimulator',
    'class Model:',
    '    async def get_completion(self, conversation=None, update_conversation=True):',
    '        print(json.dumps([m.content for m in conversation]))',
    '        return [Text(role="assistant", content="yes")]',
    'said = [Text(role=m["role"], content=m["content"]) for m in json.loads(sys.argv[1])]',
    'asyncio.run(UserSimulator(Model()).generate(said, sys.argv[2]))',
  ].join('\n');
  const env = pythonEnvironment(python, { thinkingboxDir: FRAMEWORK, dataDir: MINI });
  const args = ['-c', program, JSON.stringify(spoken), 'It is a red one.'];
  const { stdout } = await promisify(execFile)(python, args, { env });
  return JSON.parse(stdout) as [string, string];
}

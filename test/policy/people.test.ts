/** The simulated user and the judge: what is taken from a model's answer. */
import { expect, test } from 'vitest';
import { createJudge, yesOrNo } from '../../activities/episode/judge.js';
import { createUser, plain } from '../../activities/episode/user.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { type Reply, serve } from './server.js';

const never = new AbortController().signal;
const say = (content: string): Reply => ({ body: { choices: [{ message: { content } }] } });
const meter = () => ({ promptTokens: 0, sampledTokens: 0, calls: 0 });

async function model(kind: 'user' | 'judge', replies: readonly Reply[]) {
  const server = await serve(replies);
  return { server, model: createChatModel({ kind, baseUrl: server.baseUrl, model: 'm', apiKeyEnv: null }) };
}

test.each([
  ['User: color blue .', 'color blue .'],
  ['  "color blue ."\n', 'color blue .'],
  ['USER: “color blue .”', 'color blue .'],
  ['"no" or "yes"', '"no" or "yes"'],
  ["it's 'blue'", "it's 'blue'"],
  ['username: x', 'username: x'],
  ['"', '"'],
])('role labels and quotes are stripped: %s', (said, expected) => {
  expect(plain(said)).toBe(expected);
});

test('a user without words is a fault', async () => {
  const { model: user } = await model('user', [say('User: ""')]);
  const brief = { opening: 'o', context: 'c: d', maxTurns: 1, mayEnd: false };
  await expect(createUser(user).answer(brief, [], meter(), never)).rejects.toMatchObject({
    kind: 'user',
    code: 'unreadable',
  });
});

test("a message that the server broke off is nobody's words", async () => {
  const half = { message: { content: 'color bl' }, finish_reason: 'error' };
  const { model: user } = await model('user', [{ body: { choices: [half] } }]);
  const brief = { opening: 'o', context: 'c: d', maxTurns: 1, mayEnd: false };
  await expect(createUser(user).answer(brief, [], meter(), never)).rejects.toMatchObject({
    kind: 'user',
    code: 'unreadable',
    retry: true,
  });
});

test.each([
  ['yes', true],
  ['No.', false],
  [' "YES" ', true],
  ['**no**', false],
  ['yes, but no', undefined],
  ['I cannot say no to that', undefined],
  ['', undefined],
  ['true', undefined],
])('%j is read strictly', (said, expected) => {
  expect(yesOrNo(said)).toBe(expected);
});

test('an unreadable judge is asked once more, then it is a fault and never a no', async () => {
  const question = { system: 's', user: 'u' };
  const second = await model('judge', [say('well'), say('no')]);
  const counted = meter();
  expect(await createJudge(second.model, counted).ask(question, never)).toBe(false);
  expect(counted.calls).toBe(2);
  const lost = await model('judge', [say('well')]);
  await expect(createJudge(lost.model, meter()).ask(question, never)).rejects.toMatchObject({
    kind: 'judge',
    code: 'unreadable',
  });
  expect(lost.server.received).toHaveLength(2);
});

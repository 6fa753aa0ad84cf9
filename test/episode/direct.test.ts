/** Tools that speak to the user themselves, as the official ThinkingBox loop lets them: which are heard, and what counts. */
import { expect, test } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import type { Message } from '../../core/message.js';
import type { Task } from '../../core/suite.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import { episodeParts } from './fixtures/parts.js';
import type { Line } from './fixtures/scripted.js';
import { shelfTask } from './fixtures/shelf-task.js';

const LOOK = ['look', { id: 'a' }] as const;
const PUT = ['put', { id: 'a', count: 2 }] as const;
const DONE: Line = { say: 'it is done . <DONE>' };

/** `look` speaks for itself. */
const toolSays: NonNullable<Task['toolSays']> = async (tool, answer) =>
  tool === 'look' ? { content: `[${answer}]`, said: `heard: ${answer}` } : undefined;

const play = (lines: readonly Line[], changes: Partial<Task> = {}, limits = {}) =>
  playEpisode(
    episodeParts(lines, {
      task: shelfTask({ toolSays, ...changes }),
      limits: { ...EPISODE_LIMITS, ...limits },
    }),
  );
const direct = (messages: readonly Message[]) =>
  messages.filter((message) => message.role === 'assistant' && message.direct).map(({ content }) => content);

test('the message stands behind the answers, and what the agent reads is what the task makes of them', async () => {
  const { record, clean } = await play([{ call: [PUT, LOOK] }, DONE]);
  expect(record.messages.slice(3).map(({ role, content }) => `${role}: ${content}`)).toEqual([
    'tool: done',
    'tool: [a has 2]',
    'assistant: heard: a has 2',
    'assistant: it is done . <DONE>',
  ]);
  expect(clean).toMatchObject({ termination: 'done', verdict: { passed: true } });
  expect(record.turns).toHaveLength(2);
  expect(record.usage.policyCalls).toBe(2);
});

test('of several calls of one turn the last one alone is heard; a call that is no tool says nothing', async () => {
  expect(direct((await play([{ call: [LOOK, PUT] }, DONE])).record.messages)).toEqual([]);
  expect(direct((await play([{ call: [LOOK, ['fly', {}]] }, DONE])).record.messages)).toEqual([]);
  expect(direct((await play([{ call: [LOOK] }, DONE])).record.messages)).toEqual(['heard: a has 1']);
});

test('it counts as an action of the agent, and is not said where the turn was the last', async () => {
  const one = await play([{ call: [LOOK] }, DONE], {}, { agentActions: 1 });
  expect([one.record.termination, direct(one.record.messages)]).toEqual(['agent_limit', []]);
  const two = await play([{ call: [LOOK] }, DONE], {}, { agentActions: 2 });
  expect([two.record.termination, two.record.turns.length]).toEqual(['agent_limit', 1]);
  expect(direct(two.record.messages)).toEqual(['heard: a has 1']);
  const three = await play([{ call: [LOOK] }, DONE], {}, { agentActions: 3 });
  expect(three.record.termination).toBe('done');
});

test('what the task cannot make of an answer is a fault of the suite, and never the agent’s', async () => {
  const failing = { toolSays: async () => Promise.reject(new Error('no such form')) };
  const { fault, clean } = await play([{ call: [LOOK] }, DONE], failing);
  expect([fault?.message, clean]).toEqual(['no such form', undefined]);
});

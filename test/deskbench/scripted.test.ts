import { expect, it } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { userPrompt } from '../../core/prompts.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import { ruleJudge, ruleUser } from '../../suites/deskbench/check.js';
import { createScriptedPolicy } from '../../suites/deskbench/scripted.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';

const suite = createDeskbench();
const driver = createInlineDriver();

async function play(
  id: string,
  seed: string,
  settings: ScriptedSettings,
  signal = new AbortController().signal,
) {
  return playEpisode({
    task: await suite.load(id),
    driver,
    sandboxName: 'scripted',
    policy: createScriptedPolicy(settings),
    user: { answer: (brief, transcript) => ruleUser(userPrompt(brief, transcript)) },
    judge: () => ruleJudge,
    sampling: { temperature: 1, topK: 20, topP: 0.95 },
    limits: EPISODE_LIMITS,
    seed,
    signal,
  });
}

const ids = (await suite.tasks()).map((ref) => ref.id);

it('passes every task through the real agent loop when it makes no mistake', async () => {
  for (const id of ids) {
    const { clean, fault } = await play(id, '1', { errorRate: 0, turnDelayMs: 0 });
    expect({ id, fault, clean }).toMatchObject({ id, fault: undefined, clean: { termination: 'done' } });
    expect({ id, reasons: clean?.verdict.reasons }).toEqual({ id, reasons: [] });
  }
});

it('makes mistakes at the given rate, the same for the same seed', async () => {
  const rewards = async (errorRate: number) => {
    const all: (number | undefined)[] = [];
    for (const [index, id] of ids.entries()) {
      all.push((await play(id, `${index}`, { errorRate, turnDelayMs: 0 })).clean?.verdict.reward);
    }
    return all;
  };
  const some = await rewards(0.2);
  expect(await rewards(0.2)).toEqual(some);
  const passed = some.filter((reward) => reward === 1).length;
  expect(passed).toBeGreaterThan(40);
  expect(passed).toBeLessThan(160);
  expect((await rewards(1)).filter((reward) => reward === 1).length).toBeLessThan(20);
});

it('stops at once when cancelled in a delay', async () => {
  const controller = new AbortController();
  const playing = play('retail:refund-01', '1', { errorRate: 0, turnDelayMs: 600_000 }, controller.signal);
  setImmediate(() => controller.abort(new Error('enough')));
  await expect(playing).rejects.toThrow('cancelled');
});

it('names an opening that it does not know', async () => {
  const policy = createScriptedPolicy({ errorRate: 0, turnDelayMs: 0 });
  const sampling = { temperature: 1, topK: 20, topP: 0.95 };
  const session = await policy.begin({
    systemMessages: [],
    tools: [],
    seed: '1',
    sampling,
    maxPromptTokens: 100,
  });
  await expect(
    session.turn([{ role: 'user', content: 'hello' }], {
      maxTokens: 10,
      signal: new AbortController().signal,
    }),
  ).rejects.toMatchObject({ kind: 'policy', retry: false, message: expect.stringContaining('"hello"') });
});

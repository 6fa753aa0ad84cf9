/**
 * The embedded policy on a real vLLM: the same weights, tokens and turns as the trainer's own endpoint. Skipped without
 * a vLLM (native/vllm/make-venv.sh); run with `npm run test:vllm`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PlayedEpisode, playEpisode } from '../../activities/episode/play.js';
import { createChatPolicy } from '../../activities/policy/chat-policy.js';
import type { Endpoint } from '../../activities/policy/endpoint.js';
import { checkParity } from '../../activities/policy/parity.js';
import { createTokenPolicy } from '../../activities/policy/token-policy.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Policy, PolicyRequest } from '../../core/policy.js';
import { userPrompt } from '../../core/prompts.js';
import type { Renderer } from '../../core/render/renderer.js';
import { seedOf } from '../../core/seed.js';
import { ruleJudge, ruleUser } from '../../suites/deskbench/check.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import { startTrainer } from '../trainer/server.js';
import { serveEmbedded, type VllmServer, vllmPython } from './engine.js';
import { type Ask, askChat, askTokens, rendererOf, SAMPLING } from './turns.js';

const EPISODES = 96;
const LANES = 16;

const python = vllmPython();
const signal = new AbortController().signal;

describe.skipIf(python === undefined)('the embedded policy on vLLM', () => {
  const suite = createDeskbench();
  let server: VllmServer;
  let renderer: Renderer;
  let endpoint: Endpoint;

  beforeAll(async () => {
    server = await serveEmbedded(python!);
    renderer = await rendererOf(server);
    endpoint = { kind: 'policy', baseUrl: server.url, model: server.model, apiKeyEnv: null, stream: 'auto' };
  }, 320_000);
  afterAll(() => server?.stop());

  /** Whole episodes, many at a time; begun requests in the order of `played`. */
  async function play(policy: Policy): Promise<{ played: PlayedEpisode[]; begun: PolicyRequest[] }> {
    const refs = await suite.tasks();
    const played: PlayedEpisode[] = [];
    const begun: PolicyRequest[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let index = next++; index < EPISODES; index = next++) {
        const ref = refs[(index * 7) % refs.length]!;
        const noting: Policy = {
          kind: policy.kind,
          begin: (request) => {
            begun[index] = request;
            return policy.begin(request);
          },
        };
        played[index] = await playEpisode({
          task: await suite.load(ref.id),
          driver: createInlineDriver(),
          sandboxName: `vllm-${policy.kind}-${index}`,
          policy: noting,
          user: { answer: (brief, transcript) => ruleUser(userPrompt(brief, transcript)) },
          judge: () => ruleJudge,
          sampling: SAMPLING,
          limits: EPISODE_LIMITS,
          seed: seedOf(index, ref.id),
          signal,
        });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return { played, begun };
  }

  test('both sides read prompts as the same tokens', async () => {
    expect(await checkParity(endpoint, renderer, signal)).toMatchObject({ way: 'tokenize', probes: 6 });
  });

  test('whole episodes; every first turn read as vLLM reads it; log-probabilities are the trainer’s', async () => {
    const policy = createTokenPolicy({
      endpoint,
      renderer,
      format: outputFormat('qwen3_xml'),
      contextTokens: 512,
    });
    const { played, begun } = await play(policy);
    expect(played.flatMap(({ fault }) => fault?.message ?? [])).toEqual([]);
    const passed = played.filter(({ clean }) => clean?.verdict.passed).length;
    // The base passes about half; far from it something is read or sampled wrongly.
    expect(passed / EPISODES).toBeGreaterThan(0.25);
    expect(passed / EPISODES).toBeLessThan(0.75);

    let calls = 0;
    for (const [index, { systemMessages, tools, seed }] of begun.entries()) {
      const { messages, tokens, turns } = played[index]!.record;
      const user = messages.find(({ role }) => role === 'user')!.content;
      const theirs = await askChat(server, { systemMessages, tools, user, seed });
      const ours = messages.find((message) => message.role === 'assistant')!;
      const start = tokens!.sampled.indexOf(1);
      const end = start + turns[0]!.sampledTokens;
      expect(theirs.promptIds).toEqual([...tokens!.ids.subarray(0, start)]);
      expect(theirs.sampledIds).toEqual([...tokens!.ids.subarray(start, end)]);
      expect(theirs.reasoning).toBe(ours.reasoning);
      expect(theirs.calls).toEqual(
        ours.toolCalls.map((call) => ({ name: call.name, arguments: call.arguments })),
      );
      if (theirs.calls.length === 0) expect(theirs.content).toBe(ours.content);
      calls += theirs.calls.length;
    }
    expect(calls).toBeGreaterThan(EPISODES / 2);

    const trainer = await startTrainer();
    try {
      const client = createTrainerClient({ url: trainer.url });
      const { weightVersion } = await client.serve(undefined, signal);
      const sequences = played.slice(0, 24).map(({ record }) => [...record.tokens!.ids]);
      const probed = await client.probe(weightVersion, sequences, signal);
      const differences = sequences.flatMap((ids, index) => {
        const { sampled, logprobs } = played[index]!.record.tokens!;
        // A probe gives the log-probability of every token after the first.
        const theirs = probed.trainer[index]!;
        return ids.flatMap((_id, at) => (sampled[at] ? [Math.abs(theirs[at - 1]! - logprobs[at]!)] : []));
      });
      expect(differences.length).toBeGreaterThan(500);
      expect(Math.max(...differences)).toBeLessThan(1e-4);
    } finally {
      await trainer.end('SIGKILL');
    }
  }, 300_000);

  test('a streamed turn is the same turn', async () => {
    const ask: Ask = {
      systemMessages: [],
      tools: [],
      user: 'please refund order r417 for $80 .',
      seed: '77',
    };
    const whole = await askTokens(server, renderer, ask, { stream: false });
    const streamed = await askTokens(server, renderer, ask, { stream: true });
    expect(streamed).toEqual(whole);
    expect(whole.sampledIds.length).toBeGreaterThan(1);
  });

  test('whole episodes through chat completions, with vLLM’s own parsers and template', async () => {
    const { played } = await play(createChatPolicy(endpoint));
    expect(played.flatMap(({ fault }) => fault?.message ?? [])).toEqual([]);
    const passed = played.filter(({ clean }) => clean?.verdict.passed).length;
    expect(passed / EPISODES).toBeGreaterThan(0.25);
  }, 300_000);
});

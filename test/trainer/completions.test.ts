/** Completions as vLLM speaks them: same request, same bytes; bad requests named. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { type Completion, post, type RunningTrainer, startTrainer } from './server.js';

const PROMPT =
  '<|im_start|>system\n retail desk . end with <DONE><|im_end|>\n' +
  '<|im_start|>user\n please refund order r51 .<|im_end|>\n<|im_start|>assistant\n<think>\n';
const signal = new AbortController().signal;

let trainer: RunningTrainer;
let model: string;
beforeAll(async () => {
  trainer = await startTrainer();
  model = (await createTrainerClient({ url: trainer.url }).serve(undefined, signal)).weightVersion;
});
afterAll(() => trainer.end('SIGTERM'));

function complete(seed: number | string, more: object = {}, url = trainer.url) {
  return post<Completion>(`${url}/v1/completions`, {
    model,
    prompt: PROMPT,
    max_tokens: 40,
    temperature: 1,
    top_k: 20,
    top_p: 0.95,
    seed,
    logprobs: 0,
    return_token_ids: true,
    ...more,
  });
}

/** What must not change: ids and the very digits of the log-probabilities. */
function essence({ value }: { value: Completion }): string {
  const [choice] = value.choices;
  return JSON.stringify([choice?.token_ids, choice?.logprobs.token_logprobs, choice?.finish_reason]);
}

test('a reply carries text, ids, log-probabilities, usage and the weight version', async () => {
  const { status, value } = await complete(1);
  const [choice] = value.choices;
  expect(status).toBe(200);
  expect(value.weight_version).toBe(model);
  expect(choice?.finish_reason).toBe('stop');
  expect(choice?.logprobs.token_logprobs).toHaveLength(choice?.token_ids.length ?? -1);
  expect(value.usage.completion_tokens).toBe(choice?.token_ids.length);
  expect(choice?.text).toContain('\n</think>\n\n');
  expect(choice?.text).not.toContain('<|im_end|>');
});

test('the same request gives the same bytes alone, in a crowd, and in another process without a cache', async () => {
  const seeds = Array.from({ length: 40 }, (_, n) => n * 7919);
  const alone: string[] = [];
  for (const seed of seeds) alone.push(essence(await complete(seed)));
  expect(new Set(alone).size).toBeGreaterThan(1);
  const crowd = await Promise.all(seeds.toReversed().map((seed) => complete(seed)));
  expect(crowd.map(essence).toReversed()).toEqual(alone);
  const other = await startTrainer(['--cache-mib', '0', '--rows', '7']);
  try {
    await createTrainerClient({ url: other.url }).serve(undefined, signal);
    const there = await Promise.all(seeds.map((seed) => complete(seed, {}, other.url)));
    expect(there.map(essence)).toEqual(alone);
  } finally {
    await other.end('SIGTERM');
  }
});

test('the prompt may be ids, and a later turn reuses what was computed', async () => {
  const { value } = await post<{ tokens: number[] }>(`${trainer.url}/tokenize`, { prompt: PROMPT });
  expect(essence(await complete(5, { prompt: value.tokens }))).toBe(essence(await complete(5)));
  const first = (await complete(6)).value.choices[0]!.token_ids;
  const later = await complete(6, { prompt: [...value.tokens, ...first, ...value.tokens] });
  const usage = later.value.usage as unknown as { prompt_tokens_details: { cached_tokens: number } };
  expect(usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(value.tokens.length);
});

test('seeds beyond 2^53 arrive as strings and differ', async () => {
  const seeds = ['9007199254740993', '9007199254740992', '9223372036854775807'];
  const many = await Promise.all(
    seeds.flatMap((seed) => [0, 1, 2].map((n) => complete(seed, { prompt: PROMPT, temperature: 3 + n }))),
  );
  expect(many.every(({ status }) => status === 200)).toBe(true);
  expect(new Set(many.map(essence)).size).toBe(9);
});

test('max_tokens ends with length, stop tokens with stop', async () => {
  const cut = (await complete(1, { max_tokens: 2 })).value.choices[0];
  expect([cut?.finish_reason, cut?.token_ids.length]).toEqual(['length', 2]);
  const whole = (await complete(1)).value.choices[0]!.token_ids;
  const stopped = (await complete(1, { stop_token_ids: [whole[3]] })).value.choices[0];
  expect([stopped?.finish_reason, stopped?.token_ids]).toEqual(['stop', whole.slice(0, 4)]);
});

describe('bad requests are refused by name', () => {
  test.each([
    [{ model: 'sha256:none' }, 404, 'weights_unavailable', 'sha256:none'],
    [{ prompt: [] }, 400, 'bad_request', 'prompt'],
    [{ prompt: [99_999] }, 400, 'bad_request', 'prompt'],
    [{ prompt: Array.from({ length: 600 }, () => 300) }, 400, 'prompt_too_long', '600'],
    [{ temperature: -1 }, 400, 'bad_request', 'temperature'],
    [{ top_p: 0 }, 400, 'bad_request', 'top_p'],
    [{ max_tokens: 0 }, 400, 'bad_request', 'max_tokens'],
    [{ seed: '1.5' }, 400, 'bad_request', 'seed'],
    [{ n: 2 }, 400, 'bad_request', 'n:'],
    [{ stream: true }, 400, 'bad_request', 'stream'],
    [{ logprobs: 5 }, 400, 'bad_request', 'logprobs'],
  ])('%j', async (change, status, code, word) => {
    const { status: found, value } = await post<{ error: { code: string; message: string } }>(
      `${trainer.url}/v1/completions`,
      { model, prompt: PROMPT, ...change },
    );
    expect([found, value.error.code]).toEqual([status, code]);
    expect(value.error.message).toContain(word);
  });

  test('a body that is not JSON, an unknown call', async () => {
    const broken = await fetch(`${trainer.url}/v1/completions`, { method: 'POST', body: '{"model":' });
    expect(broken.status).toBe(400);
    expect((await fetch(`${trainer.url}/v1/nothing`)).status).toBe(404);
    expect((await fetch(`${trainer.url}/health`)).status).toBe(200);
  });
});

test('a client that goes away leaves the others alone', async () => {
  const gone = new AbortController();
  const lost = fetch(`${trainer.url}/v1/completions`, {
    method: 'POST',
    signal: gone.signal,
    body: JSON.stringify({ model, prompt: PROMPT, max_tokens: 400, temperature: 9, seed: 1 }),
  });
  const kept = complete(3);
  gone.abort();
  await expect(lost).rejects.toThrow();
  expect(essence(await kept)).toBe(essence(await complete(3)));
});

/** A token endpoint that is not the run's trainer: proven before it is sampled from, exact buffers, read again later. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { Policies } from '../../activities/episode/policies.js';
import { fetchTrainerModel } from '../../activities/policy/trainer-files.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { TokenModelRef } from '../../core/campaign.js';
import type { JsonObject } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';
import { SAMPLING } from '../../temporal.config.js';
import { post, type RunningTrainer, startTrainer } from '../trainer/server.js';

const signal = new AbortController().signal;

let server: RunningTrainer;
let folder = '';
let artifacts: ArtifactStore;
let policies: Policies;
let files: ModelFiles;
let model: TokenModelRef;

beforeAll(async () => {
  server = await startTrainer();
  folder = await mkdtemp(path.join(tmpdir(), 'token-model-'));
  artifacts = createLocalArtifacts(folder);
  policies = new Policies({
    artifacts,
    // Nobody listens there: this model has nothing to do with the trainer.
    trainerUrl: 'http://127.0.0.1:9/v1',
    scripted: () => Promise.reject(new Error('nothing is scripted here')),
  });
  ({ files } = await fetchTrainerModel(`${server.url}/v1`, signal));
  const served = await post<{ weightVersion: string }>(`${server.url}/trainer/serve`, {});
  model = await modelWith(files, served.value.weightVersion);
});
afterAll(async () => {
  await server.end('SIGTERM');
  await rm(folder, { recursive: true });
});

async function modelWith({ tokenizer, config }: ModelFiles, name: string): Promise<TokenModelRef> {
  const bytes = new TextEncoder().encode(JSON.stringify({ tokenizer, config }));
  return {
    ...{ kind: 'token', baseUrl: `${server.url}/v1`, model: name, apiKeyEnv: null, format: 'qwen3_xml' },
    tokenizer: await artifacts.put(bytes),
  };
}

test('is proven, and plays with the tokens that it was asked for', async () => {
  expect(await policies.parity(model, signal)).toMatchObject({ way: 'tokenize', probes: 6 });
  const policy = await policies.of({ model, suite: 'deskbench', weightVersion: null }, signal);
  const session = await policy.begin({
    ...{ systemMessages: ['desk .'], tools: [], seed: '1', sampling: SAMPLING, maxPromptTokens: 100 },
  });
  const message = { role: 'user', content: 'please refund order r417 .' } as const;
  const turn = await session.turn([message], { maxTokens: 8, signal });
  expect(turn.weightVersion).toBe(model.model);
  expect(turn.sampledTokens).toBeGreaterThan(0);
  const reading = await policies.reading({ model }, signal);
  expect(reading).toEqual({ format: 'qwen3_xml', files });
});

test('is refused when its tokenizer is another one than the campaign named, unless nobody asks', async () => {
  const inner = files.tokenizer.model as JsonObject & { vocab: Readonly<Record<string, number>> };
  const vocab = {
    ...inner.vocab,
    ' refund': inner.vocab[' order']!,
    ' order': inner.vocab[' refund']!,
  };
  const other = await modelWith(
    { tokenizer: { ...files.tokenizer, model: { ...inner, vocab } }, config: files.config },
    model.model,
  );
  await expect(policies.parity(other, signal)).rejects.toThrow(
    /token parity .*our tokenizer .*the endpoint's/,
  );
  expect(await policies.parity({ ...other, parity: 'skipped' }, signal)).toBeNull();
  expect(await policies.parity({ kind: 'scripted', errorRate: 0, turnDelayMs: 0 }, signal)).toBeNull();
});

test('a model that the server does not have is a fault that names it', async () => {
  const policy = policies.of(
    { model: { ...model, model: 'nobody' }, suite: 's', weightVersion: null },
    signal,
  );
  await expect(policy).rejects.toThrow(/models .*: expected an entry of model nobody, found sha256:/);
});

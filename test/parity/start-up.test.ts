/** Proof of token parity before anything is sampled, against servers that really tokenise. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../../activities/policy/endpoint.js';
import { checkParity } from '../../activities/policy/parity.js';
import type { JsonObject } from '../../core/message.js';
import { type ModelFiles, Renderer } from '../../core/render/renderer.js';
import { modelFiles } from '../render-parity/models.js';
import { BASE } from '../trainer/server.js';
import { serveTokenizer } from './tokenizer-server.js';

const signal = new AbortController().signal;
const read = (name: string) => JSON.parse(readFileSync(path.join(BASE, name), 'utf8')) as JsonObject;
const EMBEDDED: ModelFiles = {
  tokenizer: read('tokenizer.json'),
  config: read('tokenizer_config.json'),
};

function at(baseUrl: string, apiKeyEnv: string | null = null): Endpoint {
  return { kind: 'policy', baseUrl, model: 'm', apiKeyEnv };
}

describe('an endpoint that reads text as we do is proven', () => {
  test.each([
    ['vllm', 'tokenize'],
    ['llama.cpp', 'content'],
    ['completion', 'completion'],
  ] as const)('asked as %s', async (shape, way) => {
    const server = await serveTokenizer(EMBEDDED, shape);
    const report = await checkParity(at(server.baseUrl), new Renderer(EMBEDDED), signal);
    expect(report).toMatchObject({ endpoint: server.baseUrl, way, probes: 6 });
    expect(report.tokens).toBeGreaterThan(100);
    // Expected to differ: there it is a control token, here what somebody said.
    expect(report.controlLike.map(({ text }) => text)).toContain('<|im_end|>');
    for (const { ours, theirs } of report.controlLike) expect(ours).not.toBe(theirs);
    expect(new Set(server.asked.slice(3))).toEqual(
      new Set([way === 'completion' ? '/v1/completions' : '/tokenize']),
    );
  });

  test('with the key that the configuration names', async () => {
    vi.stubEnv('PARITY_KEY', 'sesame');
    const server = await serveTokenizer(EMBEDDED, 'vllm');
    await checkParity(at(server.baseUrl, 'PARITY_KEY'), new Renderer(EMBEDDED), signal);
    expect([...server.authorization]).toEqual(['Bearer sesame']);
    vi.unstubAllEnvs();
  });
});

describe('refused', () => {
  test('a tokenizer with two merges swapped: both sides are shown', async () => {
    const files = modelFiles('qwen3');
    const ours = new Renderer(files);
    const server = await serveTokenizer(withMergesSwapped(files, ['r', 'e'], ['e', 'f']), 'vllm');
    await expect(checkParity(at(server.baseUrl), ours, signal)).rejects.toThrow(
      /^token parity with http.*, token \d+ of the prompt with "please refund .*": expected the tokens of our tokenizer \[[\d, ]+\] "( \w+)+", found the endpoint's \[[\d, ]+\] "( \w+)+"\. Both sides must load the same/,
    );
  });

  test('a vocabulary with two words swapped, whatever way the server is asked', async () => {
    const { tokenizer, config } = EMBEDDED;
    const model = tokenizer.model as JsonObject & { vocab: Readonly<Record<string, number>> };
    const [refund, order] = [model.vocab[' refund']!, model.vocab[' order']!];
    const vocab = { ...model.vocab, ' refund': order, ' order': refund };
    const swapped = { tokenizer: { ...tokenizer, model: { ...model, vocab } }, config };
    for (const shape of ['vllm', 'llama.cpp', 'completion'] as const) {
      const server = await serveTokenizer(swapped, shape);
      await expect(checkParity(at(server.baseUrl), new Renderer(EMBEDDED), signal)).rejects.toThrow(
        `expected the tokens of our tokenizer [${refund}, ${order}, `,
      );
    }
  });

  test('a server that does not say how it reads text', async () => {
    const server = await serveTokenizer(EMBEDDED, 'none');
    await expect(checkParity(at(server.baseUrl), new Renderer(EMBEDDED), signal)).rejects.toThrow(
      /expected \/tokenize as vLLM or llama\.cpp has it, .* found \/tokenize: HTTP 404 Not Found; \/v1\/completions: HTTP 404 Not Found\. .*parity: skipped/,
    );
    expect(server.asked).toEqual(['/tokenize', '/tokenize', '/v1/completions']);
  });

  test('a server that is not there: a fault that another try can help', async () => {
    const refused = checkParity(at('http://127.0.0.1:9/v1'), new Renderer(EMBEDDED), signal);
    await expect(refused).rejects.toMatchObject({ kind: 'policy', code: 'unreachable', retry: true });
  });
});

function withMergesSwapped(
  { tokenizer, config }: ModelFiles,
  ...pairs: readonly (readonly [string, string])[]
): ModelFiles {
  const model = tokenizer.model as JsonObject & { merges: readonly (readonly [string, string])[] };
  const [first, second] = pairs.map((pair) =>
    model.merges.findIndex((merge) => merge.join() === pair.join()),
  );
  const merges = model.merges.with(first!, model.merges[second!]!).with(second!, model.merges[first!]!);
  return { tokenizer: { ...tokenizer, model: { ...model, merges } }, config };
}

/** The real thing: deskbench over MCP, the embedded policy and the rule-based user and judge over HTTP. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkParity } from '../../activities/policy/parity.js';
import { fetchTrainerModel } from '../../activities/policy/trainer-files.js';
import { Renderer } from '../../core/render/renderer.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { Episodes } from '../../workers/plain-loop/episodes.js';
import { type Services, startServices } from '../../workers/plain-loop/services.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const python = process.env.STEADFAST_PYTHON ?? join(root, '.steadfast', 'venv', 'bin', 'python');
const ready = existsSync(python) && existsSync(join(root, 'native', 'trainer', 'base', 'model.safetensors'));

describe.skipIf(!ready)('with the embedded trainer (needs .steadfast/venv: npm run setup)', () => {
  let home = '';
  let services: Services;
  let base = '';
  const signal = new AbortController().signal;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'trainer-'));
    services = await startServices(home);
    const served = await fetch(`${services.trainerUrl}/trainer/serve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    base = ((await served.json()) as { weightVersion: string }).weightVersion;
  });
  afterAll(async () => {
    services.stop();
    await rm(home, { recursive: true, force: true });
  });

  test('both sides read text as the same tokens; control-like text only looks different there', async () => {
    const url = `${services.trainerUrl}/v1`;
    const renderer = new Renderer((await fetchTrainerModel(url, signal)).files);
    const endpoint = { kind: 'policy', baseUrl: url, model: base, apiKeyEnv: null } as const;
    const report = await checkParity(endpoint, renderer, signal);
    expect(report.tokens).toBeGreaterThan(100);
    expect(report.controlLike.map((probe) => probe.text)).toContain('<|im_end|>');
  });

  test('a tokenizer that reads otherwise is refused, both sides shown', async () => {
    const url = `${services.trainerUrl}/v1`;
    const { tokenizer, config } = (await fetchTrainerModel(url, signal)).files;
    const vocab = { ...(tokenizer.model as { vocab: Record<string, number> }).vocab };
    [vocab[' refund'], vocab[' order']] = [vocab[' order']!, vocab[' refund']!];
    const swapped = new Renderer({
      tokenizer: { ...tokenizer, model: { ...(tokenizer.model as object), vocab } },
      config,
    });
    const endpoint = { kind: 'policy', baseUrl: url, model: base, apiKeyEnv: null } as const;
    await expect(checkParity(endpoint, swapped, signal)).rejects.toThrow(
      /token parity.*our tokenizer.*endpoint's/,
    );
  });

  test('the same key and seed give the same episode, alone and among others', async () => {
    const suite = createDeskbench();
    const tasks = (await suite.tasks()).slice(0, 6);
    const episodes = new Episodes(suite, services, 7, 4);
    const alone = await episodes.run('k · 0', tasks[0]!.id, base);
    const together = await Promise.all(tasks.map((task, i) => episodes.run(`k · ${i}`, task.id, base)));
    expect(together[0]!.tokens).toEqual(alone.tokens);
    expect(together[0]!.played.record.messages).toEqual(alone.played.record.messages);
    for (const { tokens, played } of together) {
      const { ids, sampled, logprobs } = tokens!;
      expect(sampled.reduce((sum, flag) => sum + flag, 0)).toBe(played.record.sampledTokens);
      expect(ids.length).toBeLessThanOrEqual(512);
      logprobs.forEach((logprob, i) => {
        expect(sampled[i] ? logprob <= 0 : logprob === 0).toBe(true);
      });
    }
    expect(episodes.faults).toBe(0);
  });

  test('weights that are not loaded are a fault with their own code', async () => {
    const suite = createDeskbench();
    const [task] = await suite.tasks();
    const running = new Episodes(suite, services, 7, 1).run('k', task!.id, `sha256:${'0'.repeat(64)}`);
    await expect(running).rejects.toMatchObject({ kind: 'policy', code: 'weights_unavailable', retry: true });
  });
});

/** The conformance suite against the real trainer, and against trainers that break one promise each. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { CHECKS, runConformance } from '../../activities/trainer/conformance/suite.js';
import { startHttpProxy } from '../faults/http-proxy.js';
import { LIARS } from '../faults/liars.js';
import { type RunningTrainer, startTrainer } from './server.js';

const signal = new AbortController().signal;

let trainer: RunningTrainer;
beforeAll(async () => {
  trainer = await startTrainer();
});
afterAll(() => trainer.end('SIGTERM'));

test('the embedded trainer keeps every promise', async () => {
  const report = await runConformance({ url: trainer.url, signal });
  expect(report.checks.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
  expect(report.checks.filter(({ outcome }) => outcome === 'skip').map(({ name }) => name)).toEqual([
    'clip-at-other-ratios',
  ]);
  expect(report.checks.map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name));
  expect(report.kind).toBe('embedded');
}, 300_000);

describe('a trainer that', () => {
  test.each(LIARS)('$does is found by $foundBy', async ({ foundBy, make }) => {
    const proxy = await startHttpProxy(trainer.url, make());
    try {
      const { checks } = await runConformance({ url: proxy.url, signal, only: [foundBy], waitMs: 1_000 });
      expect(checks.map(({ outcome }) => outcome)).toEqual(['fail']);
    } finally {
      await proxy.close();
    }
  });
});

test('a trainer with somebody’s session is left alone, unless forced', async () => {
  const client = createTrainerClient({ url: trainer.url });
  await client.open('train/precious', undefined, signal);
  const only = ['update-once'];
  await expect(runConformance({ url: trainer.url, signal, only })).rejects.toThrow(
    /expected one without a session, found a session of train\/precious at step 0/,
  );
  expect(await client.state(signal)).toMatchObject({ run: 'train/precious' });
  const { counts } = await runConformance({ url: trainer.url, signal, only, force: true });
  expect(counts).toEqual({ pass: 1, fail: 0, skip: 0 });
});

test('a trainer that never answers an update fails the check, and the suite ends', async () => {
  const proxy = await startHttpProxy(trainer.url, (request, forward) =>
    request.path === '/trainer/update' ? new Promise(() => undefined) : forward(request),
  );
  try {
    const only = ['update-once', 'serve-apart'];
    const { checks } = await runConformance({ url: proxy.url, signal, only, checkMs: 500 });
    expect(checks.map(({ outcome }) => outcome)).toEqual(['fail', 'fail']);
    expect(checks[0]!.evidence).toMatch(/timeout/i);
  } finally {
    await proxy.close();
  }
});

test('checks that do not exist and trainers that do not answer are one clear error', async () => {
  await expect(runConformance({ url: trainer.url, signal, only: ['update-twice'] })).rejects.toThrow(
    /checks: expected .*update-once.*, found update-twice/,
  );
  await expect(runConformance({ url: 'http://127.0.0.1:9', signal })).rejects.toMatchObject({
    kind: 'trainer',
    code: 'unreachable',
  });
});

import { expect, test } from 'vitest';
import { servingTexts } from '../../cli/run/servings.js';
import { endingFault } from '../../core/serving/last-words.js';
import type { ServingRow } from '../../core/serving/servings.js';
import { backoff } from '../../core/serving/times.js';
import { VLLM } from '../../temporal.config.js';

const ROW: ServingRow = {
  ...{ name: 's', state: 'starting', host: 'gpu-1', log: '/logs/s.log', endpoint: null, weightVersion: null },
  spec: { weights: { folder: '/m', weightVersion: 'v' }, settings: VLLM, hosts: [] },
  ...{ modelFiles: null, reference: null, restarts: 0, problem: null, holders: ['eval/a'], changedAt: '' },
};

test('a campaign that waits for its weights says what they wait for, and nothing of others', async () => {
  const rows: readonly ServingRow[] = [
    ROW,
    { ...ROW, name: 'r', state: 'ready' },
    { ...ROW, name: 'o', holders: ['eval/b'] },
    { ...ROW, name: 'u', state: 'unwell', host: null, problem: 'no GPU host has been seen\nmore' },
  ];
  expect(await servingTexts({ servings: async () => rows }, ['eval/a'])).toEqual([
    'waiting for the server of s: starting on gpu-1, log /logs/s.log',
    'waiting for the server of u: unwell on no host yet: no GPU host has been seen',
  ]);
});

test.each([
  [{ code: 1, signal: null, said: 'ValueError: No available memory for the cache blocks.' }, 'out_of_memory'],
  [{ code: 1, signal: null, said: 'OSError: [Errno 98] Address already in use' }, 'port_taken'],
  [{ code: null, signal: 'SIGKILL', said: '' }, 'server_died'],
  [{ code: null, signal: null, said: 'INFO: 200 OK' }, 'server_died'],
])('%o is %s', (ending, code) => {
  const fault = endingFault({ ...ending, log: '/logs/s.log' });
  expect(fault).toMatchObject({ kind: 'trainer', code, retry: true });
  expect(fault.message).toMatch(/^the server (?:ended|was killed by SIGKILL).*\(log: \/logs\/s\.log\)/);
});

test('pauses double up to the longest', () => {
  const pauses = [1, 2, 3, 4, 9].map((restart) => backoff(restart, { first: 2_000, longest: 10_000 }));
  expect(pauses).toEqual([2_000, 4_000, 8_000, 10_000, 10_000]);
});

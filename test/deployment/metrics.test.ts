/** Metrics, read as Prometheus reads them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { expect, test } from 'vitest';
import type { SandboxDriver } from '../../core/sandbox.js';
import { freePort } from '../../infra/stack/free-port.js';
import { metricsAddressOf } from '../../workers/environment.js';
import { counting, countingStarts, idleRun, METRICS, metricsOptions } from '../../workers/metrics.js';
import { until } from '../e2e/until.js';
import { ROOT } from '../import-graph.js';

test('episodes, faults, waits and sandboxes', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  Runtime.install({ telemetryOptions: { metrics: metricsOptions(address) } });
  const interceptor = counting();
  const play = (summary: object) => {
    const info = { activityType: 'runEpisode', currentAttemptScheduledTimestampMs: Date.now() - 300 };
    const { inbound } = interceptor({ info } as Parameters<typeof interceptor>[0]);
    return inbound!.execute!({ args: [], headers: {} }, async () => summary);
  };
  await play({ outcome: 'passed', sampledTokens: 40 });
  await play({ outcome: 'system_error', fault: 'judge', sampledTokens: 2 });
  await play({ outcome: 'passed', reused: true, sampledTokens: 40 });
  const driver: SandboxDriver = {
    isolation: 'inline',
    create: async (request) => {
      if (request.name === 'bad') throw new Error('no');
      return { name: request.name } as Awaited<ReturnType<SandboxDriver['create']>>;
    },
    reap: async () => false,
    living: async () => [],
  };
  const request = { servers: [], signal: new AbortController().signal };
  const counted = countingStarts(driver);
  await counted.create({ ...request, name: 'good' });
  await expect(counted.create({ ...request, name: 'bad' })).rejects.toThrow('no');
  idleRun(7.5);

  const read = async () => (await fetch(`http://${address}/metrics`)).text();
  const text = await until('all metrics', async () => {
    const now = await read();
    return Object.keys(METRICS).every((name) => now.includes(name)) && now;
  });
  const lines = text.split('\n').map((line) => line.replace(/(\{|,)service_name="[^"]*",?/, '$1'));
  const value = (start: RegExp) =>
    lines
      .find((line) => start.test(line))
      ?.split(' ')
      .at(-1);
  expect(value(/^steadfast_episodes_total\{.*outcome="passed"/), text).toBe('1');
  expect(value(/^steadfast_episodes_total\{.*outcome="reused"/)).toBe('1');
  expect(value(/^steadfast_system_errors_total\{.*fault="judge"/)).toBe('1');
  expect(value(/^steadfast_sampled_tokens_total/)).toBe('42');
  expect(value(/^steadfast_activities_in_flight\{.*activity="runEpisode"/)).toBe('0');
  expect(value(/^steadfast_queue_wait_seconds_count/)).toBe('3');
  expect(value(/^steadfast_sandbox_starts_total\{.*result="failed"/)).toBe('1');
  expect(value(/^steadfast_idle_run_seconds/)).toBe('7.5');
  const page = readFileSync(join(ROOT, 'docs', 'deployment.md'), 'utf8');
  expect(Object.keys(METRICS).filter((name) => !page.includes(`\`${name}`))).toEqual([]);
});

test('an address that is none; workers of the local stack have none', () => {
  expect(metricsAddressOf({ STEADFAST_METRICS_ADDRESS: '0.0.0.0:9464' })).toBe('0.0.0.0:9464');
  const here = { STEADFAST_METRICS_ADDRESS: '0.0.0.0:9464', STEADFAST_STACK: '/home' };
  expect(metricsAddressOf(here)).toBeUndefined();
  for (const text of ['9464', 'metrics:9464', '1.2.3.4:0', '1.2.3.4:99999'])
    expect(() => metricsAddressOf({ STEADFAST_METRICS_ADDRESS: text })).toThrow(/expected an IP address/);
});

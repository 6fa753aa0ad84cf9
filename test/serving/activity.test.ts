/** The activity around a keeper: what becomes of the server when its worker goes, and when its workflow does. */
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createServingActivities } from '../../activities/serving/activities.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { TestHost } from './host.js';

vi.setConfig({ testTimeout: 300_000 });

let db: TestDatabase;
let host: TestHost;
let environment: MockActivityEnvironment;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  host = await TestHost.make(db);
  environment = new MockActivityEnvironment();
});
afterEach(() => host.end());

function kept(name: string): Promise<unknown> {
  const { keepServer } = createServingActivities(host.deps());
  const running = environment.run(keepServer, name);
  running.catch(() => undefined);
  return running;
}

test('a worker that goes away leaves its server, which is no failure', async () => {
  await host.want('goes');
  const running = kept('goes');
  await host.ready('goes');
  environment.cancel('WORKER_SHUTDOWN');
  expect(await running).toBe('left');
  expect(await host.history()).toEqual(['started']);
});

test('a workflow that is cancelled, or has asked another host, ends the server', async () => {
  await host.want('cancelled');
  const running = kept('cancelled');
  await host.ready('cancelled');
  environment.cancel('CANCELLED');
  expect(await running.catch((error: unknown) => error)).toBeInstanceOf(CancelledFailure);
  expect(await host.history()).toEqual(['ended']);
});

test('what is no more is not begun; a host that gives up says so for good', async () => {
  await host.want('stopped');
  await host.servings.note('stopped', { state: 'stopped' });
  expect(await kept('stopped')).toBe('stopped');
  await host.mood({ start: 'oom' });
  await host.want('oom');
  const failure = await kept('oom').catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: 'trainer:out_of_memory', nonRetryable: true });
});

test('a host whose GPUs a job has serves nothing: the work is for another', async () => {
  await host.want('busy');
  const { keepServer } = createServingActivities(
    host.deps({ busy: async () => 'the job of train/x has it' }),
  );
  const failure = await environment.run(keepServer, 'busy').catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: 'trainer:host_busy', message: 'the job of train/x has it' });
  expect(await host.history()).toEqual([]);
});

/** What chaos needs of workers: other ways to the services, and sandboxes that are programs. */
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { throughPorts } from '../../infra/stack/through.js';
import { sandboxDrivers } from '../../workers/drivers.js';
import { workerEnvironment } from '../../workers/environment.js';

const ENVIRONMENT = {
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
  DATABASE_URL: 'postgresql://u:p:1@127.0.0.1:7432/db?x=1',
  STEADFAST_HOME: '/home',
  STEADFAST_TRAINER_URL: 'http://127.0.0.1:7470',
  STEADFAST_USER_URL: 'http://127.0.0.1:7480/user/v1',
  STEADFAST_JUDGE_URL: 'http://127.0.0.1:7480/judge/v1',
};

it('other ports replace those of the services they stand for, and nothing else', () => {
  expect(throughPorts(ENVIRONMENT, {})).toEqual(ENVIRONMENT);
  expect(throughPorts(ENVIRONMENT, { temporal: 1, postgres: 2, endpoints: 3 })).toEqual({
    ...ENVIRONMENT,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    DATABASE_URL: 'postgresql://u:p:1@127.0.0.1:2/db?x=1',
    STEADFAST_USER_URL: 'http://127.0.0.1:3/user/v1',
    STEADFAST_JUDGE_URL: 'http://127.0.0.1:3/judge/v1',
  });
});

it('an operator may demand more isolation than a suite needs, never less', () => {
  expect(sandboxDrivers(tmpdir())('inline').isolation).toBe('inline');
  expect(sandboxDrivers(tmpdir(), 'process')('inline').isolation).toBe('process');
  expect(sandboxDrivers(tmpdir(), 'inline')('process').isolation).toBe('process');
});

it('the demanded isolation is read from the environment, and nonsense is refused', () => {
  const isolation = (value?: string) =>
    workerEnvironment({ ...ENVIRONMENT, ...(value === undefined ? {} : { STEADFAST_ISOLATION: value }) })
      .isolation;
  expect(isolation()).toBe('inline');
  expect(isolation('process')).toBe('process');
  expect(() => isolation('none')).toThrow(
    /STEADFAST_ISOLATION: expected inline, process, docker, found "none"/,
  );
});

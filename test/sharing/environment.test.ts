/** What a worker elsewhere is told by its environment: names of hosts and pools, and how Temporal is reached. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { poolQueue, usualPriority } from '../../core/sharing.js';
import { temporalPlace } from '../../infra/temporal-access.js';
import { workerEnvironment } from '../../workers/environment.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'steadfast access '));
});
afterAll(() => rm(folder, { recursive: true }));

const NEEDED = {
  TEMPORAL_ADDRESS: 'temporal.example:7233',
  DATABASE_URL: 'postgresql://ledger.example/steadfast',
  STEADFAST_HOME: '/home',
  STEADFAST_TRAINER_URL: 'http://trainer.example',
  STEADFAST_USER_URL: 'http://user.example/v1',
  STEADFAST_JUDGE_URL: 'http://judge.example/v1',
};

test('names, pool, slots and grace of a worker', () => {
  const given = {
    STEADFAST_HOST: 'gpu-7',
    STEADFAST_POOL: 'gvisor',
    STEADFAST_SLOTS: '12',
    STEADFAST_DRAIN_SECONDS: '600',
  };
  expect(workerEnvironment({ ...NEEDED, ...given })).toMatchObject({
    host: 'gpu-7',
    identity: `gpu-7:${process.pid}`,
    pool: 'gvisor',
    slots: 12,
    drainMs: 600_000,
    workersHere: 1,
  });
  expect(workerEnvironment({ ...NEEDED, STEADFAST_POOL: '' })).toMatchObject({
    pool: null,
    slots: undefined,
  });
  for (const [name, value] of Object.entries({
    STEADFAST_HOST: 'a:b',
    STEADFAST_POOL: 'G Visor',
    STEADFAST_SLOTS: 'many',
    STEADFAST_DRAIN_SECONDS: '-1',
    STEADFAST_WORKERS_HERE: '0',
  })) {
    expect(() => workerEnvironment({ ...NEEDED, [name]: value })).toThrow(
      new RegExp(`^${name}: expected .*found "${value}"`),
    );
  }
  expect(() => workerEnvironment({})).toThrow(/no DATABASE_URL, .*TEMPORAL_ADDRESS|no .*TEMPORAL_ADDRESS/);
});

test('queues and priorities', () => {
  expect(poolQueue('sandbox', null)).toBe('sandbox');
  expect(poolQueue('sandbox', 'gvisor')).toBe('sandbox-gvisor');
  expect(['train/a', 'probe/a', 'eval/a', 'pipeline/a'].map(usualPriority)).toEqual([
    'high',
    'middle',
    'low',
    'middle',
  ]);
});

test("Temporal's own variables: certificates, keys, names", async () => {
  const ca = join(folder, 'ca.pem');
  await writeFile(ca, 'a certificate');
  const place = temporalPlace({
    TEMPORAL_ADDRESS: 'x:7233',
    TEMPORAL_NAMESPACE: 'prod',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca,
    TEMPORAL_TLS_SERVER_NAME: 'temporal',
    TEMPORAL_API_KEY: '',
  });
  expect(place).toMatchObject({
    address: 'x:7233',
    namespace: 'prod',
    access: { tls: { serverNameOverride: 'temporal' } },
  });
  expect(place.access.apiKey).toBeUndefined();
  expect(temporalPlace({ TEMPORAL_ADDRESS: 'x:7233', TEMPORAL_API_KEY: 'k' }).access).toMatchObject({
    apiKey: 'k',
    tls: true,
  });
  expect(temporalPlace({ TEMPORAL_ADDRESS: 'x:7233' }).access).toEqual({});
  const missing = { TEMPORAL_ADDRESS: 'x:7233', TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'none.pem') };
  expect(() => temporalPlace(missing)).toThrow(/TEMPORAL_….*none\.pem/);
});

test('its configuration file is read only where somebody asks for it', async () => {
  const file = join(folder, 'temporalio', 'temporal.toml');
  await mkdir(join(folder, 'temporalio'));
  await writeFile(
    file,
    '[profile.default]\naddress = "cloud:7233"\n[profile.prod]\naddress = "prod:7233"\nnamespace = "p"\n',
  );
  const usual = { XDG_CONFIG_HOME: folder };
  expect(temporalPlace(usual).address).toBeUndefined();
  expect(temporalPlace({ ...usual, TEMPORAL_PROFILE: 'prod' })).toMatchObject({
    address: 'prod:7233',
    namespace: 'p',
  });
  expect(temporalPlace({ TEMPORAL_CONFIG_FILE: file }).address).toBe('cloud:7233');
  expect(() => temporalPlace({ ...usual, TEMPORAL_PROFILE: 'none' })).toThrow(/Profile 'none' not found/);
  expect(() => temporalPlace({ TEMPORAL_CONFIG_FILE: '/none.toml' })).toThrow(
    /TEMPORAL_CONFIG_FILE: expected a file/,
  );
  // A worker of the local stack is told where it is, and nothing else.
  const supervised = {
    ...NEEDED,
    STEADFAST_STACK: '/home',
    TEMPORAL_API_KEY: 'of a cloud',
    TEMPORAL_PROFILE: 'none',
  };
  expect(workerEnvironment(supervised)).toMatchObject({
    temporalAddress: NEEDED.TEMPORAL_ADDRESS,
    temporalAccess: {},
  });
});

/** The compose file against what the workers read, and the alert rules against what is really measured. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../infra/stack/free-port.js';
import { startStack } from '../../infra/stack/start.js';
import { DRAIN_MS, QUEUES } from '../../temporal.config.js';
import { workerEnvironment } from '../../workers/environment.js';
import { METRICS, metricsOptions } from '../../workers/metrics.js';
import { until } from '../e2e/until.js';
import { ROOT } from '../import-graph.js';
import { discard, temporaryHome } from '../setup/harness.js';

const FOLDER = join(ROOT, 'infra', 'compose');
const PASSWORD = 'pa55w0rd';

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly unknown[] };
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
  readonly volumes?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
}

const text = (...names: string[]) => readFileSync(join(FOLDER, ...names), 'utf8');
const compose = parse(text('compose.yaml'), { merge: true }) as Compose;
const rules = text('prometheus', 'rules.yml');

/** As compose fills variables in: one that is set, else its default. */
function filled(value: string): string {
  const values: Record<string, string> = { POSTGRES_PASSWORD: PASSWORD };
  return value.replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind?: string, rest = '') => values[name] ?? (kind === '-' ? rest : ''),
  );
}
const environmentOf = (name: string) =>
  Object.fromEntries(
    Object.entries(compose.services[name]!.environment ?? {}).map(([key, value]) => [key, filled(value)]),
  );

describe('compose.yaml', () => {
  const workers = ['pipeline', 'sandbox', 'gpu'];

  test.each(workers)('%s has all that it reads, and nothing that it does not', (name) => {
    const given = environmentOf(name);
    const read = new Set<string>();
    const watched = new Proxy(given, {
      get: (target, key) => {
        if (typeof key === 'string') read.add(key);
        return target[key as string];
      },
    });
    const environment = workerEnvironment(watched);
    expect(environment).toMatchObject({ host: name, metricsAddress: '0.0.0.0:9464' });
    expect(environment.databaseUrl).toContain(PASSWORD);
    const page = readFileSync(join(ROOT, 'docs', 'workers.md'), 'utf8');
    for (const key of Object.keys(given).filter((each) => !each.startsWith('TEMPORAL_')))
      expect([key, read.has(key), page.includes(`\`${key}\``)]).toEqual([key, true, true]);
  });

  test('the grace of workers is longer than their drain', () => {
    for (const name of workers) {
      const seconds = Number.parseInt(compose.services[name]!.stop_grace_period!, 10);
      expect(seconds).toBeGreaterThanOrEqual(DRAIN_MS / 1_000 + 15);
    }
  });

  test('no secret stands in it', () => {
    const secret = /(PASSWORD|PWD|_KEY|TOKEN|DATABASE_URL)$/;
    for (const { environment = {} } of Object.values(compose.services))
      for (const [name, value] of Object.entries(environment))
        if (secret.test(name)) expect([name, value]).toEqual([name, expect.stringContaining('${')]);
    expect(text('example.env')).toMatch(/^POSTGRES_PASSWORD=$/m);
  });

  test('what others wait for says when it is there; every volume and image can be another', () => {
    for (const [name, { depends_on = {}, image, volumes = [] }] of Object.entries(compose.services)) {
      expect([name, image]).toEqual([name, expect.stringMatching(/^\$\{\w+:-.+\}$/)]);
      for (const volume of volumes) {
        const source = volume.split(':')[0]!;
        if (!source.startsWith('.')) expect(Object.keys(compose.volumes)).toContain(source);
      }
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const { restart, healthcheck } = compose.services[other]!;
        if (condition === 'service_healthy') expect([other, healthcheck]).not.toEqual([other, undefined]);
        else expect([other, restart]).toEqual([other, 'on-failure:5']);
        for (const word of healthcheck?.test ?? []) expect(word).toBeTypeOf('string');
      }
    }
  });

  test('Temporal is set up as the local stack has it', () => {
    const local = readFileSync(join(ROOT, 'infra', 'stack', 'temporal.ts'), 'utf8');
    const dynamic = parse(text('temporal', 'dynamic-config.yaml')) as Record<string, [{ value: unknown }]>;
    const same = [...local.matchAll(/'(matching\.\w+)=(\w+)'/g)].map(([, name, value]) => [name, value]);
    expect(Object.entries(dynamic).map(([name, [{ value }]]) => [name, String(value)])).toEqual(
      expect.arrayContaining(same),
    );
    expect(same).toHaveLength(3);
  });
});

describe('Prometheus', () => {
  test('scrapes services that there are', () => {
    const { scrape_configs: jobs } = parse(text('prometheus', 'prometheus.yml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[];
    };
    const hosts = jobs
      .flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets))
      .map((target) => target.split(':')[0]);
    const known = [...Object.keys(compose.services), 'localhost'];
    expect(hosts.filter((host) => !known.includes(host!))).toEqual([]);
  });

  describe('every metric of ours and of the SDK in the rules is measured', () => {
    const home = temporaryHome();
    let page = '';
    beforeAll(async () => {
      const { temporal } = await startStack({ home, services: ['temporal'] });
      const address = `127.0.0.1:${await freePort()}`;
      Runtime.install({ telemetryOptions: { metrics: metricsOptions(address) } });
      const connection = await NativeConnection.connect({ address: temporal.address });
      const worker = await Worker.create({
        connection,
        taskQueue: QUEUES.gpu,
        activities: { nothing: async () => undefined },
      });
      await worker.runUntil(
        until('pollers', async () => {
          page = await (await fetch(`http://${address}/metrics`)).text();
          return /^temporal_num_pollers\{.*task_queue="gpu".*\} [1-9]/m.test(page);
        }),
      );
      await connection.close();
    }, 200_000);
    afterAll(() => discard(home));

    const named = [...new Set(rules.match(/\b(?:steadfast|temporal)_\w+/g))];
    test.each(named.filter((name) => name.startsWith('temporal_')))('%s', (name) => {
      expect(page).toMatch(new RegExp(`^${name}\\{`, 'm'));
    });
    test.each(named.filter((name) => name.startsWith('steadfast_')))('%s', (name) => {
      const metric = name.replace(/_(?:total|bucket|count)$/, '');
      expect(Object.keys(METRICS)).toContain(metric);
    });
    test('by the labels that they have', () => {
      expect(page).toMatch(/^temporal_num_pollers\{.*poller_type="activity_task"/m);
      expect(page).toMatch(/^temporal_worker_task_slots_used\{.*worker_type="ActivityWorker"/m);
    });
  });

  const promtool = has('promtool', '--version');
  test.skipIf(!promtool)('promtool takes the configuration, and each alert fires when it should', () => {
    for (const args of [
      ['check', 'config', 'prometheus.yml'],
      ['test', 'rules', 'rules.test.yml'],
    ])
      expect(run('promtool', args, join(FOLDER, 'prometheus'))).toMatchObject({ status: 0 });
  });
  test('each alert has a test, a severity and a place in the docs', () => {
    const tests = text('prometheus', 'rules.test.yml');
    const page = readFileSync(join(ROOT, 'docs', 'deployment.md'), 'utf8');
    const { groups } = parse(rules) as {
      groups: { rules: { alert: string; labels: { severity: string } }[] }[];
    };
    for (const { alert, labels } of groups.flatMap((group) => group.rules)) {
      expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts`));
      expect(labels.severity).toMatch(/^(page|ticket)$/);
      expect(page).toContain(`\`${alert}\``);
    }
  });
});

const docker = [['docker', 'compose'], ['docker-compose']].find(([command, ...args]) =>
  has(command!, ...args, 'version'),
);
test.skipIf(docker === undefined)('docker compose takes the file', () => {
  const [command, ...first] = docker!;
  const args = [...first, '-f', join(FOLDER, 'compose.yaml'), 'config', '--quiet'];
  expect(run(command!, args, FOLDER)).toMatchObject({ status: 0, stderr: '' });
});
for (const [name, there] of Object.entries({
  promtool: has('promtool', '--version'),
  'docker compose': docker,
}))
  if (!there) process.stderr.write(`checks by ${name} are skipped: it is not on this machine\n`);

function run(command: string, args: readonly string[], cwd: string) {
  const env = { ...process.env, POSTGRES_PASSWORD: PASSWORD };
  return spawnSync(command, args, { cwd, env, encoding: 'utf8' });
}

function has(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0;
}

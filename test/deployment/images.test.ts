/**
 * The images of the workers, built by their Dockerfile on a base of this machine's own files, with a real Temporal and
 * PostgreSQL beside them: a small campaign is played, workers are stopped and killed in the middle of it, and it ends clean.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../infra/stack/free-port.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { notLong } from '../long.js';
import { noOwnEngine, type OwnEngine, ownEngine } from '../sandbox/docker/own-engine.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { importBase } from './image-base.js';

// Builds compete with everything else on the machine.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 1_200_000 });
const READY_MS = 300_000;
const DOCKERFILE = 'infra/images/workers.Dockerfile';
const BASE = 'steadfast-test/base';
const REVISION = '0123456789abcdef0123456789abcdef01234567';
const WORKERS = ['pipeline', 'sandbox', 'gpu'] as const;
const EVALUATION = `
seed: 3
model: { kind: scripted, errorRate: 0, turnDelayMs: 400 }
benchmark: { limit: 16, repeat: 2 }
`;
const TRAINING = `
seed: 3
train:
  tasks: tasks.yaml
  steps: 1
  shape: { groups: 4, groupSize: 4, minInformative: 1, maxRefillRounds: 1, maxGroups: 12 }
`;

const why = notLong ?? noOwnEngine();
if (why !== undefined) process.stderr.write(`tests of the workers' images are skipped: ${why}\n`);

describe.skipIf(why !== undefined)('images of the workers', () => {
  const home = temporaryHome();
  let engine: OwnEngine;
  let files = '';
  let database: pg.Pool;
  let environment: readonly string[] = [];
  let trainerPort = 0;
  let endpointsPort = 0;

  interface Ran {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }
  const docker = (...args: readonly string[]): Promise<Ran> =>
    new Promise((resolve) => {
      const env = { ...process.env, DOCKER_BUILDKIT: '0', DOCKER_CONFIG: join(files, 'docker') };
      const all = ['-H', engine.settings.host ?? '', ...args];
      execFile('docker', all, { env, maxBuffer: 2 ** 26 }, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
      });
    });
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await docker(...args);
    if (code !== 0)
      throw new Error(`docker ${args.join(' ')} ended with ${code}: ${(out + err).slice(-3_000)}`);
    return out.trim();
  };
  const build = (target: string): Promise<string> =>
    done(
      ...['build', '--network', 'host', '--force-rm', '-f', DOCKERFILE, '--target', target],
      ...['BASE', 'PYTHON_BASE'].flatMap((name) => ['--build-arg', `${name}=${BASE}`]),
      ...['NPM_INSTALL', 'PIP_INSTALL'].flatMap((name) => ['--build-arg', `${name}=true`]),
      ...['--build-arg', `REVISION=${REVISION}`, '-t', `steadfast/${target}`, '.'],
    );
  /** As docs/deployment.md has them run, but on this machine's network. */
  const apart = ['--network', 'host', '--read-only', '--tmpfs', '/tmp', '-v', 'state:/var/lib/steadfast'];
  const command = (...args: readonly string[]): Promise<Ran> =>
    docker(
      ...['run', '--rm', ...apart, ...environment, '-v', `${files}:/files:ro`, 'steadfast/pipeline'],
      ...args,
    );
  /** Seldom asked: every question is a process. */
  const ready = async (name: string, word: RegExp): Promise<void> => {
    for (const limit = Date.now() + READY_MS; ; await sleep(1_000)) {
      const { out, err } = await docker('logs', name);
      if (word.test(out + err)) return;
      const state = await done('inspect', '-f', '{{.State.Status}} {{.State.ExitCode}}', name);
      if (!state.startsWith('running') || Date.now() > limit)
        throw new Error(`${name} is not ready (${state}): ${(out + err).slice(-2_000)}`);
    }
  };

  beforeAll(async () => {
    files = await mkdtemp(join(tmpdir(), 'steadfast images '));
    await chmod(files, 0o755);
    const tasks = (await createDeskbench().tasks()).filter(({ split }) => split === 'train').slice(0, 16);
    await writeFile(join(files, 'tasks.yaml'), tasks.map(({ id }) => `- ${id}\n`).join(''));
    await writeFile(join(files, 'eval.yaml'), EVALUATION);
    await writeFile(join(files, 'train.yaml'), TRAINING);
    const services = startStack({ home, services: ['temporal', 'postgres'], workers: 'none' });
    engine = await ownEngine();
    await importBase(['-H', engine.settings.host ?? ''], BASE);
    for (const target of [...WORKERS, 'trainer']) await build(target);
    const { temporal, databaseUrl } = await services;
    database = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    database.on('error', () => undefined);
    trainerPort = await freePort();
    endpointsPort = await freePort([trainerPort]);
    environment = Object.entries({
      TEMPORAL_ADDRESS: temporal.address,
      DATABASE_URL: databaseUrl,
      STEADFAST_TRAINER_URL: `http://127.0.0.1:${trainerPort}`,
      STEADFAST_USER_URL: `http://127.0.0.1:${endpointsPort}/user/v1`,
      STEADFAST_JUDGE_URL: `http://127.0.0.1:${endpointsPort}/judge/v1`,
    }).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  });
  afterAll(async () => {
    await database?.end();
    await discard(home);
    if (engine) {
      const left = (await docker('ps', '-aq')).out.split('\n').filter(Boolean);
      if (left.length > 0) await docker('rm', '-f', ...left);
      await engine.stop();
    }
    await rm(files, { recursive: true, force: true });
  });

  test('a user without rights, an init that hands signals on, the revision, no sources and no tests', async () => {
    for (const target of WORKERS) {
      const [image] = JSON.parse(await done('image', 'inspect', `steadfast/${target}`)) as [
        { Config: { User: string; Entrypoint: string[]; Cmd: string[]; Labels: Record<string, string> } },
      ];
      const { User, Entrypoint, Cmd, Labels } = image.Config;
      expect([User, Entrypoint[0], Cmd]).toEqual(['10001:10001', 'tini', ['workers', target]]);
      expect(Labels['org.opencontainers.image.revision']).toBe(REVISION);
    }
    const look =
      'find /app -name node_modules -prune -o -type f \\( -name "*.test.*" -o -name "*.ts" \\) -print';
    const shell = ['--entrypoint', '/bin/sh', 'steadfast/pipeline', '-c', `${look}; echo x > /app/x`];
    const { code, out } = await docker('run', '--rm', ...apart, ...shell);
    expect([code === 0, out]).toEqual([false, '']);
  });

  test('a campaign is played, over a worker that is stopped and one that is killed; all end with 0 when told to', async () => {
    expect((await command('ledger', 'migrate')).out).toMatch(/up to date|migrations were run/);
    const listen = ['--host', '127.0.0.1', '--port', String(trainerPort)];
    const base = ['--home', '/var/lib/steadfast', '--base', '/app/native/trainer/base'];
    const run = ['run', '-d', ...apart];
    const trainer = ['--no-healthcheck', '--name', 'trainer', 'steadfast/trainer', 'serve'];
    await done(...run, ...trainer, ...listen, ...base);
    const rules = ['--', 'node', '/app/dist/suites/deskbench/endpoints/main.js'];
    const entry = ['-e', `PORT=${endpointsPort}`, '--entrypoint', 'tini', 'steadfast/pipeline', ...rules];
    await done(...run, '--name', 'endpoints', ...entry);
    await ready('trainer', /listening/);
    await ready('endpoints', /judge/);
    for (const kind of WORKERS) {
      const name = ['--name', kind, '-e', `STEADFAST_HOST=${kind}`];
      await done(...run, ...name, ...environment, `steadfast/${kind}`);
    }
    for (const kind of WORKERS) await ready(kind, /ready, process/);

    const playing = (kind: string): Promise<unknown> =>
      until('an episode under way', async () => {
        const text = `SELECT 1 FROM tries t JOIN attempts a ON a.id = t.attempt_id
          WHERE a.campaign LIKE $1 AND t.state = 'running' LIMIT 1`;
        return (await database.query(text, [`${kind}/%`])).rows.length > 0;
      });
    // So slow and so narrow that most of it is still to be played after each interruption.
    const evaluated = command('evaluate', 'small', '--file', '/files/eval.yaml', '--lanes', '4');
    await playing('eval');
    await done('stop', '-t', '60', 'sandbox');
    await stopped('sandbox');
    await done('start', 'sandbox');
    await playing('eval');
    await done('kill', 'sandbox');
    await done('start', 'sandbox');
    expect(await evaluated).toMatchObject({
      code: 0,
      out: expect.stringMatching(/coverage +32 of 32 attempts clean/),
    });

    const trained = command('train', 'small', '--file', '/files/train.yaml');
    await playing('train');
    await done('kill', 'gpu');
    await done('start', 'gpu');
    expect(await trained).toMatchObject({ code: 0, out: expect.stringMatching(/steps +1/) });
    const checked = await docker('exec', 'sandbox', 'steadfast', 'verify', 'sandbox');
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('nothing is left behind')]);
    const ledger = await docker('exec', 'pipeline', 'steadfast', 'verify', 'ledger');
    expect([ledger.code, ledger.out]).toEqual([0, expect.not.stringContaining('✗')]);
    const { rows } = await database.query("SELECT key, state FROM attempts WHERE state <> 'clean'");
    expect(rows).toEqual([]);

    for (const kind of WORKERS) {
      await done('stop', '-t', '60', kind);
      await stopped(kind);
    }
    await done('stop', '-t', '60', 'trainer', 'endpoints');
    expect(await done('inspect', '-f', '{{.State.ExitCode}}', 'trainer', 'endpoints')).toBe('0\n0');
  });

  /** Ended by itself, within its grace, having said that it drains. */
  async function stopped(name: string): Promise<void> {
    const code = await done('inspect', '-f', '{{.State.ExitCode}}', name);
    const { err } = await docker('logs', '--tail', '20', name);
    expect([name, code, err]).toEqual([name, '0', expect.stringMatching(/SIGTERM: takes no more work/)]);
  }
});

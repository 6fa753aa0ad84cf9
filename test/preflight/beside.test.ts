/** Checks of what a run needs beside its trainer: people, tools, search, name, secrets, stack; each sound and unsound. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Asked, Check } from '../../cli/preflight/asked.js';
import { estimate } from '../../cli/preflight/checks/estimate.js';
import { known, providers } from '../../cli/preflight/checks/known.js';
import { people } from '../../cli/preflight/checks/people.js';
import { secrets } from '../../cli/preflight/checks/secrets.js';
import { stack } from '../../cli/preflight/checks/stack.js';
import { tools } from '../../cli/preflight/checks/tools.js';
import { torchModel } from '../../cli/preflight/checks/torch-model.js';
import { typesense } from '../../cli/preflight/checks/typesense.js';
import { preflight } from '../../cli/preflight/preflight.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import { campaignClaim } from '../../core/claim.js';
import type { CheckResult } from '../../core/preflight.js';
import { findingText, problemsOfAll } from '../../core/preflight.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import type { Suite, Task } from '../../core/suite.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { type Reply, serve } from '../policy/server.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { makeModel } from '../stand-in-cluster/material.js';

vi.setConfig({ testTimeout: 240_000 });

const suite = createDeskbench();
const TASK = 'retail:refund-01';
const home = mkdtempSync(join(tmpdir(), 'steadfast home '));
beforeAll(() => void vi.stubEnv('STEADFAST_HOME', home));
afterEach(() => void vi.stubEnv('PREFLIGHT_KEY', undefined));
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

function asked(file: object = {}, rest: Partial<Asked> = {}): Asked {
  const parsed = parseRunFile(file, 'run.yaml');
  const of = { file: parsed, config: uncheckedTrainConfig(parsed, suite, [TASK]), pool: [TASK] };
  const signal = new AbortController().signal;
  const nobody = { stack: undefined, cluster: undefined, env: process.env, offline: false };
  return { id: 'train/x', suite, ...of, ...nobody, signal, ...rest };
}

async function problems(check: Check, of: Asked): Promise<readonly string[]> {
  const result: CheckResult = await check.run(of);
  return problemsOfAll([{ name: check.name, result }]).map(findingText);
}

const answer = (content: string): Reply => ({
  body: { choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }], usage: {} },
});

describe('simulated user and judge', () => {
  const both = (user: string, judge: string) => ({
    user: { baseUrl: user, model: 'u' },
    judge: { baseUrl: judge, model: 'j' },
  });

  it('that answer hold, each by one request', async () => {
    const [user, judge] = [await serve([answer('blue .')]), await serve([answer('Yes.')])];
    const result = await people.run(asked(both(user.baseUrl, judge.baseUrl)));
    expect(result).toEqual({
      state: 'holds',
      found: `user u at ${user.baseUrl}; judge j at ${judge.baseUrl}`,
    });
    expect([user.received.length, judge.received.length]).toEqual([1, 1]);
  });

  it('are wrong in their own ways, and both are told', async () => {
    const user = await serve([{ status: 404, body: { error: { message: 'no model u' } } }]);
    const judge = await serve([answer('It depends.')]);
    const found = await problems(people, asked(both(user.baseUrl, judge.baseUrl)));
    expect(found).toEqual([
      expect.stringMatching(
        /^user u at .*: expected an answer to one short request, found .*HTTP 404 no model u\. Correct user\.baseUrl and user\.model\./,
      ),
      expect.stringMatching(
        /^judge j at .*found .*"It depends\." instead of yes or no.*--offline goes on without asking\.$/,
      ),
    ]);
  });

  it('whose key is missing are not asked: that is told with the other secrets', async () => {
    const server = await serve([answer('yes')]);
    const keyed = { baseUrl: server.baseUrl, model: 'm', apiKeyEnv: 'PREFLIGHT_KEY' };
    const of = asked({ user: keyed, judge: keyed });
    expect(await people.run(of)).toMatchObject({ state: 'skipped' });
    expect(await problems(secrets, of)).toEqual([
      'user.apiKeyEnv: expected a secret in the environment variable PREFLIGHT_KEY, found none. Set it here and for the sandbox workers: export PREFLIGHT_KEY=…',
    ]);
    expect(server.received).toEqual([]);
  });
});

describe('tool servers', () => {
  const broken = (change: (task: Task) => Partial<Task>): Suite => ({
    ...suite,
    tasks: () => suite.tasks(),
    close: () => suite.close(),
    load: async (id) => {
      const task = await suite.load(id);
      return Object.assign(Object.create(task) as Task, change(task));
    },
  });

  it('that answer hold', async () => {
    expect(await tools.run(asked())).toMatchObject({
      state: 'holds',
      found: expect.stringContaining('8 tools'),
    });
  });

  it('that cannot start, or break in the session, are named', async () => {
    const program = { file: process.execPath, args: ['-e', 'process.exit(3)'], env: {} };
    const crashing = broken(({ servers }) => ({
      servers: servers.map(({ name, startTimeoutMs }) => ({ name, startTimeoutMs, command: program })),
    }));
    expect(await problems(tools, asked({}, { suite: { ...crashing, isolation: 'process' } }))).toEqual([
      expect.stringMatching(/^tool servers of deskbench: expected a session of retail:refund-01, found /),
    ]);
  });
});

describe('a search server', () => {
  const searching = (url: string): Suite => ({
    ...suite,
    tasks: () => suite.tasks(),
    load: async (id) => {
      const task = await suite.load(id);
      const env = { STEADFAST_TYPESENSE_URL: url, TYPESENSE_API_KEY: 'k' };
      const command = { file: 'x', args: [], env };
      return Object.assign(Object.create(task) as Task, {
        servers: task.servers.map((server) => ({ ...server, command })),
      });
    },
  });

  it('is asked with its key where the tools ask one', async () => {
    expect(await typesense.run(asked())).toMatchObject({ state: 'skipped' });
    const server = await serve([{ body: [] }]);
    const url = server.baseUrl.replace('/v1', '');
    expect(await typesense.run(asked({}, { suite: searching(url) }))).toEqual({ state: 'holds', found: url });
    expect(server.received[0]!.headers['x-typesense-api-key']).toBe('k');
  });

  it('that takes no key, or is not there, is a problem; offline it is not asked', async () => {
    const server = await serve([{ status: 401, body: {} }]);
    const url = server.baseUrl.replace('/v1', '');
    expect(await problems(typesense, asked({}, { suite: searching(url) }))).toEqual([
      `Typesense at ${url}: expected an answer to its list of collections, found HTTP 401. Start it, or correct address and key: steadfast suite add (docs/thinkingbox.md).`,
    ]);
    // A port that nothing can listen on.
    const [gone] = await problems(typesense, asked({}, { suite: searching('http://127.0.0.1:0') }));
    expect(gone).toContain('Typesense at http://127.0.0.1:0: expected an answer');
    const of = asked({}, { suite: searching(url), offline: true });
    expect(await typesense.run(of)).toMatchObject({ state: 'skipped' });
  });
});

describe('with a ledger', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await startTestDatabase();
  });
  afterAll(() => db?.stop());
  const withLedger = (of: Asked): Asked => ({
    ...of,
    stack: { ledger: async () => db.ledger } as unknown as NonNullable<Asked['stack']>,
  });

  it('a name is free, or of this configuration, or another’s', async () => {
    expect(await known.run(withLedger(asked()))).toEqual({ state: 'holds', found: 'train/x is free' });
    await db.ledger.claimCampaign(campaignClaim('train/x', asked().config, null));
    expect(await known.run(withLedger(asked()))).toMatchObject({ state: 'holds' });
    const [problem] = await problems(known, withLedger(asked({ seed: 7 })));
    expect(problem).toMatch(
      /^train\/x: expected the configuration that it was started with, found seed: 42 → 7/,
    );
  });

  it('an estimate needs a probe, and is made from one', async () => {
    expect(await estimate.run(withLedger(asked()))).toMatchObject({ state: 'skipped' });
  });
});

it('limits of providers that no endpoint has', async () => {
  const [problem] = await problems(providers, asked({ providers: { nobody: { requestsPerMinute: 1 } } }));
  expect(problem).toMatch(/^providers\.nobody: expected no limits/);
});

it('a stack that is named and does not answer', async () => {
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:0', DATABASE_URL: 'postgres://127.0.0.1:0/x' };
  expect(await problems(stack, asked({}, { env }))).toEqual([
    'Temporal and PostgreSQL: expected both, found none that answers at TEMPORAL_ADDRESS and DATABASE_URL. Start them, or correct the two variables.',
  ]);
});

it('the model of a PyTorch trainer', async () => {
  const folder = join(home, 'model');
  const torch = (model: string) => asked({ trainer: { kind: 'torch', model } });
  expect((await problems(torchModel, torch(folder)))[0]).toContain(`found no folder ${folder}`);
  makeModel(folder);
  expect(await torchModel.run(torch(folder))).toMatchObject({ state: 'holds' });
});

it('a check that fails in a way that nobody foresaw is a problem, and the others go on', async () => {
  const failing: Suite = { ...suite, tasks: () => Promise.reject(new Error('the disk is on fire')) };
  const results = await preflight(asked({}, { suite: failing, offline: true }));
  const texts = problemsOfAll(results).map(findingText);
  expect(texts).toContain(
    'tool servers: expected to be checked, found the disk is on fire. Repair what it needs, and run the dry run again.',
  );
  expect(results.find(({ name }) => name === 'secrets')?.result.state).toBe('holds');
});

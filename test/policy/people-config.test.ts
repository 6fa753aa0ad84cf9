/** User and judge as part of a campaign: what is declared, what counts as another one, who is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseChangedSuite } from '../../activities/campaign/suite-guard.js';
import { createPeople } from '../../activities/episode/people.js';
import { createPgRates } from '../../activities/ledger/rates.js';
import { ProviderGates } from '../../activities/policy/rate-gate.js';
import { resolvePeople } from '../../cli/run/people.js';
import { checkProviders, declareProviders } from '../../cli/run/providers.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import type { AttemptsConfig } from '../../core/campaign.js';
import { asBefore, campaignClaim } from '../../core/claim.js';
import { configDiff } from '../../core/fingerprint.js';
import { promptsDigest } from '../../core/prompts.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { stageConfig, validationConfig } from '../../core/stage-configs.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { serve } from './server.js';

const suite = createDeskbench();
const TASKS = ['retail_benchmark:refund-01'];
const USER = {
  baseUrl: 'https://api.example.com/v1',
  model: 'm',
  apiKeyEnv: 'SOME_KEY',
  temperature: 0.5,
  maxTokens: 90,
};

const config = (file: object): Promise<AttemptsConfig> =>
  attemptsConfig('eval', parseRunFile(file, 'run.yaml'), suite, TASKS);

let db: TestDatabase;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

describe('part of the fingerprint', () => {
  test.each([
    [{ user: { temperature: 1 } }, ['people.user.temperature']],
    [{ user: { maxTokens: 5 } }, ['people.user.maxTokens']],
    [{ judge: { maxTokens: 5 } }, ['people.judge.maxTokens']],
    [{ judge: { baseUrl: 'https://h/v1', model: 'j' } }, ['people.judge.baseUrl', 'people.judge.model']],
  ])('%j', async (file, paths) => {
    const changes = configDiff(await config({}), await config(file));
    expect(changes.map(({ path }) => path)).toEqual(paths);
  });

  test('a change is refused with its path when the name is claimed again', async () => {
    const [before, after] = [await config({ user: USER }), await config({ user: { ...USER, model: 'n' } })];
    await db.ledger.claimCampaign(campaignClaim('eval/people', before, null));
    await expect(db.ledger.claimCampaign(campaignClaim('eval/people', after, null))).rejects.toThrow(
      'people.user.model: "m" → "n"',
    );
  });

  test('changed prompts are refused wherever episodes are begun', async () => {
    const { people, ...rest } = await config({});
    const old = { ...rest, people: { ...people!, prompts: `sha256:${'0'.repeat(64)}` } };
    await db.ledger.claimCampaign(campaignClaim('eval/old-prompts', old, null));
    const guard = () =>
      refuseChangedSuite({ ledger: db.ledger, suite: async () => suite }, 'eval/old-prompts');
    await expect(guard()).rejects.toThrow(
      /prompts of user and judge .*people\.prompts.* expected digest sha256:0000/,
    );
    const accepted = {
      what: 'prompts of user and judge',
      recorded: old.people.prompts,
      found: promptsDigest(),
    };
    await db.ledger.noteOnCampaign('eval/old-prompts', {
      acceptedDrift: [{ ...accepted, acceptedAt: 'now' }],
    });
    await guard();
  });

  test('a campaign from before they were part of it goes on as it was', async () => {
    const now = await config({});
    const { people: _people, ...before } = now;
    expect(asBefore(now, before)).toEqual(before);
    expect(asBefore(now, now)).toEqual(now);
    expect(asBefore(now, undefined)).toEqual(now);
  });

  test('stages and validations have those of the campaign above', async () => {
    const { people } = await config({ user: USER });
    const above = {
      people,
      train: {},
      probe: { tasks: [], repeat: 1 },
      validation: { tasks: [], repeat: 1 },
    };
    const facts = { pool: [], heldOut: [], lastStep: 1 };
    expect(stageConfig('pipeline/p', 'probe', above as never, facts).people).toEqual(people);
    expect(validationConfig('train/r', 1, above as never).config.people).toEqual(people);
  });
});

describe('what the worker makes of it', () => {
  test('the endpoint and settings of the run file; the key by its name', async () => {
    const server = await serve([{ body: { choices: [{ message: { content: 'blue' } }] } }]);
    process.env.SOME_KEY = 'k-123';
    const places = { user: { ...USER, baseUrl: 'http://127.0.0.1:9/v1' }, judge: USER };
    const gates = new ProviderGates(createPgRates(db.pool));
    const people = createPeople({ places, gate: (provider) => gates.of(provider) });
    const { user } = people({
      people: resolvePeople({ user: { ...USER, baseUrl: server.baseUrl }, judge: { ...USER } }),
    });
    const meter = { promptTokens: 0, sampledTokens: 0, calls: 0 };
    await user.complete({ system: 's', user: 'u' }, meter, new AbortController().signal);
    const [received] = server.received;
    expect(received?.body).toMatchObject({ model: 'm', temperature: 0.5, max_tokens: 90 });
    expect(received?.headers.authorization).toBe('Bearer k-123');
  });

  test('another model in the environment than the campaign began with is refused, with the way out', () => {
    const place = { baseUrl: 'http://127.0.0.1:9/v1', model: 'other', apiKeyEnv: null };
    const gate = () => ({ admit: () => Promise.reject(new Error('not asked')) });
    const people = createPeople({ places: { user: place, judge: place }, gate });
    expect(() => people({ people: resolvePeople({}) })).toThrow(
      /^user of the campaign: expected model rules, as when the campaign was started, found other in the environment of this worker.*STEADFAST_USER_MODEL/,
    );
    people({});
  });
});

describe('providers of a run file', () => {
  const chat = { kind: 'chat', baseUrl: 'https://h.example/v1', model: 'm' };

  test('declared once, refused otherwise', async () => {
    const rates = createPgRates(db.pool);
    const named = await config({ model: { ...chat, provider: 'acme' } });
    await expect(checkProviders(rates, named, {})).rejects.toThrow('provider acme: expected limits under');
    await declareProviders(rates, 'eval/a', named, { acme: { requestsPerMinute: 10 } });
    await checkProviders(rates, named, {});
    await expect(
      declareProviders(rates, 'eval/b', named, { acme: { requestsPerMinute: 11 } }),
    ).rejects.toThrow('provider acme: expected 10 requests a minute, as eval/a declared');
    const byHost = await config({ model: chat });
    await declareProviders(rates, 'eval/c', byHost, { 'h.example': { tokensPerMinute: 10 } });
    await expect(checkProviders(rates, byHost, { 'h.exmple': { tokensPerMinute: 1 } })).rejects.toThrow(
      'providers.h.exmple: expected one of h.example, found limits that nothing would keep. Did you mean h.example?',
    );
  });
});

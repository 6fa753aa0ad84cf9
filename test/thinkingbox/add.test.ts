/** `suite add`: checked first, remembered then, opened by its name alone. On our own cases; no checkout needed. */
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { attemptsConfig, refuseGolden } from '../../cli/run/resolve.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { addThinkingBox } from '../../suites/thinkingbox/add.js';
import { openAddedThinkingBox } from '../../suites/thinkingbox/open.js';
import { readRegistrations, register } from '../../suites/thinkingbox/registration.js';
import { EPISODE_LIMITS, MOST_EPISODE_MS } from '../../temporal.config.js';
import { FRAMEWORK, preparedPython } from './given.js';

const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 120_000;

let python = '';
let home = '';
let data = '';

beforeAll(async () => {
  python = await preparedPython();
}, 300_000);
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'suite add '));
  data = join(home, 'data');
  await cp(join(MINI, 'dataset'), join(data, 'dataset'), { recursive: true });
  await cp(join(MINI, 'servers'), join(data, 'servers'), { recursive: true });
  // Cases that cannot be read stand in the way of a folder that counts as a whole.
  for (const file of ['broken.py', 'lacking.py', 'misspelt.py'])
    await rm(join(data, 'dataset', 'test_case', file));
});
afterEach(() => rm(home, { recursive: true, force: true }));

function add(settings: object = {}, acceptRevision = true) {
  return addThinkingBox({
    env: { STEADFAST_HOME: home },
    name: 'mine',
    settings: { thinkingboxDir: FRAMEWORK, dataDir: data, python, ...settings },
    acceptRevision,
    report: () => undefined,
  });
}

const open = () => openAddedThinkingBox({ STEADFAST_HOME: home }, 'mine');

test('all cases of one’s own folder are train candidates, and the suite opens by its name', {
  timeout: SLOW_MS,
}, async () => {
  const added = await add();
  expect(added).toMatchObject({ name: 'mine', benchmark: 0, notComparable: [] });
  expect(added.domains).toEqual({ rooms: 6, shelf: added.tasks - 8, till: 1, speaking_shelf: 1 });
  const suite = await open();
  expect(suite).toMatchObject({ name: 'mine', digest: added.digest });
  // Its scripted policy plays what a case wants, which no pool may come from.
  const scripted = parseRunFile({ model: { kind: 'scripted' } }, 'run.yaml').model;
  expect(() => refuseGolden('model', suite, scripted)).toThrow(
    /model: expected a model, found scripted, which plays/,
  );
  expect(() => refuseGolden('model', suite, undefined)).not.toThrow();
  expect((await suite.tasks()).map(({ id }) => id)).toContain('till.py:test_sale');
  // The official runner's limits, unless a run file says otherwise.
  const limits = async (file: object) =>
    (await attemptsConfig('eval', parseRunFile(file, 'run.yaml'), suite, ['till.py:test_sale'])).limits;
  expect(await limits({})).toMatchObject({
    ...{ tokensPerCall: 8_192, messageMs: 1_800_000, episodeMs: MOST_EPISODE_MS },
    ...{ agentActions: 1_000, userTurns: 1_000 },
  });
  expect(await limits({ limits: { messageMs: 5_000 } })).toMatchObject({
    ...{ messageMs: 5_000, episodeMs: EPISODE_LIMITS.episodeMs },
  });
  expect(await limits({ limits: { episodeMs: 60_000 } })).toMatchObject({
    ...{ messageMs: 1_800_000, episodeMs: 60_000 },
  });
  await suite.close();
});

test('the listing is kept, and made again when a file has changed and been accepted', {
  timeout: SLOW_MS,
}, async () => {
  const first = await add();
  const [kept = ''] = await readdir(join(home, 'thinkingbox'));
  const path = join(home, 'thinkingbox', kept);
  // What is kept is what is read.
  const listing = JSON.parse(await readFile(path, 'utf8')) as { cases: object[] };
  const cases = listing.cases.map((one) => ({ ...one, domain: 'kept' }));
  await writeFile(path, JSON.stringify({ ...listing, cases }));
  expect((await add()).domains).toEqual({ kept: first.tasks });
  // Half of it is as good as none.
  await writeFile(path, '[{"id": ');
  expect(await add()).toEqual(first);

  await appendFile(join(data, 'dataset', 'test_case', 'till.py'), '\n# another word\n');
  await expect(open()).rejects.toThrow(
    /suite add --data .*: expected files as they were accepted \(files:[0-9a-f]+\), found files:/,
  );
  const again = await add();
  expect(again.digest).not.toBe(first.digest);
  await (await open()).close();
});

test('a folder of cases alone, for servers of the framework, is one too', { timeout: SLOW_MS }, async () => {
  await rm(join(data, 'servers'), { recursive: true });
  const { tasks } = await add();
  const suite = await open();
  expect(await suite.tasks()).toHaveLength(tasks);
  await suite.close();
});

test('nothing is remembered of what is refused', { timeout: SLOW_MS }, async () => {
  await expect(add({}, false)).rejects.toThrow(/^--(thinkingbox|data) /);
  await expect(add({ dataDir: '/nowhere' })).rejects.toThrow(/^--data: expected a folder with dataset/);
  const list = join(home, 'list.yaml');
  const listed = async (text: string) => {
    await writeFile(list, text);
    return add({ cases: list });
  };
  await expect(listed('- till.py:test_sale\n- till.py:test_sale\n')).rejects.toThrow(/each id once/);
  await expect(listed('- till.py:test_sail\n')).rejects.toThrow(/test_sail.*Did you mean .*test_sale/);
  await writeFile(join(data, 'dataset', 'test_case', 'half.py'), 'def test_half(x, judge)\n');
  await expect(add()).rejects.toThrow(/half\.py: expected a case file that can be read, found SyntaxError/);
  expect(await readRegistrations(home)).toEqual({});
  await expect(open()).rejects.toThrow(/expected a suite that was added on this machine, found "mine"/);
});

test('a search service needs its key', { timeout: SLOW_MS }, async () => {
  const search = { url: 'http://127.0.0.1:8108', keyEnv: 'NO_SUCH_KEY' };
  await expect(add({ search })).rejects.toThrow(/NO_SUCH_KEY: expected the key of the Typesense at/);
});

test('a file of registrations that cannot be read is one error', async () => {
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'suites.json'), '{');
  await expect(readRegistrations(home)).rejects.toThrow(/suites\.json: expected JSON/);
  await writeFile(join(home, 'suites.json'), '{"mine": {"dataDir": "/a", "datDir": 1}}');
  await expect(readRegistrations(home)).rejects.toThrow(/suites as `suite add` writes them, found mine/);
  await expect(register(home, 'other', { thinkingboxDir: '/a', dataDir: '/b' })).rejects.toThrow(
    /suites\.json/,
  );
});

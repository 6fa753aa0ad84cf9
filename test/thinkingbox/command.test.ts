/** Five benchmark cases twice through the command a person types, on a stack whose workers were given the checkouts. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStack } from '../../cli/context.js';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { type People, startPeople } from '../e2e/people.js';
import { ROOT } from '../import-graph.js';
import { discard } from '../setup/harness.js';
import { withVariables } from '../variables.js';
import { DATA, preparedPython, THINKINGBOX, titled } from './given.js';

const run = promisify(execFile);
const none = { THINKINGBOX_DIR: '', THINKINGBOX_DATA_DIR: '', THINKINGBOX_PYTHON: '' };
const given = THINKINGBOX !== undefined && DATA !== undefined;

describe.skipIf(!given)(titled('steadfast evaluate --suite thinkingbox', given), () => {
  let home = '';
  let people: People;
  let info: StackInfo;
  let variables: Readonly<Record<string, string>> = {};

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'steadfast home '));
    people = await startPeople({ agreeing: true });
    // Without the checkouts first: what `up` learns later has to reach workers that run.
    await withVariables(none, () => startStack({ home }));
    variables = {
      ...people.environment,
      THINKINGBOX_DIR: THINKINGBOX ?? '',
      THINKINGBOX_DATA_DIR: DATA ?? '',
      THINKINGBOX_PYTHON: await preparedPython(),
    };
  }, 400_000);
  afterAll(async () => {
    await discard(home);
    await people?.close();
  });

  test('the workers are started again when `up` names a checkout, and keep it', {
    timeout: 200_000,
  }, async () => {
    const before = workers(home);
    await withVariables(variables, () => startStack({ home }));
    const after = workers(home);
    expect(after.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    for (const [index, { pid }] of after.entries()) expect(pid).not.toBe(before[index]?.pid);

    info = await withVariables(none, () => startStack({ home }));
    expect(workers(home).map(({ pid }) => pid)).toEqual(after.map(({ pid }) => pid));
    expect(info.judgeUrl).toBe(people.environment.STEADFAST_JUDGE_URL);
  });

  test('gives ten clean keys, all passed', { timeout: 600_000 }, async () => {
    const tasks = join(ROOT, 'examples', 'thinkingbox-five.yaml');
    const { stdout } = await run(
      process.execPath,
      [
        join(ROOT, 'cli', 'steadfast.mjs'),
        ...['evaluate', 'tb', '--suite', 'thinkingbox', '--tasks', tasks, '--repeat', '2'],
        ...['--model', 'scripted', '--lanes', '2', '--json'],
      ],
      { env: { ...process.env, ...variables, STEADFAST_HOME: home }, maxBuffer: 16 * 1024 * 1024 },
    );
    const { state, result } = JSON.parse(stdout) as { state: string; result: object };
    expect(state).toBe('done');
    expect(result).toMatchObject({
      expected: 10,
      clean: 10,
      complete: true,
      score: { tasks: 5, passed: 10 },
    });

    const context = openStack(info);
    try {
      const rows = await (await context.ledger()).attempts('eval/tb');
      expect(new Set(rows.filter(({ state: own }) => own === 'clean').map(({ key }) => key)).size).toBe(10);
      expect(await (await context.ledger()).sandboxCounts('eval/tb')).toMatchObject({
        intended: 0,
        created: 0,
      });
    } finally {
      await context.close();
    }
  });

  test('a suite that was added runs by its name, and says what its results cannot be compared with', {
    timeout: 600_000,
  }, async () => {
    const steadfast = async (...args: string[]) => {
      const env = { ...process.env, ...people.environment, ...none, STEADFAST_HOME: home };
      const options = { env, maxBuffer: 16 * 1024 * 1024 };
      return (await run(process.execPath, [join(ROOT, 'cli', 'steadfast.mjs'), ...args], options)).stdout;
    };
    const added = await steadfast(
      ...['suite', 'add', 'thinkingbox', '--name', 'five', '--json'],
      ...['--thinkingbox', THINKINGBOX ?? '', '--data', DATA ?? '', '--python', await preparedPython()],
      ...['--cases', join(ROOT, 'examples', 'thinkingbox-five.yaml')],
    );
    expect(JSON.parse(added)).toMatchObject({ name: 'five', tasks: 5, benchmark: 5 });
    expect(await steadfast('suite', 'list')).toContain('five  ');

    const evaluated = await steadfast(
      ...['evaluate', 'added', '--suite', 'five', '--repeat', '1', '--model', 'scripted', '--json'],
    );
    const { state, result } = JSON.parse(evaluated) as { state: string; result: object };
    expect(state).toBe('done');
    const why = [expect.stringContaining('search_policy is not available')];
    expect(result).toMatchObject({ clean: 5, score: { passed: 5 }, notComparable: why });
    expect(await steadfast('status', 'eval/added')).toContain('not comparable with published results');
    const written = await steadfast('report', 'eval/added', '--out', join(home, 'added'), '--json');
    const [page = ''] = /\/[^"]+\.html/.exec(written) ?? [];
    expect(readFileSync(page, 'utf8')).toContain('is not comparable with published results');
  });
});

function workers(home: string) {
  return (readState(home)?.processes ?? []).filter(({ name }) => name.startsWith('worker-'));
}

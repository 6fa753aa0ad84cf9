/** The command line in careless hands: exit code 2, a message that says where to look, one JSON document if asked. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readState } from '../../infra/stack/info.js';
import { steadfast } from '../in-process.js';

const home = mkdtempSync(join(tmpdir(), 'steadfast home '));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (...args: string[]) => steadfast(home, ...args);

const CASES: readonly (readonly [line: string, words: string])[] = [
  ['bogus', "unknown command 'bogus'"],
  ['donw', 'Did you mean down?'],
  ['replay step --run a --step 0', 'See: steadfast help replay step'],
  ['verify ledger --run a', 'See: steadfast help verify ledger'],
  ['help nope', 'help: expected a verb of steadfast, found "nope"'],
  ['demo --stepz 3', 'Did you mean --steps?'],
  ['demo extra', 'too many arguments'],
  ['demo --steps 0', 'Expected a whole number from 1 to 100000'],
  ['demo --steps 1e30', 'Expected a whole number'],
  ['demo --lanes 99999', 'Expected a whole number from 1 to 1000'],
  ['demo --seed -1', 'Expected a whole number from 0'],
  ['demo --name Demo_X', 'For example: demo_x'],
  ['demo --file /nowhere.yaml', 'run file /nowhere.yaml: expected a readable file, found no such file'],
  ['train', 'train: expected a name, or a run file that has one, found neither'],
  ['train a/b', 'For example: a-b'],
  ['train run --suite desk', 'suite: expected deskbench or thinkingbox'],
  ['train run --learning-rate 0', '--learning-rate: expected a positive number'],
  ['evaluate n --model foo', '--model: expected base, RUN@STEP'],
  ['evaluate n --repeat 1000000', 'from 1 to 10000'],
  ['episodes --outcome nope', 'Allowed choices are passed'],
  ['interpret --format x', 'format: expected qwen3_xml'],
  ['status', 'local stack: expected a running one, found none. Start it with: steadfast up'],
  ['compare a b', 'Start it with: steadfast up'],
  ['stop x', 'Start it with: steadfast up'],
  ['show x', 'Start it with: steadfast up'],
];

describe.each(CASES)('steadfast %s', (line, words) => {
  it('exit code 2, in words without a stack trace', async () => {
    const { code, out, err } = await run(...line.split(' '));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
    expect(err).not.toMatch(/^ {4}at /m);
  });
});

it.each(['donw --json', 'demo --name Demo_X --json', 'demo --steps 0 --json', 'status --json'])(
  'steadfast %s: one document on standard output, and nothing else',
  async (line) => {
    const { code, out } = await run(...line.split(' '));
    expect(code).toBe(2);
    const { error, exitCode } = JSON.parse(out) as {
      error: { kind: string; message: string };
      exitCode: number;
    };
    expect({ kind: error.kind, exitCode }).toEqual({ kind: 'usage', exitCode: 2 });
    expect(error.message).not.toBe('');
  },
);

it('a dry run resolves everything and starts nothing', async () => {
  const { out } = await run('evaluate', 'n', '--repeat', '2', '--dry-run', '--json');
  const { id, config, known } = JSON.parse(out) as { id: string; config: { repeat: number }; known: null };
  expect({ id, repeat: config.repeat, known }).toEqual({ id: 'eval/n', repeat: 2, known: null });
  expect(readState(home)).toBeUndefined();
});

it('flags win over the run file', async () => {
  const file = join(home, 'run.yaml');
  writeFileSync(file, 'seed: 3\nbenchmark: {repeat: 7}\n');
  const { out } = await run('evaluate', 'n', '--file', file, '--seed', '9', '--dry-run', '--json');
  expect(JSON.parse(out)).toMatchObject({ config: { seed: 9, repeat: 7 } });
});

it('nothing that was refused has started a stack', () => {
  expect(readState(home)).toBeUndefined();
});

it('help of a subcommand has its options', async () => {
  const { code, out } = await run('help', 'replay', 'step');
  expect(code).toBe(0);
  expect(out).toContain('Usage: steadfast replay step');
  expect(out).toContain('--fork <name>');
});

it('a subcommand that is called like a verb is described by what it does', async () => {
  const { out } = await run('help', 'schedule');
  expect(out).toContain('Settings of a schedule, next times, its nights.');
  expect(out).not.toContain('one episode');
});

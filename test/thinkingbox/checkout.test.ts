/** What is said of a folder that is not the checkout it should be. No checkout needed. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { checkCheckout, PINNED } from '../../suites/thinkingbox/checkout.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { checkPython, prepareThinkingBox } from '../../suites/thinkingbox/python.js';
import { readList } from '../../suites/thinkingbox/suite.js';

const folder = () => mkdtemp(join(tmpdir(), 'thinkingbox checkout-'));

/** A folder that looks like the data checkout, under git, at a revision of its own. */
async function lookalike(): Promise<string> {
  const dir = await folder();
  await mkdir(join(dir, dirname(PINNED.data.landmark)), { recursive: true });
  await writeFile(join(dir, PINNED.data.landmark), 'servers: {}\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args]);
  git('init', '--quiet');
  git('add', '-A');
  git('commit', '--quiet', '-m', 'one');
  return dir;
}

test('a missing folder, with how to get it', async () => {
  await expect(checkCheckout('/nowhere/data', 'data', 'THINKINGBOX_DATA_DIR')).rejects.toThrow(
    /^THINKINGBOX_DATA_DIR: expected a folder, found no folder \/nowhere\/data\. Get it with: git clone .*thinkingbox-data/,
  );
});

test('another project', async () => {
  const dir = await folder();
  await expect(checkCheckout(dir, 'thinkingbox', 'THINKINGBOX_DIR')).rejects.toThrow(
    /expected a checkout of .*microsoft\/thinkingbox, found .* without thinkingbox\/common\/testrunner\.py/,
  );
});

test('another revision: what was expected and what was found', async () => {
  const dir = await lookalike();
  const head = execFileSync('git', ['-C', dir, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const error = await checkCheckout(dir, 'data', 'THINKINGBOX_DATA_DIR').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect(error).toMatchObject({
    expected: `revision ${PINNED.data.revision} (tag thinkingbox-bench-v1.0)`,
    found: head,
    fix: expect.stringContaining(`Run: git -C ${dir} checkout ${PINNED.data.revision}, or accept it`),
  });
});

test('a folder without git', async () => {
  const dir = await folder();
  await mkdir(join(dir, dirname(PINNED.data.landmark)), { recursive: true });
  await writeFile(join(dir, PINNED.data.landmark), '');
  await expect(checkCheckout(dir, 'data', 'here')).rejects.toThrow(
    /a git checkout whose revision can be read/,
  );
});

test('a variable that is not set', async () => {
  await expect(openThinkingBox({})).rejects.toThrow(/^THINKINGBOX_DIR: expected a checkout .* found nothing/);
  await expect(openThinkingBox({ THINKINGBOX_DIR: '/nowhere/framework' })).rejects.toThrow(
    /^THINKINGBOX_DATA_DIR/,
  );
});

test('no Python, or one without the packages', async () => {
  const home = await folder();
  await expect(prepareThinkingBox({ home, basePython: '/nowhere/python3' })).rejects.toThrow(
    /^\/nowhere\/python3: expected Python 3\.11 or newer/,
  );
  await expect(checkPython('python3')).rejects.toThrow(/found none of: .*fastmcp/);
  await expect(checkPython('/nowhere/python3')).rejects.toThrow(/with the packages of native\/thinkingbox/);
});

test('a list of cases that is none', async () => {
  const dir = await folder();
  const list = async (text: string): Promise<readonly string[]> => {
    const path = join(dir, 'list.yaml');
    await writeFile(path, text);
    return readList(path);
  };
  expect(await list('- a.py:test_a\n- a.py:test_b\n')).toEqual(['a.py:test_a', 'a.py:test_b']);
  await expect(list('cases: []')).rejects.toThrow(/a YAML list of case ids, found object/);
  await expect(list('- a.py:test_a\n- 7\n')).rejects.toThrow(/item 2: expected a case id, found 7/);
  await expect(list('- [')).rejects.toThrow(/a readable YAML list/);
  await expect(readList(join(dir, 'missing.yaml'))).rejects.toThrow(/a readable YAML list/);
});

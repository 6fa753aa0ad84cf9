/** What a person hands over as a file: one error that names the place, what was expected and what was found. */
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readRunFile, readTaskList } from '../../cli/run/files.js';
import { parseModel } from '../../cli/run/options.js';
import { attemptsConfig, chooseTasks, pipelineConfig, trainConfig } from '../../cli/run/resolve.js';
import { UsageError } from '../../core/faults.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

const folder = mkdtempSync(join(tmpdir(), 'steadfast bad input '));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(folder, 'file.yaml');
  writeFileSync(path, text);
  return path;
}

async function refusal(work: () => Promise<unknown> | unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  throw new Error('it was taken');
}

const BOMB = `a: &a [x, x, x]\n${[...'bcdefg']
  .map((name, index) => `${name}: &${name} [${`*${'abcdef'[index]}, `.repeat(9)}]`)
  .join('\n')}`;

describe('a run file', () => {
  it.each([
    ['trian: {}', 'unknown key trian (did you mean train?)'],
    ['train: {shape: {groupsize: 4}}', 'unknown key train.shape.groupsize (did you mean groupSize?)'],
    [
      'prices: {m: {prompt: 1, sampledPerMillion: 1}}',
      'unknown key prices.m.prompt (did you mean promptPerMillion?)',
    ],
    ['train: {nonsense: 1}', 'unknown key train.nonsense (known: steps, saveEvery'],
    ['seed: one', 'seed: expected a number, found "one"'],
    ['seed: 1.5', 'seed: expected a whole number, found 1.5'],
    ['benchmark: {repeat: 0}', 'benchmark.repeat: expected at least 1, found 0'],
    ['benchmark: {repeat: 1e9}', 'benchmark.repeat: expected at most 10000, found 1000000000'],
    ['limits: {toolMs: 9999999999}', 'limits.toolMs: expected at most 86400000'],
    ['train: {steps: 1e12}', 'train.steps: expected at most 100000'],
    ['selection: {retainBands: [hrad]}', 'selection.retainBands.0: expected one of too_hard, hard'],
    [
      'model: {kind: chta}',
      'model.kind: expected one of trainer, chat, token, served, scripted, found "chta" (did you mean chat?)',
    ],
    [
      'user: {baseUrl: "https://h/v1"}',
      'user.model: expected the name of the model at baseUrl, found nothing',
    ],
    ['judge: {apiKeyEnv: KEY}', 'judge.baseUrl: expected the address that the key of apiKeyEnv belongs to'],
    ['judge: {temperature: 9}', 'judge.temperature: expected at most 2, found 9'],
    ['providers: {a: {}}', 'providers.a: expected requestsPerMinute, tokensPerMinute or both'],
    ['providers: {a b: {requestsPerMinute: 1}}', 'providers.a b: expected a name of letters, digits'],
    ['providers: {a: {requests: 1}}', 'unknown key providers.a.requests (did you mean requestsPerMinute?)'],
    ['model: {kind: chat, baseUrl: nowhere, model: m}', 'model.baseUrl: expected a URL, found "nowhere"'],
    ['model: {kind: chat, baseUrl: "ftp://h/v1", model: m}', 'model.baseUrl: expected a URL'],
    ['[1, 2]', 'the file: expected keys with values, found a list'],
    ['just text', 'the file: expected keys with values, found "just text"'],
    ['seed: 1\nlanes: [', 'line 2, column 9: expected YAML or JSON'],
    ['seed: 1\nseed: 2', 'line 2, column 1: expected YAML or JSON, found Map keys must be unique'],
    [BOMB, 'Excessive alias count'],
  ])('%j', async (text, words) => {
    const path = file(text);
    const message = await refusal(() => readRunFile(path));
    expect(message).toContain(words);
    expect(message).toContain(path);
  });

  it('that is not there, or is a folder', async () => {
    expect(await refusal(() => readRunFile(join(folder, 'none')))).toContain('found no such file');
    expect(await refusal(() => readRunFile(folder))).toContain('found a folder');
    const loop = join(folder, 'loop.yaml');
    symlinkSync(loop, loop);
    expect(await refusal(() => readRunFile(loop))).toContain('found a symbolic link that leads to itself');
  });

  it.each([
    ['in UTF-16', Buffer.from('\ufeffseed: 7', 'utf16le'), 'expected text in UTF-8, found UTF-16'],
    ['in UTF-16 without its mark', Buffer.from('seed: 7', 'utf16le'), 'found a zero byte at position 1'],
    ['in Latin-1', Buffer.from('suite: caf\xe9', 'latin1'), 'found bytes of another encoding'],
  ])('%s', async (_name, bytes, words) => {
    const path = join(folder, 'encoded.yaml');
    writeFileSync(path, bytes);
    expect(await refusal(() => readRunFile(path))).toContain(words);
  });

  it('of 2 GiB, or without an end: no more of it is read than a file may have', async () => {
    const path = file('');
    truncateSync(path, 2 ** 31);
    for (const endless of [path, '/dev/zero'])
      expect(await refusal(() => readRunFile(endless))).toContain('expected at most 64 MiB, found more');
  });

  it('with a mark of UTF-8 and lines of Windows is read', async () => {
    expect(await readRunFile(file('\ufeffseed: 7\r\nlanes: 2\r\n'))).toEqual({ seed: 7, lanes: 2 });
  });

  it('with a secret in it: refused, and not repeated', async () => {
    const url = 'model: {kind: chat, baseUrl: "https://me:sk-very-secret@h/v1", model: m}';
    const refused = await refusal(() => readRunFile(file(url)));
    expect(refused).toContain(
      'model.baseUrl: expected no user or password in it (name a variable: apiKeyEnv)',
    );
    expect(refused).not.toContain('very-secret');
    for (const key of ['apiKeyEnv', 'apiKey']) {
      const text = `model: {kind: chat, baseUrl: "https://h/v1", model: m, ${key}: sk-very-secret}`;
      const message = await refusal(() => readRunFile(file(text)));
      expect(message).toContain(`model.${key}`);
      expect(message).not.toContain('very-secret');
    }
  });

  it('with several problems: each on a line of its own', async () => {
    const message = await refusal(() => readRunFile(file('seed: x\nlanes: 0\nnope: 1')));
    expect(message.split('\n')).toHaveLength(4);
  });
});

describe('a task list', () => {
  it.each([
    ['', 'found an empty file'],
    ['retail:refund-01', 'found a string'],
    ['{}', 'found keys with values'],
    ['[]', 'expected at least one task id'],
    ['[1]', 'entry 1: expected a task id, found 1'],
    ['[a, a]', 'entry 2: expected every id once, found "a" again'],
    ['[a', 'line 1, column 3'],
  ])('%j', async (text, words) => {
    expect(await refusal(() => readTaskList(file(text)))).toContain(words);
  });

  it('with an id that the suite does not have: the nearest are named', async () => {
    const message = await refusal(() => chooseTasks(createDeskbench(), ['retial:refund-01']));
    expect(message).toContain('Nearest: retail:refund-01');
  });
});

describe('a configuration that cannot work is refused before anything is started', () => {
  const suite = createDeskbench();
  const pipeline = (run: RunFile) => refusal(() => pipelineConfig(run, suite));

  it('a pool of fewer than 18 tasks', async () => {
    const few = (await chooseTasks(suite, 'train')).slice(0, 17);
    expect(await refusal(() => trainConfig({}, suite, few))).toBe(
      'training pool: expected at least 18 tasks, one batch, found 17',
    );
    expect(await pipeline({ probe: { limit: 10 } })).toContain(
      'probe.limit: expected at least 18 candidates',
    );
  });

  it('a benchmark task in the pool', async () => {
    const pool = await chooseTasks(suite, 'benchmark');
    expect(await refusal(() => trainConfig({}, suite, pool))).toContain('expected no benchmark task');
  });

  it.each<[RunFile, string]>([
    [{ probe: { repeat: 2 }, selection: { minCleanRuns: 3 } }, 'selection.minCleanRuns: expected at most 2'],
    [{ model: { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } }, 'model: expected the trainer'],
    [{ train: { shape: { groups: 18, maxGroups: 4 } } }, 'minInformative ≤ groups ≤ maxGroups'],
    [{ limits: { episodeMs: 90_000_000 } }, 'limits.episodeMs: expected at most 86400000'],
    [{ train: { shape: { groups: 500, maxGroups: 900 } } }, 'training pool: expected at least 500 tasks'],
  ])('%j', async (run, words) => {
    expect(await pipeline(run)).toContain(words);
  });

  it('more attempts than a campaign can hold', async () => {
    const tasks = Array.from({ length: 500 }, (_, index) => `t:${index}`);
    const run = { benchmark: { repeat: 10_000 } };
    expect(await refusal(() => attemptsConfig('eval', run, suite, tasks))).toContain('500 tasks × 10000');
  });
});

describe('--model', () => {
  it.each(['http://a b/v1#m', 'http://[bad/v1#m', 'https://me:sk-very-secret@h/v1#m'])(
    '%s is no address of an endpoint',
    async (text) => {
      const message = await refusal(() => parseModel(text));
      expect(message).toMatch(/^--model: expected base, .*, found an address that is no URL, or has a user/);
      expect(message).not.toContain('secret');
    },
  );
});

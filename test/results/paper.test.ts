/** The published before/after table through the real command: 2 × 10,140 rows, the figures, the page and what it leads to. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PRICE, REPEAT, writePaper } from '../bench/paper-rows.js';

const root = join(import.meta.dirname, '../..');
const CHROMIUM = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path && existsSync(path),
);

let folder: string;
let paper: Awaited<ReturnType<typeof writePaper>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steadfast-paper-'));
  paper = await writePaper(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function steadfast(...args: string[]) {
  const run = promisify(execFile)(process.execPath, [join(root, 'cli/steadfast.mjs'), ...args], {
    maxBuffer: 64 << 20,
  });
  const failed = (error: { code: number; stdout: string; stderr: string }) => error;
  const { stdout, stderr, code = 0 } = await run.then((output) => ({ ...output, code: 0 }), failed);
  return { stdout, stderr, code };
}

const sides = () => [`before=${paper.before}`, `after=${paper.after}`];
const list = () => ['--tests', paper.tests, '--repeat', String(REPEAT)];

/** Text without the narrow spaces that keep numbers and their units together. */
const plain = (text: string): string => text.replaceAll('\u202f', ' ');

describe("the paper's table", () => {
  it('comes out of its rows, with a page that leads to conversations', async () => {
    const out = join(folder, 'comparison.html');
    const { stdout, code } = await steadfast(
      ...['compare', ...sides(), ...list(), '--prices', paper.prices, '--out', out],
    );
    expect(code).toBe(0);
    const rows = plain(stdout)
      .split('\n')
      .filter((line) => line.startsWith('│'))
      .map((line) =>
        line
          .split('│')
          .slice(1, 4)
          .map((cell) => cell.replace(/\[.*/, '').trim()),
      );
    expect(rows.slice(1, 7)).toEqual([
      ['20/20', '38 of 507: 7.50 %', '107 of 507: 21.10 %'],
      ['pass@1', '5,242 of 10,140: 51.70 %', '6,163 of 10,140: 60.78 %'],
      ['solved at least once', '453 of 507: 89.35 %', '446 of 507: 87.97 %'],
      ['cost', '$925.80', '$855.58'],
      ['cost per task at 20/20', '$24.36', '$8.00'],
      ['cost per success', '$0.177', '$0.139'],
    ]);
    const page = plain(readFileSync(out, 'utf8').replace(/<[^>]+>/g, ' ')).replace(/\s+/g, ' ');
    for (const words of [
      'Tasks solved on every attempt (20/20) 38 7.50 % 107 21.10 % +69',
      'Attempts that passed (pass@1) 5,242 51.70 % 6,163 60.78 % +921',
      'Tasks solved at least once 453 89.35 % 446 87.97 % −7',
      'Cost of the evaluation $925.80 $855.58',
      'Cost per task solved on every attempt $24.36 $8.00',
      'Cost per attempt that passed $0.177 $0.139',
      'Became dependable: 80 tasks',
      'No longer dependable: 11 tasks',
    ]) {
      expect(page).toContain(words);
    }
    const links = [...readFileSync(out, 'utf8').matchAll(/href="(comparison-episodes\/[^"]+)"/g)];
    expect(links).toHaveLength(91);
    expect(readdirSync(join(folder, 'comparison-episodes'))).toHaveLength(91);
    for (const [, href] of links) expect(existsSync(join(folder, String(href)))).toBe(true);
    expect(readFileSync(join(folder, String(links[0]?.[1])), 'utf8')).toContain('I cannot do that.');
  });

  it('has a price for every side, or says whose is missing', async () => {
    const some = join(folder, 'some.json');
    writeFileSync(some, JSON.stringify({ before: PRICE }));
    expect(await steadfast('compare', ...sides(), ...list(), '--prices', some)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('a price for model "after", found prices for: before'),
    });
  });

  it('puts any number of evaluations on one front', async () => {
    const out = join(folder, 'three.html');
    const prices = join(folder, 'three.json');
    // The same rows at a higher price: beaten by `before`.
    writeFileSync(
      prices,
      JSON.stringify({ '*': PRICE, dear: { promptPerMillion: 0.5, sampledPerMillion: 2 } }),
    );
    const { stdout, code } = await steadfast(
      ...['results', 'compare', ...sides(), `dear=${paper.before}`, ...list()],
      ...['--prices', prices, '--out', out, '--no-episodes'],
    );
    expect(code).toBe(0);
    expect(stdout).toContain('dear against before: pass@1 0.0 pts');
    expect(readFileSync(out, 'utf8')).toContain('On the front: after.');
    expect(existsSync(join(folder, 'three-episodes'))).toBe(false);
  });

  it('is summed up by `results summarize`, with conduct and cost', async () => {
    const { stdout, code } = await steadfast(
      ...['results', 'summarize', paper.after, ...list(), '--prices', paper.prices, '--model', 'after'],
    );
    expect(code).toBe(0);
    const text = plain(stdout);
    expect(text).toContain('10140 of 10140 expected keys are clean');
    expect(text).toMatch(
      /all +507 tasks {2}pass@1 60\.78 % \[.*pass\^20 21\.10 % .*\(107 tasks\) {2}once 446 tasks/,
    );
    expect(text).toContain('tool calls  10,140, 2,028 failed (20.00 %), in 20.0 % of the episodes');
    expect(text).toMatch(/ended {7}done [\d,]+ \([\d,]+ passed\), agent_limit [\d,]+ \(0 passed\)/);
    expect(text).toContain('cost        $855.58, per success $0.139, per dependable task $8.00');
  });
});

describe.skipIf(!CHROMIUM)('the page in a browser (skipped without Chromium)', () => {
  it('is quiet and never wider than the screen', async () => {
    const out = join(folder, 'browser.html');
    await steadfast('compare', ...sides(), ...list(), '--prices', paper.prices, '--out', out);
    let browser: Browser | undefined;
    try {
      browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox'] });
      const page = await browser.newPage();
      const trouble: string[] = [];
      page.on('console', (message) => trouble.push(message.text()));
      page.on('pageerror', (error) => trouble.push(error.message));
      await page.goto(pathToFileURL(out).href);
      for (const width of [1280, 768, 390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        const over = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect([width, over]).toEqual([width, 0]);
      }
      await page.click('.moves a');
      expect(await page.textContent('h1')).toMatch(/\.py:test_case_\d+/);
      await page.click('.sources a');
      expect(await page.textContent('h1')).toBe('before → after');
      expect(trouble).toEqual([]);
    } finally {
      await browser?.close();
    }
  });
});

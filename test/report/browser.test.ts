/**
 * The report in headless Chromium, from disk: quiet console, no request, nothing wider than a phone, hostile text inert,
 * both colour schemes, and print. Skipped where no Chromium is installed (apt-get install chromium).
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from '../../activities/report/render.js';
import type { ReportData } from '../../core/report-data.js';
import { demoReport, emptyReport, partialReport } from './fixture.js';
import { hostile } from './hostile.js';

const CHROMIUM = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path && existsSync(path));
const WIDTHS = [1280, 768, 390, 320];

if (!CHROMIUM)
  console.warn(
    'report in a browser: skipped, no Chromium found (apt-get install chromium, or set CHROMIUM_PATH)',
  );

describe.skipIf(!CHROMIUM)('the report in a browser', () => {
  let browser: Browser;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sf page '));
    browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox'] });
  });

  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Opens a report from disk; `trouble` collects console messages, errors and requests for anything else. */
  async function open(name: string, data: ReportData): Promise<{ page: Page; trouble: string[] }> {
    const file = join(folder, `${name}.html`);
    await writeFile(file, renderReport(data));
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const trouble: string[] = [];
    page.on('console', (message) => trouble.push(message.text()));
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('request', (request) => {
      if (!request.isNavigationRequest() && !request.url().startsWith('data:')) trouble.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    return { page, trouble };
  }

  async function expectFits(page: Page): Promise<void> {
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll('details')) fold.open = true;
    });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect([width, over]).toEqual([width, 0]);
    }
  }

  it.each([
    ['demo', demoReport()],
    ['partial', partialReport()],
    ['empty', emptyReport()],
    ['hostile', hostile(demoReport())],
    ['hostile-5', hostile(demoReport(), 5)],
  ])('%s: quiet, self-contained, never wider than the screen, folds open', async (name, data) => {
    const { page, trouble } = await open(name, data);
    await expectFits(page);
    const alien = await page.evaluate(
      () => document.querySelectorAll('script, img, iframe, object, embed, form, a:not([href^="#"])').length,
    );
    expect(alien).toBe(0);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(trouble).toEqual([]);
    await page.close();
  });

  it('follows the colour scheme, and text keeps its contrast in both', async () => {
    const { page } = await open('scheme', demoReport());
    const grounds: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const faint = await page.evaluate(lowContrast);
      expect([colorScheme, faint]).toEqual([colorScheme, []]);
      grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    }
    expect(grounds[0]).not.toBe(grounds[1]);
    await page.close();
  });

  it('prints, light, with the charts', async () => {
    const { page } = await open('print', demoReport());
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
      'rgb(255, 255, 255)',
    );
    const pdf = await page.pdf({ format: 'A4', printBackground: true });
    expect(pdf.length).toBeGreaterThan(50_000);
    await page.close();
  });
});

/** Runs in the page: texts whose colour and ground have a contrast under 4.5 (3 for large ones), at most five. */
function lowContrast(): string[] {
  // Mixed colours come as `color(srgb 0.9 ...)`, with shares instead of bytes.
  const channels = (colour: string): number[] => {
    const numbers = (colour.match(/[\d.]+/g) ?? []).map(Number);
    return colour.startsWith('color(') ? numbers.map((each, at) => (at < 3 ? each * 255 : each)) : numbers;
  };
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element: Element | null): string => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0.9) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found: string[] = [];
  for (const element of document.querySelectorAll(
    'p,dt,dd,th,td,li,h1,h2,h3,h4,small,code,summary,span,em,b,a',
  )) {
    const own = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim(),
    );
    if (!own || (element as HTMLElement).offsetParent === null) continue;
    const style = getComputedStyle(element);
    const [one, two] = [luminance(style.color), luminance(ground(element))];
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const large = Number.parseFloat(style.fontSize) >= 24;
    if (contrast < (large ? 3 : 4.5))
      found.push(`${element.className || element.tagName}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(found)].slice(0, 5);
}

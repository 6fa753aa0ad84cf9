/** The report of a schedule: what it says, and in headless Chromium: quiet, self-contained, never wider than the screen. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { entriesOf, type ScheduleData } from '../../activities/report/nightly/data.js';
import { writeScheduleReport } from '../../activities/report/nightly/files.js';
import { renderSchedule } from '../../activities/report/nightly/page.js';
import { month, SCHEDULE } from './fixture.js';

const CHROMIUM = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path && existsSync(path),
);
const WRITING = { programVersion: '0.1.0', generatedAt: '2026-11-30T03:00:00.000Z' };

describe('the report of a schedule', () => {
  it('has every night and every time at which none ran, in order', () => {
    const entries = entriesOf(month());
    expect(entries).toHaveLength(30);
    expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).sort());
    const page = renderSchedule(month(), { ...WRITING, link: (id) => `../../${id}/report.html` });
    expect(page.match(/class="gap"/g)).toHaveLength(4);
    expect(page.match(/class="ring"/g)).toHaveLength(2);
    expect(page.match(/<strong class="loss">regression/g)).toHaveLength(2);
    expect(page.match(/not the same suite/g)?.length).toBeGreaterThan(1);
    expect(page.match(/href="..\/..\/eval\/nightly-/g)).toHaveLength(28);
    expect(page).toContain('message not sent: the address of NIGHTLY_HOOK cannot be reached');
    expect(page).not.toMatch(/NaN|undefined|\[object/);
  });

  it('of a new schedule, and of one night, has nothing that is none', () => {
    const link = () => null;
    const none: ScheduleData = { schedule: SCHEDULE, nights: [], missed: [] };
    expect(renderSchedule(none, { ...WRITING, link })).toMatch(/No night has run yet/);
    const one = { ...none, nights: month().nights.slice(-1) };
    expect(renderSchedule(one, { ...WRITING, link })).not.toMatch(/NaN|undefined|href="\.\./);
  });

  it('shows hostile words as words', () => {
    const data = month();
    const [newest, ...rest] = data.nights;
    const record = { ...newest!.record, cause: '<script>window.pwned=1</script>\u202e' };
    const page = renderSchedule(
      { ...data, nights: [{ ...newest!, record }, ...rest] },
      { ...WRITING, link: () => null },
    );
    expect(page).not.toContain('<script>');
    expect(page).toContain('[U+202E]');
  });

  it.skipIf(!CHROMIUM)(
    'in a browser',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'sf nights '));
      const browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox'] });
      try {
        const { path } = await writeScheduleReport(month(), { reports: folder, programVersion: '0.1.0' });
        expect(path).toBe(join(folder, 'nightly', 'nightly', 'report.html'));
        expect(await readFile(path, 'utf8')).not.toContain('<a href="..');
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
        const trouble: string[] = [];
        page.on('console', (message) => trouble.push(message.text()));
        page.on('request', (request) => {
          if (!request.isNavigationRequest() && !request.url().startsWith('data:'))
            trouble.push(request.url());
        });
        await page.goto(pathToFileURL(path).href);
        for (const width of [1280, 768, 390, 320]) {
          await page.setViewportSize({ width, height: 900 });
          const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          expect([width, over]).toEqual([width, 0]);
          if (process.env.STEADFAST_SHOTS) {
            await page.screenshot({
              path: join(process.env.STEADFAST_SHOTS, `nights-${width}.png`),
              fullPage: width > 400,
            });
          }
        }
        expect(trouble).toEqual([]);
      } finally {
        await browser.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );
});

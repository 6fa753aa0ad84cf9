/** A stopped campaign's report: what was in flight is told as stopped, beside the system errors. */
import { expect, it } from 'vitest';
import { renderMarkdown } from '../../activities/report/markdown.js';
import { renderReport } from '../../activities/report/render.js';
import type { ReportData } from '../../core/report-data.js';
import { coverage, demoReport } from './fixture.js';

function stopped(tries: number): ReportData {
  const data = demoReport();
  return { ...data, before: { ...data.before!, coverage: { ...coverage(100, 60), stopped: tries } } };
}

it('says how many tries were in flight, and that they are no system errors', () => {
  const page = renderReport(stopped(12));
  expect(page).toMatch(/12 tries were in flight when the campaign was stopped \(before 12\)/);
  expect(renderMarkdown(stopped(12))).toContain('; stopped 12');
  expect(renderReport(stopped(1))).toMatch(/1 try was in flight/);
});

it('says nothing where nothing was stopped', () => {
  expect(renderReport(stopped(0))).not.toContain('in flight when');
  expect(renderMarkdown(stopped(0))).not.toContain('stopped 0');
});

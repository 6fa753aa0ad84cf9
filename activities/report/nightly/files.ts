/** The report of a schedule on disk, beside those of its evaluations. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { replaceFile, reportPath } from '../metrics-jsonl.js';
import type { ScheduleData } from './data.js';
import { renderSchedule } from './page.js';

/**
 * Writes `<reports>/nightly/<schedule>/report.html`, or `file` where it is given, and returns its path. Links lead to
 * those reports of evaluations that exist below `reports`. Throws `Fault('artifacts')` where it cannot be written.
 */
export async function writeScheduleReport(
  data: ScheduleData,
  {
    reports,
    programVersion,
    file,
  }: { readonly reports: string; readonly programVersion: string; readonly file?: string },
): Promise<{ readonly path: string }> {
  const target = file ?? reportPath(reports, `nightly/${data.schedule.name}`, 'report.html');
  const text = renderSchedule(data, {
    programVersion,
    generatedAt: new Date().toISOString(),
    link: (evaluation) => {
      const page = reportPath(reports, evaluation, 'report.html');
      if (!existsSync(page)) return null;
      return path.relative(path.dirname(target), page).split(path.sep).map(encodeURIComponent).join('/');
    },
  });
  await replaceFile(target, text);
  return { path: target };
}

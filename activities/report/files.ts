/** The report of a campaign on disk: HTML for people, Markdown for pull requests, the data as JSON for programs. */
import { collectReport } from './collect/collect.js';
import type { ReportSources } from './collect/source.js';
import { renderMarkdown } from './markdown.js';
import { replaceFile, reportPath } from './metrics-jsonl.js';
import { renderReport } from './render.js';

/** What was written, and whether every evaluation in it has its score: all of its attempts have a result. */
export interface Written {
  readonly files: ReportFiles;
  readonly complete: boolean;
}

export interface ReportFiles {
  readonly html: string;
  readonly markdown: string;
  readonly json: string;
}

/**
 * Writes `report.html`, `report.md` and `report.json` under `<reports>/<campaign>/`. Each is replaced whole. Throws `UsageError` for an unknown campaign, `Fault('artifacts')` where a file cannot be written.
 */
export async function writeReportFiles(
  sources: ReportSources & { readonly reports: string },
  campaign: string,
): Promise<Written> {
  const data = await collectReport(sources, campaign);
  const files: ReportFiles = {
    html: reportPath(sources.reports, campaign, 'report.html'),
    markdown: reportPath(sources.reports, campaign, 'report.md'),
    json: reportPath(sources.reports, campaign, 'report.json'),
  };
  await replaceFile(files.markdown, renderMarkdown(data));
  await replaceFile(files.json, `${JSON.stringify(data, null, 1)}\n`);
  await replaceFile(files.html, renderReport(data));
  const complete = [data.before, data.after].every((each) => each?.coverage.complete !== false);
  return { files, complete };
}

/** Evaluations compared and shown: text or JSON, and the page with its conversations. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { compareSides } from '../activities/report/collect/comparison.js';
import type { ComparedSide } from '../activities/report/collect/side.js';
import { type ComparisonData, evaluationsOf } from '../activities/report/comparison-data.js';
import { requireRoom } from '../infra/setup/disk.mjs';
import { distinct, openSide, type SideName, type SideOptions } from './compare-sides.js';
import { comparisonText } from './compare-text.js';
import type { StackContext } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { programVersion } from './version.js';

export interface ShowOptions {
  readonly out?: string;
  readonly json?: boolean;
  readonly episodes?: boolean;
}

/** Pages of an earlier comparison in the same folder, which would tell of other rows. */
const PAGE = /^\d{3,}-(gained|lost)\.html$/;

/** Exit code 3 when one of them is incomplete. Throws `UsageError` for what cannot be read. */
export async function showComparison(
  names: readonly SideName[],
  options: SideOptions,
  show: ShowOptions,
  context: StackContext | null,
): Promise<void> {
  const html = show.out === undefined ? null : path.resolve(show.out);
  if (html !== null) requireRoom(path.dirname(html), 1, 'the comparison');
  const sides: ComparedSide[] = [];
  for (const name of distinct(names)) sides.push(await openSide(name, options, context));
  const run = { programVersion: programVersion(), generatedAt: new Date().toISOString() };
  const [first, second, ...rest] = sides as [ComparedSide, ComparedSide, ...ComparedSide[]];
  const data = compareSides([first, second, ...rest], run);
  const written = html === null ? data : await writePage(html, data, first, second, show.episodes ?? true);
  if (show.json) printJson({ ...written, html });
  else print(comparisonText(written));
  for (const warning of written.warnings) say(`warning: ${warning}`);
  if (html !== null) say(`written: ${html}`);
  if (evaluationsOf(data).some(({ coverage }) => !coverage.complete)) process.exitCode = EXIT.incomplete;
}

/** The conversations first: a page leads only to what is there. */
async function writePage(
  file: string,
  data: ComparisonData,
  before: ComparedSide,
  after: ComparedSide,
  episodes: boolean,
): Promise<ComparisonData> {
  const { renderComparison } = await import('../activities/report/comparison.js');
  const { replaceFile } = await import('../activities/report/metrics-jsonl.js');
  const folder = `${path.basename(file, path.extname(file))}-episodes`;
  const pages = episodes ? await pagesOf(data, before, after, path.basename(file)) : [];
  if (pages.length > 0) {
    const place = path.join(path.dirname(file), folder);
    await mkdir(place, { recursive: true });
    for (const old of (await readdir(place)).filter((name) => PAGE.test(name)))
      await rm(path.join(place, old));
    for (const page of pages) await replaceFile(path.join(place, page.file), page.html);
  }
  const address = new Map(
    pages.map(({ task, file: name }) => [task.taskId, `${encodeURIComponent(folder)}/${name}`]),
  );
  const linked: ComparisonData = {
    ...data,
    moved: data.moved.map((task) => ({ ...task, page: address.get(task.taskId) ?? null })),
  };
  await replaceFile(file, renderComparison(linked));
  return linked;
}

async function pagesOf(data: ComparisonData, before: ComparedSide, after: ComparedSide, file: string) {
  const { episodePages } = await import('../activities/report/comparison-pages.js');
  return episodePages(data, before, after, `../${encodeURIComponent(file)}`);
}

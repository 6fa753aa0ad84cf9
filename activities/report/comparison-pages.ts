/** The conversations behind a comparison: one page for each task that moved, in a folder beside the comparison. */
import type { EpisodeView } from '../../core/report-data.js';
import { tellingRuns } from './collect/comparison.js';
import { type ComparedSide, episodeName, type WantedEpisode } from './collect/side.js';
import type { ComparisonData, MovedTask } from './comparison-data.js';
import { html } from './html.js';
import { page } from './page.js';
import { storiesSection } from './sections/stories.js';

export interface EpisodePage {
  readonly task: MovedTask;
  /** `007-gained.html`. */
  readonly file: string;
  readonly html: string;
}

/** Tasks with a page of their own; more would be a folder that nobody reads. */
export const MOST_PAGES = 300;

/** Tasks without a recorded conversation on either side have no page. */
export async function episodePages(
  data: ComparisonData,
  before: ComparedSide,
  after: ComparedSide,
  /** Address of the comparison, from the folder of the pages. */
  back: string,
): Promise<readonly EpisodePage[]> {
  const told = data.moved.slice(0, MOST_PAGES).map((task) => ({ task, runs: tellingRuns(task) }));
  const wanted = (side: 0 | 1, id: string): WantedEpisode[] =>
    told.flatMap(({ task, runs }) => {
      const run = runs[side];
      if (!run) return [];
      const ending = run.passed ? 'passed' : 'failed';
      return [
        {
          taskId: task.taskId,
          repetition: run.repetition,
          label: `${id}, repetition ${run.repetition}: ${ending}`,
        },
      ];
    });
  const [from, to] = [
    await before.episodes(wanted(0, data.before.id)),
    await after.episodes(wanted(1, data.after.id)),
  ];
  return told.flatMap(({ task, runs }, index) => {
    const found = [from, to].flatMap((episodes, side) => {
      const run = runs[side];
      const episode = run && episodes.get(episodeName({ taskId: task.taskId, repetition: run.repetition }));
      return episode ? [episode] : [];
    });
    if (found.length === 0) return [];
    const file = `${String(index + 1).padStart(3, '0')}-${task.kind}.html`;
    return [{ task, file, html: render(task, found, back) }];
  });
}

function render(task: MovedTask, episodes: readonly EpisodeView[], back: string): string {
  const counts = (runs: MovedTask['before']) => ({
    passed: runs.filter(({ passed }) => passed).length,
    attempts: runs.length,
  });
  const { taskId, domain, kind } = task;
  const story = { kind, taskId, domain, before: counts(task.before), after: counts(task.after), episodes };
  return page(
    `${taskId} · Steadfast comparison`,
    `${taskId}: conversations before and after.`,
    [],
    html`<header class="top"><p class="brand">Steadfast <span>comparison</span></p><div class="title"><h1>${taskId}</h1></div><p class="sources"><a href="${back}">Back to the comparison</a></p></header>`,
    storiesSection([story]),
  );
}

/**
 * The report as one HTML file: a pure function of its data. Parts that the campaign has not reached are left out;
 * scores are shown only where coverage is complete.
 */
import type { ReportData } from '../../core/report-data.js';
import { type Html, html } from './html.js';
import { type NavItem, page } from './page.js';
import { banners } from './sections/banners.js';
import { cards } from './sections/cards.js';
import { conductSection } from './sections/conduct.js';
import { costSection } from './sections/cost.js';
import { curvesSection } from './sections/curves.js';
import { endingSection } from './sections/ending.js';
import { header } from './sections/header.js';
import { integritySection } from './sections/integrity.js';
import { lede } from './sections/lede.js';
import { probeSection } from './sections/probe.js';
import { scoresSection } from './sections/scores.js';
import { storiesSection } from './sections/stories.js';
import { tasksSection } from './sections/tasks.js';
import { trainingSection } from './sections/training.js';

/** Never throws for any `ReportData`, whatever texts it holds; the result depends on nothing else. */
export function renderReport(data: ReportData): string {
  const both = data.before?.scores && data.after?.scores;
  const sections: readonly (readonly [NavItem, Html])[] = [
    [
      { id: 'scores', label: 'Scores' },
      scoresSection(data.before, data.after, both ? 'Before and after' : 'Scores'),
    ],
    [{ id: 'tasks', label: 'Tasks' }, tasksSection(data.before, data.after, data.paired)],
    [{ id: 'curves', label: 'Attempts' }, curvesSection(data.before, data.after)],
    [{ id: 'training', label: 'Training' }, trainingSection(data.training)],
    [{ id: 'probe', label: 'Probe' }, probeSection(data.probe)],
    [{ id: 'cost', label: 'Cost' }, costSection(data)],
    [
      { id: 'conduct', label: 'Conduct' },
      conductSection([data.before, data.after].filter((each) => each !== null)),
    ],
    [{ id: 'integrity', label: 'Integrity' }, integritySection(data)],
    [{ id: 'episodes', label: 'Episodes' }, storiesSection(data.stories)],
    [{ id: 'again', label: 'Again' }, endingSection(data)],
  ];
  const shown = sections.filter(([, body]) => body.text !== '');
  return page(
    `${data.run.id} · Steadfast report`,
    lede(data),
    shown.map(([item]) => item),
    header(data),
    html`${banners(data)}${cards(data)}${shown.map(([, body]) => body)}`,
  );
}

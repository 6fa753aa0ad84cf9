/** The probe: how hard the candidates are for the base, and which of them are worth training on. */
import type { ProbeReport } from '../../../core/report-data.js';
import { bandChart, bandRange } from '../charts/bands.js';
import { count, percent, plural } from '../format.js';
import { type Html, html } from '../html.js';
import { fold, plainTable, section } from './section.js';

const REASONS: Readonly<Record<string, string>> = {
  difficulty_not_retained: 'difficulty not retained',
  insufficient_clean_runs: 'too few clean attempts',
  reference_gate: 'not solved by the reference',
  excluded: 'excluded by id or template',
  no_clean_runs: 'system errors only',
};

export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('_', ' ');
}

export function probeSection(probe: ProbeReport | null): Html {
  if (!probe) return html``;
  const kept = probe.bands.filter((band) => band.retained).reduce((sum, band) => sum + band.tasks, 0);
  const facts: readonly (readonly [string, string])[] = [
    ['Candidates', count(probe.candidates)],
    ['Attempts each', count(probe.attemptsPerTask)],
    ...(probe.meanReward === null ? [] : [['Mean reward', percent(probe.meanReward)] as const]),
    [
      'In a retained band',
      `${count(kept)} (${percent(probe.candidates > 0 ? kept / probe.candidates : 0, 0)})`,
    ],
    ['Selected', count(probe.selected)],
    ...(probe.testTasks > 0
      ? [['Train / test', `${count(probe.trainTasks)} / ${count(probe.testTasks)}`] as const]
      : []),
    ...Object.entries(probe.leftOut)
      .filter(([, tasks]) => tasks > 0)
      .map(([reason, tasks]) => [`Left out: ${reasonText(reason)}`, count(tasks)] as const),
  ];
  return section(
    'probe',
    'The probe: which tasks can teach',
    html`Before anything was trained, the base tried each of ${plural(probe.candidates, 'candidate')} ${plural(probe.attemptsPerTask, 'time')}. A task goes to the band that holds most of the posterior of its success rate. Tasks that nearly always or almost never pass give groups without variance, and nothing to learn.`,
    html`<div class="split"><div class="panel">${bandChart('bands', probe.bands)}<p class="legend"><span class="swatch kept">retained</span><span class="swatch hatch">left out</span><span>success rate of the base, by band</span></p></div><dl class="list">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></div>${fold(
      'The bands as a table',
      plainTable(
        'Candidates by band',
        ['Band', 'Code', 'Success rate', 'Candidates', 'Share', 'Retained'],
        probe.bands.map((band) => [
          band.name,
          band.band,
          bandRange(band),
          count(band.tasks),
          percent(probe.candidates > 0 ? band.tasks / probe.candidates : 0),
          band.retained ? 'yes' : 'no',
        ]),
      ),
    )}`,
  );
}

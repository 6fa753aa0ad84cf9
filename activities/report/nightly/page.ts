/** The report of a schedule as one HTML file: the series of nights, and what each was and was compared with. */
import {
  modelWords,
  type NightComparison,
  type NightRow,
  type NightScore,
} from '../../../core/nightly/schedule.js';
import {
  duration,
  exactMoment,
  interval,
  kOfK,
  moment,
  percent,
  plural,
  points,
  secondsBetween,
  shortDigest,
} from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { page } from '../page.js';
import { plainTable, section } from '../sections/section.js';
import { nightsChart } from './chart.js';
import { type Entry, entriesOf, nightWord, type ScheduleData } from './data.js';

export interface Writing {
  readonly programVersion: string;
  readonly generatedAt: string;
  /** Address of the report of an evaluation, relative to this page; null where there is none. */
  readonly link: (evaluation: string) => string | null;
}

/** Pure: the same nights give the same page. */
export function renderSchedule(data: ScheduleData, writing: Writing): string {
  const { name } = data.schedule;
  const entries = entriesOf(data);
  const shown: readonly (readonly [{ readonly id: string; readonly label: string }, Html])[] = [
    [{ id: 'series', label: 'Series' }, series(entries)],
    [{ id: 'each', label: 'Every night' }, everyNight(entries, writing)],
    [{ id: 'settings', label: 'Settings' }, settings(data)],
  ];
  return page(
    `${name} · Steadfast nights`,
    lede(entries),
    shown.map(([item]) => item),
    header(data, entries),
    html`${shown.map(([, body]) => body)}<footer><p>Steadfast ${writing.programVersion}, written ${moment(writing.generatedAt)}.</p></footer>`,
  );
}

function lede(entries: readonly Entry[]): string {
  const last = entries.findLast(({ night }) => night !== null);
  if (!last?.night) return 'No night has run yet.';
  const { score, regression, previous } = last.night.record;
  const when = `The last night, ${moment(last.at)},`;
  if (!score) return `${when} is ${nightWord(last)}: ${last.night.record.cause ?? 'it has no score yet'}.`;
  const change = previous ? `, ${points(previous.passAt1.value)} against the night before` : '';
  const end = regression ? ': a regression.' : '.';
  const compared = last.night.record.notComparable?.length
    ? ' It is not comparable with published results.'
    : '';
  if (score.incomplete !== undefined) {
    return `${when} is incomplete: ${score.incomplete} have a result, and ${percent(score.passAt1.value)} of them passed.${compared}`;
  }
  return `${when} passed ${percent(score.passAt1.value)} of its attempts${change}${end}${compared}`;
}

function header({ schedule, nights, missed }: ScheduleData, entries: readonly Entry[]): Html {
  const { timing, evaluation, baseline } = schedule.config;
  const word = nights[0] ? nightWord({ at: nights[0].at, night: nights[0] }) : 'new';
  const pill = word === 'regression' || word === 'incomplete' ? 'failed' : word;
  const regressions = nights.filter(({ record }) => record.regression).length;
  const facts: readonly (readonly [string, Part])[] = [
    ['Suite', evaluation.suite],
    ['Model', modelWords(evaluation)],
    ['When', `${timing.cron} ${timing.timezone}`],
    ['Tasks', `${evaluation.tasks.length} × ${evaluation.repeat}`],
    ['Nights', String(nights.length)],
    ['Regressions', String(regressions)],
    ['Not run', String(missed.length)],
    ...(baseline === null ? [] : [['Baseline', baseline] as const]),
  ];
  return html`<header class="top"><p class="brand">Steadfast <span>nights</span></p><div class="title"><h1>${schedule.name}</h1><span class="${`pill ${pill}`}">${word}</span></div><p class="lede">${lede(entries)}</p><dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></header>`;
}

function series(entries: readonly Entry[]): Html {
  if (entries.length === 0) return section('series', 'Series', 'No night has run yet.', null);
  const k = entries.findLast(({ night }) => night?.record.score)?.night?.record.score?.k;
  return section(
    'series',
    'Success over the nights',
    html`<span class="swatch">pass@1 with its 95 % interval</span> <span class="swatch before">${k === undefined ? 'k/k' : kOfK(k)}, tasks whose every attempt passed</span>. A ring marks a regression; a dotted line is a night without a score, or one that did not run.`,
    html`<figure class="panel nights">${nightsChart(entries)}</figure>`,
  );
}

function everyNight(entries: readonly Entry[], writing: Writing): Html {
  const rows = entries.toReversed().map((entry): readonly Part[] => {
    const { night } = entry;
    if (night === null) {
      return [exactMoment(entry.at), html`<span class="quiet">not run</span>`, '–', '–', '–', '–', '–'];
    }
    const { score, previous, baseline, model } = night.record;
    const seconds = secondsBetween(night.startedAt, night.endedAt);
    const word = night.record.regression ? html`<strong class="loss">regression</strong>` : nightWord(entry);
    return [
      html`${linked(night, writing)}${seconds !== null && html`<small>took ${duration(seconds)}</small>`}`,
      html`${word}${notes(night)}`,
      model ?? '–',
      score
        ? html`${percent(score.passAt1.value)}<small>${interval(score.passAt1)}</small>${partly(score)}`
        : '–',
      score ? html`${percent(score.observedK.value)}<small>${kOfK(score.k)}</small>${partly(score)}` : '–',
      against(previous),
      against(baseline),
    ];
  });
  return section(
    'each',
    'Every night',
    'Differences are paired by task, tonight minus the other, with their 95 % interval.',
    html`<div class="nights-table">${plainTable(
      'Every night, the newest first',
      ['Night', 'State', 'Model', 'pass@1', 'k/k', 'Night before', 'Baseline'],
      rows,
    )}</div>`,
  );
}

function partly({ incomplete }: NightScore): Part {
  return incomplete === undefined ? null : html`<small class="loss">incomplete: ${incomplete}</small>`;
}

function linked(night: NightRow, { link }: Writing): Part {
  const address = link(night.evaluation);
  const at = exactMoment(night.at);
  return address === null ? at : html`<a href="${address}">${at}</a>`;
}

function against(comparison: NightComparison | null | undefined): Part {
  if (!comparison) return '–';
  const { passAt1, observedK, sameSuite, unpaired, regressed } = comparison;
  const text = points(passAt1.value);
  const bounds =
    passAt1.low === null || passAt1.high === null ? '' : `${points(passAt1.low)} to ${points(passAt1.high)}`;
  const whole = observedK && html`<small>k/k ${points(observedK.value)}</small>`;
  return html`${regressed.length > 0 ? html`<strong class="loss">${text}</strong>` : text}<small>${bounds}</small>${whole}${!sameSuite && html`<small class="loss">not the same suite</small>`}${unpaired > 0 && html`<small>${plural(unpaired, 'task')} unpaired</small>`}`;
}

function notes({ record }: NightRow): Part {
  const { changes = [], notComparable = [], cause, webhook, checkpoint } = record;
  const lines = [
    ...(cause ? [cause] : []),
    ...notComparable.map((why) => `not comparable with published results: ${why}`),
    ...changes.map(shortened),
    ...(checkpoint?.passedOver.length
      ? [`newer checkpoints that do not verify: step ${checkpoint.passedOver.join(', ')}`]
      : []),
    ...(webhook ? [webhook.state === 'sent' ? 'message sent' : `message not sent: ${webhook.error}`] : []),
  ];
  return lines.map((line) => html`<span class="note-line">${line}</span>`);
}

/** Digests are told apart by their beginnings. */
function shortened(text: string): string {
  return text.replace(/sha256:[0-9a-f]{64}/g, (digest) => shortDigest(digest));
}

function settings({ schedule }: ScheduleData): Html {
  const { timing, evaluation, lanes, webhookEnv } = schedule.config;
  const rows: readonly (readonly Part[])[] = [
    ['Pinned suite', html`<code>${shortDigest(evaluation.suiteDigest)}</code>`],
    ['Pinned program version', schedule.programVersion],
    ['Start, late by at most', duration(timing.jitterMs / 1_000)],
    ['Made up for, when late by at most', duration(timing.catchUpMs / 1_000)],
    ['Lanes', String(lanes)],
    ['Seed', String(evaluation.seed)],
    ['Told of a regression', webhookEnv === null ? 'nobody' : `the address in ${webhookEnv}`],
    ['Made', moment(schedule.createdAt)],
  ];
  return section(
    'settings',
    'Settings',
    null,
    html`<div class="left">${plainTable('Settings of the schedule', ['Setting', 'Value'], rows)}</div>`,
  );
}

/** The report as GitHub-flavoured Markdown: the same figures and tables, without charts. A pure function of its data. */
import { FAULT_KINDS, type FaultKind } from '../../core/faults.js';
import type { Estimate, EvaluationReport, ReportData, ScoreLine } from '../../core/report-data.js';
import { STEP_METRICS, STEP_STAGES, type StepMetric } from '../../core/step-metrics.js';
import { bandRange } from './charts/bands.js';
import {
  count,
  dollars,
  duration,
  interval,
  kOfK,
  moment,
  percent,
  plural,
  points,
  shortDigest,
} from './format.js';
import { clip, visible } from './html.js';
import { metricText } from './metric-text.js';
import { policyTokens, tokensPer } from './sections/cost.js';
import { colophon, GLOSSARY } from './sections/ending.js';
import { stagesOf } from './sections/integrity.js';
import { lede } from './sections/lede.js';
import { lineTitle } from './sections/scores.js';
import { partialMark } from './sections/totals.js';

const CELL_LIMIT = 300;

/** Text that cannot end a cell, start markup or become a link, a mention or HTML. */
export function cell(text: string): string {
  const { text: shown, cut } = clip(visible(text).replace(/\s*\n\s*/g, ' '), CELL_LIMIT);
  return `${shown.replace(/[\\`*_{}[\]<>#|~@!]/g, '\\$&')}${cut > 0 ? ' …' : ''}`;
}

/** Text as code; backticks inside become apostrophes, since a code span has no escapes. */
function code(text: string): string {
  return `\`${clip(visible(text).replace(/\s*\n\s*/g, ' '), CELL_LIMIT)
    .text.replaceAll('`', "'")
    .replaceAll('|', '\\|')}\``;
}

/** A line of a fenced block, which it cannot end. */
function command(text: string): string {
  return visible(text)
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('```', "'''");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}

function estimate(value: Estimate): string {
  const range = value.low !== value.high ? interval(value) : '';
  return range === '' ? percent(value.value) : `${percent(value.value)} (${range})`;
}

function scores(before: EvaluationReport | null, after: EvaluationReport | null): string | null {
  const sides = [before, after].filter((each): each is EvaluationReport => each?.scores != null);
  const last = sides.at(-1);
  if (!last?.scores) return null;
  const find = (side: EvaluationReport, line: ScoreLine): ScoreLine | undefined =>
    side.scores?.find((each) => each.kind === line.kind && each.label === line.label);
  const head = sides.flatMap((side) =>
    [kOfK(side.k), 'pass@1', `pass@${side.k}`].map((name) =>
      sides.length > 1 ? `${name}, ${cell(side.label)}` : name,
    ),
  );
  return table(
    ['Tasks', 'n', ...head],
    last.scores.map((line) => [
      cell(lineTitle(line)),
      count(line.tasks),
      ...sides.flatMap((side) => {
        const own = find(side, line);
        return own
          ? [
              `${own.dependable} (${percent(own.observedK.value)})`,
              estimate(own.passAt1),
              estimate(own.passAtK),
            ]
          : ['–', '–', '–'];
      }),
    ]),
  );
}

function comparison({ paired, after, before }: ReportData): string | null {
  if (!paired) return null;
  const k = (after ?? before)?.k ?? 0;
  const names = (ids: readonly string[]): string => (ids.length === 0 ? 'none' : ids.map(code).join(', '));
  const { low, high } = paired.passAt1;
  const range = low === null || high === null ? '' : ` (95 %: ${points(low)} to ${points(high)})`;
  return `pass@1 ${points(paired.passAt1.value)}${range}. Tasks at ${kOfK(k)} gained: ${names(paired.gained)}; lost: ${names(paired.lost)}.`;
}

function training({ training: run }: ReportData): string | null {
  if (!run || run.steps.length === 0) return null;
  const columns: readonly StepMetric[] = [
    'reward',
    'zeroVarianceShare',
    'refillGroups',
    'entropy',
    'klToBase',
    'gradNorm',
    'clipFraction',
    'responseTokens',
    'truncatedShare',
    'mismatchMean',
    'systemErrors',
    ...STEP_STAGES,
  ];
  const shown = columns.filter((metric) => run.steps.some((step) => step.metrics[metric] != null));
  return table(
    ['Step', 'State', ...shown.map((metric) => STEP_METRICS[metric].label), 'Weights'],
    run.steps.map((step) => [
      String(step.step),
      step.cause ? `${step.state}: ${cell(step.cause)}` : step.state,
      ...shown.map((metric) => metricText(metric, step.metrics[metric])),
      step.weightDigest ? code(shortDigest(step.weightDigest)) : '–',
    ]),
  );
}

function cost({ before, after, prices }: ReportData): string | null {
  const sides = [before, after].filter(
    (each): each is EvaluationReport => each?.scores != null && policyTokens(each) > 0,
  );
  if (sides.length === 0) return null;
  const priced = prices !== null && sides.every((side) => side.cost !== null);
  const amount = (value: number | null | undefined): string =>
    value == null ? 'none' : priced ? dollars(value) : count(value);
  return table(
    ['Evaluation', priced ? 'cost' : 'tokens', 'per successful attempt', 'per dependable task'],
    sides.map((side) => [
      cell(side.label),
      amount(priced ? side.cost?.total : policyTokens(side)),
      amount(priced ? side.cost?.perSuccess : tokensPer(side, 'passed')),
      amount(priced ? side.cost?.perDependable : tokensPer(side, 'dependable')),
    ]),
  );
}

/** Why conversations ended, tool calls that failed, time: of evaluations that may show scores. */
function conduct({ before, after }: ReportData): string | null {
  const sides = [before, after].filter((each): each is EvaluationReport => each?.scores != null);
  if (sides.length === 0) return null;
  const words = [...new Set(sides.flatMap(({ terminations }) => Object.keys(terminations)))];
  const unknown = '–';
  return table(
    ['', ...sides.map((side) => cell(side.label))],
    [
      [
        'tool calls that failed',
        ...sides.map(({ tools }) =>
          tools && tools.calls > 0 ? `${count(tools.errors)} of ${count(tools.calls)}` : unknown,
        ),
      ],
      ['median time', ...sides.map(({ time }) => (time ? duration(time.median) : unknown))],
      ...words.map((word) => [
        `ended: ${cell(word)}`,
        ...sides.map(({ terminations }) => count(terminations[word] ?? 0)),
      ]),
    ],
  );
}

function coverage(data: ReportData): string | null {
  const stages = stagesOf(data);
  if (stages.length === 0) return null;
  const faults = (found: Readonly<Partial<Record<FaultKind, number>>>): string =>
    (Object.keys(FAULT_KINDS) as FaultKind[])
      .filter((kind) => (found[kind] ?? 0) > 0)
      .map((kind) => `${kind} ${found[kind]}`)
      .join(', ') || 'none';
  return table(
    ['Stage', 'planned', 'clean', 'exhausted', 'pending', 'tries lost'],
    stages.map(({ name, coverage: each }) => [
      cell(name),
      count(each.planned),
      count(each.clean),
      count(each.exhausted),
      count(each.pending),
      faults(each.faults) + (each.stopped ? `; stopped ${count(each.stopped)}` : ''),
    ]),
  );
}

function notices(data: ReportData): readonly string[] {
  const { run } = data;
  const found: string[] = [];
  if (run.state !== 'done')
    found.push(`The campaign is ${run.state}${run.cause ? `: ${cell(run.cause)}` : ''}.`);
  for (const each of [data.before, data.after]) {
    if (each?.imported) {
      const files = each.imported.map(
        ({ name, sha256 }) => `${code(name)} (SHA-256 ${code(sha256.slice(0, 12))})`,
      );
      found.push(
        `${code(each.id)} is imported: it ran elsewhere, and its rows are those of ${files.join(', ')}.`,
      );
    }
    if (each?.notComparable?.length)
      found.push(
        `${code(each.id)} is not comparable with published results: ${cell(each.notComparable.join('; '))}.`,
      );
    if (each && !each.coverage.complete) {
      const { clean, planned } = each.coverage;
      found.push(
        `Coverage of ${code(each.id)} is incomplete (${count(clean)} of ${count(planned)} clean): ${each.scores ? 'its scores leave the others out, as asked.' : 'no score is shown.'}`,
      );
    } else if (each?.coverage.exhaustedAsFailed && each.coverage.exhausted > 0) {
      found.push(
        `${plural(each.coverage.exhausted, 'exhausted attempt')} of ${code(each.id)} scored 0 on request.`,
      );
    }
  }
  for (const broken of data.integrity.invariants.filter((each) => !each.holds)) {
    found.push(`The ledger is inconsistent: ${cell(broken.name)} ${cell(broken.detail)}`);
  }
  return [...found, ...data.warnings.map(cell)].map((notice) => `> **Note.** ${notice}`);
}

/** Never throws for any `ReportData`. Ends in a line feed. */
export function renderMarkdown(data: ReportData): string {
  const { run, probe, integrity } = data;
  const part = (title: string, body: string | null): readonly string[] => (body ? [`## ${title}`, body] : []);
  const mark = partialMark(data.before, data.after);
  const partly = mark === '' ? '' : ` (${mark})`;
  const blocks: readonly string[] = [
    `# ${cell(run.id)}`,
    cell(lede(data)),
    ...notices(data),
    [
      `- suite ${code(run.suite)} ${code(shortDigest(run.suiteDigest))}, model ${code(run.model)}`,
      `- started ${moment(run.createdAt)}${run.endedAt ? `, ended ${moment(run.endedAt)}` : ''}`,
      ...(run.finalDigest && run.baseDigest
        ? [`- weights ${code(shortDigest(run.baseDigest))} → ${code(shortDigest(run.finalDigest))}`]
        : []),
    ].join('\n'),
    ...part(`Scores${partly}`, scores(data.before, data.after)),
    ...part('Change', comparison(data)),
    ...part('Training', training(data)),
    ...part(
      'Probe',
      probe && probe.bands.length > 0
        ? table(
            ['Band', 'success rate', 'candidates', 'retained'],
            probe.bands.map((band) => [
              cell(band.name),
              bandRange(band),
              count(band.tasks),
              band.retained ? 'yes' : 'no',
            ]),
          )
        : null,
    ),
    ...part(`Cost${partly}`, cost(data)),
    ...part('Episodes', conduct(data)),
    ...part('Coverage', coverage(data)),
    ...part(
      'Integrity',
      integrity.invariants.length > 0
        ? integrity.invariants
            .map((each) => `- ${each.holds ? '✓' : '✗'} ${cell(each.name)} ${cell(each.detail)}`)
            .join('\n')
        : null,
    ),
    ...part(
      'Make it again',
      data.reproduce.length > 0 ? `\`\`\`sh\n${data.reproduce.map(command).join('\n')}\n\`\`\`` : null,
    ),
    ...part('Words', GLOSSARY.map(([word, meaning]) => `- **${word}**: ${meaning}`).join('\n')),
    `*${cell(colophon(data))}*`,
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** A comparison for the terminal: the figures, each domain, what was gained and lost. */
import Table from 'cli-table3';
import { verdict } from '../activities/report/comparison.js';
import { type ComparisonData, evaluationsOf } from '../activities/report/comparison-data.js';
import { count, dollars, interval, kOfK, percent, plural, points } from '../activities/report/format.js';
import type { Estimate, EvaluationReport, PairedReport, ScoreLine } from '../core/report-data.js';

const TASKS_SHOWN = 10;

export function comparisonText(data: ComparisonData): string {
  const evaluations = evaluationsOf(data);
  const shown = evaluations.filter(({ scores }) => scores);
  return [
    ...(shown.length === 0 ? [] : [figures(data, shown)]),
    ...domainsText(data),
    verdict(data),
    ...data.others.flatMap(({ evaluation, paired }) => (paired ? [otherText(evaluation, paired, data)] : [])),
    ...evaluations.flatMap(notes),
    ...(data.paired
      ? [
          `${plural(data.paired.improved, 'task')} rose, ${data.paired.worsened} fell, ${data.paired.unchanged} stayed.`,
          listed('became dependable', data.paired.gained),
          listed('no longer dependable', data.paired.lost),
        ]
      : []),
  ].join('\n');
}

type Value = (evaluation: EvaluationReport, all: ScoreLine) => string;

function figures({ after, paired }: ComparisonData, shown: readonly EvaluationReport[]): string {
  const two = shown.length === 2 && paired;
  const table = new Table({
    head: [
      '',
      ...shown.map(({ id, coverage }) =>
        coverage.complete
          ? id
          : `${id}\n(incomplete: ${count(coverage.clean)} of ${count(coverage.planned)} attempts)`,
      ),
      ...(two ? ['difference'] : []),
    ],
    style: { head: [], border: [] },
  });
  const row = (name: string, value: Value, difference?: Estimate) =>
    table.push([
      name,
      ...shown.map((each) => {
        const [all] = each.scores ?? [];
        return all ? value(each, all) : '–';
      }),
      ...(two ? [difference ? differenceText(difference) : ''] : []),
    ]);
  const k = kOfK(after.k);
  row(k, (_, all) => `${all.dependable} of ${all.tasks}: ${estimate(all.observedK)}`, paired?.observedK);
  row(
    'pass@1',
    (_, all) => `${count(all.passed)} of ${count(all.attempts)}: ${estimate(all.passAt1)}`,
    paired?.passAt1,
  );
  row('solved at least once', ({ tasks }, all) => {
    const once = tasks.filter(({ passed }) => passed > 0).length;
    return `${once} of ${all.tasks}: ${percent(once / all.tasks, 2)}`;
  });
  if (shown.every(({ cost }) => cost)) {
    const money = (value: number | null | undefined) => (value == null ? 'none' : dollars(value));
    row('cost', ({ cost }) => money(cost?.total));
    row(`cost per task at ${k}`, ({ cost }) => money(cost?.perDependable));
    row('cost per success', ({ cost }) => money(cost?.perSuccess));
  } else if (shown.some(({ usage }) => usage.policyPromptTokens + usage.policySampledTokens > 0)) {
    row('tokens', ({ usage }) => count(usage.policyPromptTokens + usage.policySampledTokens));
  }
  return table.toString();
}

function domainsText({ before, after, paired }: ComparisonData): string[] {
  if (!paired?.domains || paired.domains.length < 2) return [];
  const table = new Table({
    head: ['domain', 'tasks', 'pass@1', 'difference', kOfK(after.k), 'difference'],
    style: { head: [], border: [] },
  });
  for (const { domain, tasks, passAt1, observedK } of paired.domains) {
    const change = (of: (line: ScoreLine) => Estimate): string =>
      [before, after]
        .map(({ scores }) => scores?.find((line) => line.kind === 'domain' && line.label === domain))
        .map((line) => (line ? percent(of(line).value) : '–'))
        .join(' → ');
    table.push([
      domain,
      tasks,
      change((line) => line.passAt1),
      differenceText(passAt1),
      change((line) => line.observedK),
      differenceText(observedK),
    ]);
  }
  return [table.toString()];
}

function otherText({ id }: EvaluationReport, paired: PairedReport, { before }: ComparisonData): string {
  return `${id} against ${before.id}: pass@1 ${differenceText(paired.passAt1)}, ${paired.gained.length} tasks gained, ${paired.lost.length} lost.`;
}

function notes({ id, coverage, imported, scores, notComparable }: EvaluationReport): string[] {
  const { clean, planned, complete, exhausted, exhaustedAsFailed } = coverage;
  const lines: string[] = [];
  if (imported)
    lines.push(
      `${id}: imported rows of ${imported.map(({ name, sha256 }) => `${name} (${sha256.slice(0, 12)})`).join(', ')}.`,
    );
  if (!complete) {
    const what = scores
      ? 'INCOMPLETE, its scores leave the others out'
      : imported
        ? 'no score is shown'
        : 'start it again, only what is missing runs';
    lines.push(`${id}: ${clean} of ${planned} attempts are clean; ${what}.`);
  }
  for (const why of notComparable ?? []) lines.push(`${id}: not comparable with published results: ${why}.`);
  if (exhaustedAsFailed && exhausted > 0)
    lines.push(`${id}: ${exhausted} system errors are scored 0, as asked.`);
  return lines;
}

function estimate(value: Estimate): string {
  const bounds = interval(value);
  return `${percent(value.value, 2)}${bounds ? ` [${bounds}]` : ''}`;
}

function differenceText({ value, low, high }: Estimate): string {
  return low === null || high === null ? points(value) : `${points(value)} [${points(low)}, ${points(high)}]`;
}

function listed(what: string, tasks: readonly string[]): string {
  const more = tasks.length > TASKS_SHOWN ? ` and ${tasks.length - TASKS_SHOWN} more` : '';
  return `${what} (${tasks.length}): ${tasks.slice(0, TASKS_SHOWN).join(', ') || 'none'}${more}`;
}

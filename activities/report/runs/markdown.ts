/** Two training runs as Markdown: the words, the settings and the steps of the page, for pull requests. */
import { shortValue } from '../../../core/fingerprint.js';
import { STEP_METRICS, type StepMetric } from '../../../core/step-metrics.js';
import { moment, plural, shortDigest } from '../format.js';
import { cell } from '../markdown.js';
import { metricText } from '../metric-text.js';
import type { RunComparison, RunSide } from './compare.js';
import type { Writing } from './page.js';
import { parting, relation } from './words.js';

const SHOWN: readonly StepMetric[] = [
  'reward',
  'validationPassAt1',
  'zeroVarianceShare',
  'entropy',
  'gradNorm',
  'klToBase',
  'loss',
  'responseTokens',
];
const MOST_CHANGES = 80;

export function runComparisonMarkdown(comparison: RunComparison, writing: Writing): string {
  const { before, after, changes, steps } = comparison;
  const names = SHOWN.filter((name) =>
    steps.some((pair) => pair.before?.metrics[name] != null || pair.after?.metrics[name] != null),
  );
  const row = (side: RunSide | null, place: number, name: string): readonly string[][] =>
    side
      ? [
          [
            String(place),
            cell(`${name} ${side.step}${side.stepState === 'done' ? '' : ` (${side.stepState})`}`),
            ...names.map((metric) => metricText(metric, side.metrics[metric])),
            side.weightDigest ? `\`${shortDigest(side.weightDigest)}\`` : '–',
          ],
        ]
      : [];
  const rest = changes.length - MOST_CHANGES;
  return [
    `# ${cell(before)} and ${cell(after)}`,
    `${cell(relation(comparison))} ${cell(parting(comparison))}`,
    '## What was set otherwise',
    changes.length === 0
      ? 'Nothing: the configurations are the same, path by path.'
      : table(
          ['path', cell(before), cell(after)],
          changes
            .slice(0, MOST_CHANGES)
            .map(({ path, old, new: now }) => [
              cell(path || '(everything)'),
              cell(shortValue(old)),
              cell(shortValue(now)),
            ]),
        ),
    ...(rest > 0 ? [`${plural(rest, 'more path')}: \`compare --json\` has all.`] : []),
    '## Step by step',
    table(
      ['step', 'of', ...names.map((name) => STEP_METRICS[name].label), 'weights'],
      steps.flatMap((pair) => [
        ...row(pair.before, pair.place, before),
        ...row(pair.after, pair.place, after),
      ]),
    ),
    `Steadfast ${writing.programVersion}, written ${moment(writing.generatedAt)}.`,
    '',
  ].join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** How the conversations went: why they ended, how many tool calls failed, what they took. */
import { TERMINATIONS, type Termination } from '../../../core/outcome.js';
import type { EvaluationReport } from '../../../core/report-data.js';
import { count, duration, number, percent } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { policyTokens } from './cost.js';
import { plainTable, section } from './section.js';

const UNKNOWN = '–';

interface Line {
  readonly name: Part;
  readonly of: (evaluation: EvaluationReport) => Part;
}

function per(value: number, of: number): string {
  return of === 0 ? UNKNOWN : number(value / of);
}

const LINES: readonly Line[] = [
  {
    name: 'Tool calls per episode',
    of: ({ tools }) => (tools ? per(tools.calls, tools.episodes) : UNKNOWN),
  },
  {
    name: html`Tool calls that failed<small>observations of the agent, no system errors</small>`,
    of: ({ tools }) =>
      tools && tools.calls > 0
        ? `${percent(tools.errors / tools.calls, 2)} (${count(tools.errors)})`
        : UNKNOWN,
  },
  {
    name: 'Episodes with a failed call',
    of: ({ tools }) => (tools ? percent(tools.episodesWithErrors / tools.episodes) : UNKNOWN),
  },
  {
    name: 'Model calls per episode',
    of: (each) => (each.usage.policyCalls > 0 ? per(each.usage.policyCalls, episodes(each)) : UNKNOWN),
  },
  {
    name: html`Tokens per episode<small>prompt + sampled</small>`,
    of: (each) =>
      policyTokens(each) > 0 && episodes(each) > 0
        ? `${count(each.usage.policyPromptTokens / episodes(each))} + ${count(each.usage.policySampledTokens / episodes(each))}`
        : UNKNOWN,
  },
  {
    name: html`Time of an episode<small>median, and 95 of 100 within</small>`,
    of: ({ time }) => (time ? `${duration(time.median)}, ${duration(time.p95)}` : UNKNOWN),
  },
  { name: 'Time of all episodes', of: ({ time }) => (time ? duration(time.total) : UNKNOWN) },
];

function episodes({ coverage }: EvaluationReport): number {
  return coverage.clean + coverage.exhausted;
}

/** Empty where none of the evaluations may show scores. */
export function conductSection(evaluations: readonly EvaluationReport[]): Html {
  const shown = evaluations.filter(({ scores }) => scores);
  if (shown.length === 0) return html``;
  const words = [...new Set(shown.flatMap(({ terminations }) => Object.keys(terminations)))];
  const total = (word: string): number =>
    shown.reduce((sum, { terminations }) => sum + (terminations[word] ?? 0), 0);
  const endings = words
    .sort((a, b) => total(b) - total(a) || (a < b ? -1 : 1))
    .map((word) => [
      html`Ended: ${word}${Object.hasOwn(TERMINATIONS, word) && html`<small>${TERMINATIONS[word as Termination]}</small>`}`,
      ...shown.map((each) => {
        const all = Object.values(each.terminations).reduce<number>((sum, one) => sum + (one ?? 0), 0);
        const value = each.terminations[word] ?? 0;
        return `${percent(all === 0 ? 0 : value / all)} (${count(value)})`;
      }),
    ]);
  const rows = LINES.map(({ name, of }) => [name, ...shown.map(of)]).filter((row) =>
    row.slice(1).some((cell) => cell !== UNKNOWN),
  );
  if (rows.length + endings.length === 0) return html``;
  return section(
    'conduct',
    'How the episodes went',
    null,
    plainTable('How the episodes went', ['', ...shown.map(({ id }) => id)], [...rows, ...endings]),
  );
}

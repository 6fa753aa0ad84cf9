/** Every text of a report replaced by hostile text: what a tool, a task or a cause could contain. */
import type { ReportData } from '../../core/report-data.js';

export const HOSTILE = [
  '</style></title><script>window.pwned = true</script>',
  '"><img src=x onerror="window.pwned = true">',
  "' onclick='window.pwned = true' x='",
  '\u202eright-to-left override\u202c \0 NUL \x1b[2J',
  'שלום עולם مرحبا',
  'x'.repeat(20_000),
  '`|| [link](javascript:alert(1)) <!-- ` \n# heading\n\n| a | b |',
  '\ud800 lone surrogate',
  '&lt;already&gt; escaped &amp;amp;',
  '',
];

/** Words that the report branches on keep their value; all else is replaced, in turn. */
const KEPT = new Set(['state', 'kind', 'role', 'band', 'format', 'createdAt', 'endedAt', 'generatedAt']);

export function hostile(data: ReportData, from = 0): ReportData {
  let turn = from;
  const change = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return KEPT.has(key) ? value : HOSTILE[turn++ % HOSTILE.length];
    if (Array.isArray(value)) return value.map((each) => change(each, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        key === 'actual' || key === 'config' || key === 'arguments' ? `${HOSTILE[turn++ % 5]}${name}` : name,
        change(each, name),
      ]),
    );
  };
  return change(data, '') as ReportData;
}

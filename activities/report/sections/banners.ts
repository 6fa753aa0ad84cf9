/** What a reader must know before any number: failures, gaps, broken promises, things that could not be read. */
import type { ReportData } from '../../../core/report-data.js';
import { count, moment, plural } from '../format.js';
import { clip, type Html, html, type Part } from '../html.js';

/** A cause may carry a trace; its beginning says what happened. */
const CAUSE_LIMIT = 1_000;

/** Gaps and failures, said before any number: nothing below is read without them. */
export function banners(data: ReportData): readonly Html[] {
  const { run } = data;
  const found: Html[] = [];
  const sides = [data.before, data.after].filter((each) => each !== null);
  const imported = sides.filter((each) => each.imported);
  if (imported.length > 0) {
    const files = imported.flatMap((each) => each.imported ?? []);
    const names = files.map(({ name, sha256 }) => `${name} (SHA-256 ${sha256.slice(0, 12)})`);
    const who = imported.map(({ id }) => id).join(' and ');
    const whose = imported.length > 1 ? 'their' : 'its';
    found.push(
      banner('info', `${who} ran elsewhere; ${whose} rows are imported.`, `From ${names.join(', ')}.`),
    );
  }
  for (const { id, notComparable = [] } of sides) {
    if (notComparable.length === 0) continue;
    found.push(
      banner('warn', `${id} is not comparable with published results.`, `${notComparable.join('; ')}.`),
    );
  }
  if (run.state === 'failed') {
    found.push(
      banner(
        'bad',
        'This campaign failed.',
        run.cause === null ? 'No cause was recorded.' : clip(run.cause, CAUSE_LIMIT).text,
      ),
    );
  } else if (run.state === 'stopped' && imported.length === 0) {
    found.push(
      banner(
        'warn',
        'This campaign was stopped.',
        'What had finished is shown. Start it again under the same name and it goes on.',
      ),
    );
  } else if (run.state !== 'done' && run.state !== 'stopped') {
    found.push(
      banner(
        'info',
        'This campaign has not finished.',
        `The page shows the state of ${moment(run.generatedAt)}.`,
      ),
    );
  }
  for (const evaluation of sides) {
    if (evaluation.coverage.complete) continue;
    const { planned, clean, exhausted, pending, missing } = evaluation.coverage;
    const parts = [
      pending > 0 &&
        `${count(pending)} ${evaluation.imported ? 'without a row that counts' : 'still to run'}`,
      exhausted > 0 && `${count(exhausted)} exhausted by system errors`,
    ];
    found.push(
      banner(
        'warn',
        `Incomplete coverage of ${evaluation.id}: ${count(clean)} of ${count(planned)} attempts are clean, ${evaluation.scores ? 'and its scores leave the others out, as asked (--allow-incomplete)' : 'so no score is shown'}.`,
        html`${parts.filter(Boolean).join(', ')}.${missing.length > 0 && html`<ul>${missing.slice(0, 3).map((key) => html`<li><code>${key}</code></li>`)}${planned - clean > 3 && missing.length > 3 && html`<li>and ${count(planned - clean - 3)} more</li>`}</ul>`}`,
      ),
    );
  }
  for (const evaluation of [data.before, data.after]) {
    if (!evaluation?.coverage.exhaustedAsFailed || evaluation.coverage.exhausted === 0) continue;
    found.push(
      banner(
        'warn',
        `${plural(evaluation.coverage.exhausted, 'exhausted attempt')} of ${evaluation.id} scored 0 on request (--exhausted-as-failed).`,
        'They met system errors on every try; the scores below are lower bounds.',
      ),
    );
  }
  for (const broken of data.integrity.invariants.filter((each) => !each.holds)) {
    found.push(banner('bad', `The ledger is inconsistent: ${broken.name}.`, broken.detail));
  }
  for (const warning of data.warnings) found.push(banner('warn', 'Something could not be read.', warning));
  return found;
}

function banner(kind: 'info' | 'warn' | 'bad', title: string, detail: Part): Html {
  return html`<div class="${`banner ${kind}`}" role="note"><strong>${title}</strong> ${detail}</div>`;
}

/** Coverage and integrity: what was planned, what became of it, what was lost on the way, and one line of weights. */
import { FAULT_KINDS, type FaultKind } from '../../../core/faults.js';
import type { CoverageReport, ReportData } from '../../../core/report-data.js';
import { compact, count, duration, plural, shortDigest } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { fold, plainTable, section } from './section.js';

interface Stage {
  readonly name: string;
  readonly coverage: CoverageReport;
  readonly wallSeconds: number | null;
}

/** The parts of a campaign that have attempts, in the order in which they run. */
export function stagesOf({ probe, before, training, after }: ReportData): readonly Stage[] {
  const parts = [
    ['probe', probe],
    [before?.label ?? '', before],
    ['training', training],
    [after?.label ?? '', after],
  ] as const;
  return parts.flatMap(([name, part]) =>
    part ? [{ name, coverage: part.coverage, wallSeconds: part.wallSeconds }] : [],
  );
}

function bar(coverage: CoverageReport): Html {
  const share = (part: number): string => `${coverage.planned > 0 ? (100 * part) / coverage.planned : 0}%`;
  const text = `${count(coverage.clean)} clean, ${count(coverage.exhausted)} exhausted, ${count(coverage.pending)} pending of ${count(coverage.planned)} planned`;
  return html`<span class="coverbar" role="img" aria-label="${text}" title="${text}"><i class="clean" style="${`width:${share(coverage.clean)}`}"></i><i class="exhausted" style="${`width:${share(coverage.exhausted)}`}"></i></span>`;
}

function coverageTable(stages: readonly Stage[]): Html {
  return html`<div class="scroll"><table class="cover"><thead><tr><th scope="col">Stage</th><th scope="col">Planned</th><th scope="col">Clean</th><th scope="col">Exhausted</th><th scope="col">Pending</th><th scope="col">Tries lost</th><th scope="col" class="took">Took</th><th scope="col"><span class="unseen">Coverage</span></th></tr></thead><tbody>${stages.map(
    ({ name, coverage, wallSeconds }) => {
      const lost = Object.values(coverage.faults).reduce((sum, each) => sum + each, 0);
      return html`<tr><th scope="row">${name}</th><td>${count(coverage.planned)}</td><td>${count(coverage.clean)}</td><td>${count(coverage.exhausted)}</td><td>${count(coverage.pending)}</td><td>${count(lost)}</td><td class="took">${wallSeconds === null ? '–' : duration(wallSeconds)}</td><td class="wide">${bar(coverage)}</td></tr>`;
    },
  )}</tbody></table></div>`;
}

function faultsTable(stages: readonly Stage[]): Part {
  const kinds = (Object.keys(FAULT_KINDS) as FaultKind[]).filter((kind) =>
    stages.some((stage) => (stage.coverage.faults[kind] ?? 0) > 0),
  );
  if (kinds.length === 0) return html`<p class="quiet">No try was lost to a system error.</p>`;
  return plainTable(
    'Tries lost to system errors, by kind',
    ['Tries lost to system errors', ...stages.map((stage) => stage.name)],
    kinds.map((kind) => [
      html`${kind}<small>${FAULT_KINDS[kind]}</small>`,
      ...stages.map((stage) => count(stage.coverage.faults[kind] ?? 0)),
    ]),
  );
}

/** Apart from system errors: a person ended them, and they run again when the campaign goes on. */
function stopped(stages: readonly Stage[]): Part {
  const found = stages.filter(({ coverage }) => (coverage.stopped ?? 0) > 0);
  if (found.length === 0) return null;
  const sum = found.reduce((all, { coverage }) => all + (coverage.stopped ?? 0), 0);
  const where = found.map(({ name, coverage }) => `${name} ${count(coverage.stopped ?? 0)}`).join(', ');
  return html`<p class="quiet">${plural(sum, 'try was', 'tries were')} in flight when the campaign was stopped (${where}); stopped tries are no system errors.</p>`;
}

const MOST_FAULTS = 30;

function faultsByTask({ integrity: { faults } }: ReportData): Part {
  if (faults.length === 0) return null;
  const rest = faults.length - MOST_FAULTS;
  return fold(
    'System errors by task',
    html`${plainTable(
      'System errors by task',
      ['Task', 'Kind', 'Within a tool call', 'Tries'],
      faults
        .slice(0, MOST_FAULTS)
        .map((each) => [
          each.taskId,
          each.code === null ? each.kind : `${each.kind}: ${each.code}`,
          each.duringToolCall ? 'yes' : 'no',
          count(each.tries),
        ]),
    )}${rest > 0 && html`<p class="quiet">${plural(rest, 'more line')} in the ledger.</p>`}`,
  );
}

function wasted({ integrity }: ReportData): Part {
  if (!integrity.wasted || integrity.wasted.tries === 0) return null;
  const { tries, tokens } = integrity.wasted;
  return html`<p class="quiet">${plural(tries, 'try', 'tries')} whose result does not count used ${compact(tokens)} tokens.</p>`;
}

function lineage(data: ReportData): Part {
  const chain = data.integrity.lineage;
  if (chain.length === 0) return null;
  return html`<div class="panel"><h3>Lineage of weights</h3><p class="quiet">${plural(data.integrity.updatesApplied, 'update')} applied once each${data.integrity.updatesSkipped > 0 && `, ${count(data.integrity.updatesSkipped)} skipped because every advantage was zero`}. Each digest covers every tensor; every sampled turn carries the digest it came from.</p><ol class="lineage">${chain.map(
    (link) =>
      html`<li title="${link.digest}"><span>${link.step === 0 ? 'base' : link.step}</span><code>${shortDigest(link.digest)}</code></li>`,
  )}</ol></div>`;
}

export function integritySection(data: ReportData): Html {
  const stages = stagesOf(data);
  const { invariants } = data.integrity;
  if (stages.length === 0 && invariants.length === 0 && data.integrity.lineage.length === 0) return html``;
  return section(
    'integrity',
    'Coverage and integrity',
    'planned = clean + exhausted + pending. A try that met a system error is tried again and never scored; scores are shown when every planned attempt is clean, others say how many they leave out.',
    html`${stages.length > 0 && coverageTable(stages)}${stages.length > 0 && faultsTable(stages)}${stopped(stages)}${wasted(data)}${invariants.length > 0 && html`<ul class="checks">${invariants.map((each) => html`<li class="${each.holds ? 'holds' : 'broken'}"><b>${each.holds ? '✓' : '✗'}<span class="unseen">${each.holds ? 'holds' : 'broken'}</span></b><span><strong>${each.name}</strong> ${each.detail}</span></li>`)}</ul>`}${lineage(data)}${faultsByTask(data)}`,
  );
}

/**
 * `results import`: rows of an evaluation that ran elsewhere become a campaign of the ledger.
 *
 *   read every row once → coverage by key → claim the name with the digests of the files → plan every expected key
 *   → read again, store conversations, write results in batches → say how complete it is
 *
 * Nothing is claimed before every row has been understood. Killed in the middle, the same command goes on with the
 * keys that have no result yet; a second time it adds nothing. The same name with other files is refused.
 */
import { basename } from 'node:path';
import type pg from 'pg';
import type { ArtifactStore } from '../../core/artifacts.js';
import { UsageError } from '../../core/faults.js';
import { fingerprint } from '../../core/fingerprint.js';
import { attemptKey, campaignId } from '../../core/keys.js';
import type { Ledger, PlannedAttempt } from '../../core/ledger.js';
import type { Coverage } from '../../core/metrics/coverage.js';
import type { Termination } from '../../core/outcome.js';
import { type ImportedConfig, type ImportedFile, importedModel } from '../../core/results/imported.js';
import { type ImportedRow, readImportedRow } from '../../core/results/imported-row.js';
import { ResultSet, type ResultsSummary } from '../../core/results/result-set.js';
import type { ResultRow } from '../../core/results/rows.js';
import { summarise } from '../campaign/summary.js';
import { type ImportedAttempt, importAttempts } from '../ledger/imports.js';
import { forEachLine } from '../report/json-lines.js';
import { importedDocument, usageOfRow } from './document.js';

export interface ImportRequest {
  /** Name of the campaign: `eval/NAME`. */
  readonly name: string;
  readonly files: readonly string[];
  readonly taskIds: readonly string[];
  readonly repeat: number;
  /** What price tables and reports call the model. */
  readonly model: string;
  readonly suite: string;
  readonly otherEndingsAs: Termination | null;
  readonly systemErrorsAsFailed: boolean;
  readonly domainOf: (scenario: string) => string;
}

export interface ImportPlaces {
  readonly pool: pg.Pool;
  readonly ledger: Ledger;
  readonly artifacts: ArtifactStore;
}

export interface ImportReport {
  readonly campaign: string;
  readonly files: readonly ImportedFile[];
  readonly rows: number;
  /** Attempts that had no result before; 0 when all was there. */
  readonly added: number;
  readonly coverage: Coverage;
}

/** Rows whose results are written at once; bounds memory to so many conversations. */
const BATCH = 64;
/** Artifacts written at once: each waits for the disk. */
const WRITES = 8;
const MOST_PLANNED = 10_000;

/**
 * `refused` is the coverage of rows that cannot be imported (a key twice, or one that nobody expects): nothing was
 * written. Throws `UsageError` for rows that cannot be read, for no clean row, and for a name that holds something else.
 */
export async function importResults(
  places: ImportPlaces,
  request: ImportRequest,
): Promise<ImportReport | { readonly refused: Coverage }> {
  const id = campaignId('eval', request.name);
  const { summary, files, domains } = await readAll(request);
  const { coverage } = summary;
  if (coverage.duplicate.length + coverage.unexpected.length > 0) return { refused: coverage };
  if (summary.placed.every(({ outcome }) => outcome === 'system_error')) {
    const found = summary.rows === 0 ? 'no row' : `${summary.rows} rows, all lost to system errors`;
    throw new UsageError(request.files.join(', '), 'at least one clean row', found);
  }
  const config = configOf(request, files);
  await refuseOther(places.ledger, id, config);
  const { row } = await places.ledger.claimCampaign({
    id,
    kind: 'eval',
    config,
    fingerprint: fingerprint(config),
    suite: config.suite,
    suiteDigest: config.suiteDigest,
    parent: null,
  });
  const report = { campaign: id, files, rows: summary.rows, coverage };
  if (row.state !== 'running') return { ...report, added: 0 };
  await plan(places.ledger, id, request, domains);
  const added = await writeResults(places, id, request, files, domains);
  await end(places.ledger, id, config, coverage);
  return { ...report, added };
}

type Domains = ReadonlyMap<string, string>;

async function readAll(
  request: ImportRequest,
): Promise<{ summary: ResultsSummary; files: readonly ImportedFile[]; domains: Domains }> {
  const { taskIds, repeat, domainOf, otherEndingsAs } = request;
  const results = new ResultSet();
  const domains = new Map<string, string>();
  const files: ImportedFile[] = [];
  for (const file of request.files) {
    const facts = await forEachLine(file, (text, line) => {
      const { row } = readImportedRow(text, () => `${file}:${line}`, otherEndingsAs);
      results.add({ ...row, file, line });
      domains.set(row.taskId, domainOf(row.domain));
    });
    files.push({ name: basename(file), ...facts });
  }
  const plan = { taskIds, repeat, allowIncomplete: false, systemErrorsAsFailed: false, domainOf };
  return { summary: results.summary(plan), files, domains };
}

function configOf(request: ImportRequest, files: readonly ImportedFile[]): ImportedConfig {
  const { suite, taskIds, repeat, systemErrorsAsFailed, model, otherEndingsAs } = request;
  return {
    kind: 'eval',
    suite,
    // No revision of a suite is known here; the list of tasks is.
    suiteDigest: fingerprint(taskIds),
    tasks: taskIds,
    repeat,
    exhaustedAsFailed: systemErrorsAsFailed,
    model: { kind: 'imported', name: model, files },
    ...(otherEndingsAs === null ? {} : { otherEndingsAs }),
  };
}

async function refuseOther(ledger: Ledger, id: string, config: ImportedConfig): Promise<void> {
  const known = await ledger.campaign(id);
  if (!known || known.fingerprint === fingerprint(config)) return;
  const held = importedModel(known.config);
  const names = (files: readonly ImportedFile[]): string =>
    files.map(({ name, sha256 }) => `${name} (${sha256.slice(0, 12)})`).join(', ');
  const same = held !== null && names(held.files) === names(config.model.files);
  // Other settings on the same files are told path by path by the claim itself.
  if (same) return;
  throw new UsageError(
    id,
    held ? `the rows that it holds already: ${names(held.files)}` : 'a name that no evaluation has',
    held ? `other rows: ${names(config.model.files)}` : 'an evaluation that ran here',
    'Import under another name.',
  );
}

async function plan(ledger: Ledger, id: string, request: ImportRequest, domains: Domains): Promise<void> {
  const planned = request.taskIds.flatMap((taskId) =>
    Array.from({ length: request.repeat }, (_, repetition): PlannedAttempt => {
      const slot = String(repetition);
      const domain = domains.get(taskId) ?? 'none';
      return { key: attemptKey(id, taskId, slot), taskId, slot, domain, template: taskId, seed: 'none' };
    }),
  );
  for (let from = 0; from < planned.length; from += MOST_PLANNED) {
    await ledger.planAttempts(id, planned.slice(from, from + MOST_PLANNED));
  }
}

async function writeResults(
  { pool, ledger, artifacts }: ImportPlaces,
  id: string,
  request: ImportRequest,
  files: readonly ImportedFile[],
  domains: Domains,
): Promise<number> {
  const missing = new Set((await ledger.missingKeys(id)).map(({ key }) => key));
  let added = 0;
  let batch: (() => Promise<ImportedAttempt>)[] = [];
  const flush = async (): Promise<void> => {
    const attempts = await inTurn(batch, WRITES);
    batch = [];
    if (attempts.length > 0) added += await importAttempts(pool, id, attempts);
  };
  for (const [index, file] of request.files.entries()) {
    const { name, sha256 } = files[index] as ImportedFile;
    const facts = await forEachLine(file, (text, line) => {
      const read = readImportedRow(text, () => `${file}:${line}`, request.otherEndingsAs);
      const key = keyOf(id, read.row);
      if (!missing.has(key)) return;
      batch.push(async () => {
        const domain = domains.get(read.row.taskId) ?? 'none';
        const bytes = importedDocument(key, domain, read, { file: name, line, sha256 });
        return attemptOf(key, `import ${name}:${line}`, read, await artifacts.put(bytes));
      });
      return batch.length >= BATCH ? flush() : undefined;
    });
    if (facts.sha256 !== sha256) {
      throw new UsageError(file, `the bytes that were read at first (${sha256.slice(0, 12)})`, 'others');
    }
  }
  await flush();
  return added;
}

function attemptOf(key: string, source: string, read: ImportedRow, trajectory: string): ImportedAttempt {
  const { row, verdict, termination, fault, turns, effects } = read;
  const { seconds, toolCalls, toolErrors } = row;
  const common = {
    key,
    source,
    wallMs: seconds === null ? null : seconds * 1000,
    usage: usageOfRow(read),
    trajectory,
  };
  if (fault) return { ...common, fault };
  if (!verdict || !termination) throw new TypeError(`import ${key}: neither a verdict nor a fault`);
  const effectsDigest = fingerprint(effects);
  return { ...common, clean: { verdict, termination, effectsDigest, turns, toolCalls, toolErrors } };
}

/** Keys without a row stay pending: the campaign is then stopped, not done, and no score of it is shown. */
async function end(ledger: Ledger, id: string, config: ImportedConfig, coverage: Coverage): Promise<void> {
  const summary = await summarise(ledger, id, config);
  const absent = coverage.missing.length;
  const cause =
    absent === 0 ? {} : { cause: `the imported rows lack ${absent} of ${coverage.expected} keys` };
  await ledger.setCampaignState(id, absent === 0 ? 'done' : 'stopped', { ...summary, ...cause });
}

function keyOf(id: string, { taskId, repetition }: ResultRow): string {
  return attemptKey(id, taskId, String(repetition));
}

/** Runs the jobs, so many at once; results in the order of the jobs. */
async function inTurn<T>(jobs: readonly (() => Promise<T>)[], atOnce: number): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < jobs.length) {
      const index = next++;
      results[index] = await (jobs[index] as () => Promise<T>)();
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, jobs.length) }, worker));
  return results;
}

/**
 * A report's data from the ledger and the artifacts. Reads only; any state of a campaign gives a report.
 *
 *   pipeline → probe, base evaluation, training, final evaluation
 *   train    → the run        probe → the probe        eval → the evaluation
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AttemptsConfig, CampaignConfig, PipelineConfig, TrainConfig } from '../../../core/campaign.js';
import { UsageError } from '../../../core/faults.js';
import type { AttemptRow, CampaignRow, Ledger } from '../../../core/ledger.js';
import type { PriceTable } from '../../../core/prices.js';
import type { IntegrityReport, PriceReport, ReportData, RunReport } from '../../../core/report-data.js';
import { importedModel } from '../../../core/results/imported.js';
import { type CampaignStage, stageCampaignId } from '../../../core/stage-configs.js';
import { flatConfig, modelOf } from './config.js';
import { evaluationReport, pairedReport, priceReport } from './evaluation.js';
import { attemptInvariants, restoreInvariants, runInvariant, sandboxInvariant } from './integrity.js';
import { parityInvariants } from './parity.js';
import { keptSelection, probeReport } from './probe.js';
import { type Campaign, causeOf, type ReportSources, readCampaign } from './source.js';
import { collectStories, type StorySide } from './stories.js';
import { lineageOf, type RunRows, trainingReport } from './training.js';

/** The campaigns that one report is about; any of them may not exist yet. */
interface Parts {
  readonly probe: Campaign<AttemptsConfig> | null;
  readonly before: Campaign<AttemptsConfig> | null;
  readonly train: Campaign<TrainConfig> | null;
  readonly after: Campaign<AttemptsConfig> | null;
}

const NOTHING: Parts = { probe: null, before: null, train: null, after: null };

/** Throws `UsageError` for a campaign that the ledger does not know, `Fault('ledger')` when it does not answer. */
export async function collectReport(sources: ReportSources, campaign: string): Promise<ReportData> {
  const { ledger, artifacts } = sources;
  const claimed = await ledger.campaign(campaign);
  if (!claimed)
    throw new UsageError(
      'campaign',
      'the id of a campaign in the ledger, e.g. pipeline/demo',
      `"${campaign}"`,
    );
  const config = claimed.config as CampaignConfig;
  const parts = await readParts(ledger, claimed, config);
  const row = finished(claimed, parts);
  const warnings: string[] = [];
  const run = parts.train && (await runRows(ledger, parts.train.row.id));
  const trained = await trainedTemplates(ledger, parts);
  const table = sources.prices === undefined ? await configuredPrices(ledger, row, config) : sources.prices;
  const prices = pricesOf(table, modelOf((parts.after ?? parts.before)?.config ?? config), warnings);

  const read = async (part: Campaign<AttemptsConfig> | null, label: string) =>
    part &&
    evaluationReport(part, label, {
      trainedTemplates: trained,
      price: prices,
      tools: (await ledger.toolUse?.(part.row.id)) ?? null,
      allowIncomplete: sources.allowIncomplete ?? false,
    });
  const before = await read(parts.before, 'before');
  const after = await read(parts.after, config.kind === 'eval' ? 'evaluation' : 'after');
  const unpaid = [before, after].filter((each) => each?.scores && each.price && !each.cost);
  for (const each of unpaid) {
    warnings.push(`No cost of ${each?.id} is shown: some of its rows have no token counts.`);
  }
  const selection = config.kind === 'pipeline' ? config.selection : null;
  const lineage = run ? lineageOf(run) : { lineage: [], updatesApplied: 0, updatesSkipped: 0 };
  const campaigns = Object.values(parts).filter((part): part is Campaign => part !== null);
  const side = (part: Campaign | null, scored: boolean): StorySide | null =>
    part && { attempts: part.attempts, scored };
  // Without an evaluation, what was trained on or probed is all there is to read.
  const shown =
    side(parts.after, after?.scores != null) ??
    side(parts.before ? null : (parts.train ?? parts.probe), false);
  return {
    format: 1,
    run: runReport(sources, row, config, run, lineage.lineage),
    probe: parts.probe && probeReport(parts.probe, keptSelection(row.result), selection, warnings),
    training: parts.train && run && trainingReport(parts.train, run),
    before,
    after,
    paired: pairedReport(before, after, warnings),
    prices,
    integrity: {
      invariants: [
        ...(campaigns.length > 0 ? attemptInvariants(campaigns) : []),
        ...(await sandboxInvariants(sources, row)),
        ...parityInvariants(campaigns),
        ...(parts.train && run && run.steps.length > 0
          ? [
              runInvariant(parts.train.row.id, run, lineage.updatesApplied),
              ...restoreInvariants(run.restores),
            ]
          : []),
      ],
      faults: (await ledger.faultCounts?.(campaign)) ?? [],
      wasted: await wastedTokens(sources, campaign),
      ...lineage,
    },
    stories: await collectStories(artifacts, side(parts.before, before?.scores != null), shown, warnings),
    reproduce: sources.reproduce ?? [`npx steadfast report ${campaign}`, 'npx steadfast verify ledger'],
    warnings,
  };
}

async function readParts(ledger: Ledger, row: CampaignRow, config: CampaignConfig): Promise<Parts> {
  const stage = <C extends CampaignConfig>(name: CampaignStage): Promise<Campaign<C> | null> =>
    readCampaign<C>(ledger, stageCampaignId(row.id, name));
  switch (config.kind) {
    case 'pipeline':
      return {
        probe: await stage<AttemptsConfig>('probe'),
        before: await stage<AttemptsConfig>('evaluate-base'),
        train: await stage<TrainConfig>('train'),
        after: await stage<AttemptsConfig>('evaluate-final'),
      };
    case 'train':
      return { ...NOTHING, train: await readCampaign<TrainConfig>(ledger, row.id) };
    case 'probe':
      return { ...NOTHING, probe: await readCampaign<AttemptsConfig>(ledger, row.id) };
    case 'eval':
      return { ...NOTHING, after: await readCampaign<AttemptsConfig>(ledger, row.id) };
  }
}

async function runRows(ledger: Ledger, run: string): Promise<RunRows> {
  return {
    steps: await ledger.steps(run),
    operations: await ledger.operations(run),
    checkpoints: await ledger.checkpoints(run),
    restores: await ledger.restores(run),
  };
}

/** Templates of the training pool, by the rows of probe and training; null where nothing was trained. */
async function trainedTemplates(ledger: Ledger, parts: Parts): Promise<ReadonlySet<string> | null> {
  const model = parts.after?.config.model;
  const ours = model?.kind === 'trainer' || model?.kind === 'served';
  const from = ours && model.checkpoint !== 'base' ? model.checkpoint.run : null;
  const train = parts.train ?? (from === null ? null : await readCampaign<TrainConfig>(ledger, from));
  if (!train) return null;
  const pool = new Set(train.config.tasks);
  const rows: readonly AttemptRow[] = [...train.attempts, ...(parts.probe?.attempts ?? [])];
  const templates = rows.filter((row) => pool.has(row.taskId)).map((row) => row.template);
  return templates.length > 0 ? new Set(templates) : null;
}

async function configuredPrices(
  ledger: Ledger,
  row: CampaignRow,
  config: CampaignConfig,
): Promise<PriceTable | null> {
  if (config.kind === 'pipeline') return config.prices ?? null;
  const parent = row.parent === null ? undefined : await ledger.campaign(row.parent);
  return (parent?.config as Partial<PipelineConfig> | undefined)?.prices ?? null;
}

/** A table without the model is said once; the report then counts tokens. */
function pricesOf(table: PriceTable | null, model: string, warnings: string[]): PriceReport | null {
  try {
    return priceReport(table, model);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    warnings.push(`No cost is shown: ${error.message}`);
    return null;
  }
}

/** A pipeline writes its report as its last act: with its final evaluation done, nothing else is left of it. */
function finished(row: CampaignRow, { after }: Parts): CampaignRow {
  if (row.kind !== 'pipeline' || row.state !== 'running' || after?.row.state !== 'done') return row;
  return { ...row, state: 'done', endedAt: after.row.endedAt };
}

async function wastedTokens({ ledger }: ReportSources, campaign: string): Promise<IntegrityReport['wasted']> {
  if (!ledger.usage) return null;
  const { wasted, wastedTries } = await ledger.usage(campaign);
  return { tries: wastedTries, tokens: wasted.policyPromptTokens + wasted.policySampledTokens };
}

async function sandboxInvariants({ ledger }: ReportSources, row: CampaignRow) {
  if (!ledger.sandboxCounts) return [];
  const counts = await ledger.sandboxCounts(row.id);
  return [sandboxInvariant(counts, row.state === 'done')];
}

function runReport(
  sources: ReportSources,
  row: CampaignRow,
  config: CampaignConfig,
  run: RunRows | null,
  lineage: readonly { readonly digest: string }[],
): RunReport {
  const build = run?.checkpoints[0]?.manifest.trainerBuild;
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    cause: causeOf(row),
    suite: row.suite,
    suiteDigest: row.suiteDigest,
    fingerprint: row.fingerprint,
    model: build ?? modelOf(config),
    seeds: importedModel(config) ? {} : { run: config.seed },
    baseDigest: lineage[0]?.digest ?? null,
    finalDigest: lineage.length > 1 ? (lineage.at(-1)?.digest ?? null) : null,
    programVersion: sources.programVersion ?? ownVersion(),
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    generatedAt: (sources.now?.() ?? new Date()).toISOString(),
    config: flatConfig(config as PipelineConfig),
  };
}

/** Version in the nearest package.json above this file, which is the program's own wherever it is built to. */
export function ownVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file))
      return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version ?? 'unknown';
    if (dirname(folder) === folder) return 'unknown';
  }
}

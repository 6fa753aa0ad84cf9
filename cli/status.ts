/** `steadfast status`: where campaigns stand, from the ledger; what they wait for, from Temporal. */
import type { Command } from 'commander';
import pc from 'picocolors';
import type { CampaignRow } from '../core/ledger.js';
import { type StackContext, withStack } from './context.js';
import { onInterrupt } from './interrupts.js';
import { print, printJson } from './output.js';
import { resolveCampaign } from './run/find.js';
import { goOnLines } from './run/go-on-text.js';
import { type InFlight, inFlight, inFlightText } from './run/in-flight.js';
import { type Lanes, lanesOf } from './run/lanes.js';
import { causeOf, pipelineLine, stageOf } from './run/pipeline-line.js';
import { progressLine } from './run/progress.js';
import { restoreText, troubledRestores } from './run/restores.js';
import { servingTexts } from './run/servings.js';
import { type CampaignSnapshot, snapshot } from './run/snapshot.js';
import { exitCodeOf, workflowUrl } from './run/stage.js';
import { pendingOf, troublesAmong, troubleText, withoutWorkflow } from './run/troubles.js';
import { waitingTexts } from './run/waiting.js';
import { watch } from './run/watch.js';

interface StatusOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('Counts, rate, time left and system errors of one campaign, or of all.')
    .argument('[campaign]', 'e.g. train/run-1; all when absent')
    .option('--watch', 'until it ends; Ctrl-C stops watching only')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExamples:\n  $ steadfast status\n  $ steadfast status train/run-1 --watch\n')
    .action((name: string | undefined, options: StatusOptions) =>
      withStack((context) =>
        name === undefined ? everything(context, options) : one(context, name, options),
      ),
    );
}

/** Pipelines with their stages, then the rest; the newest first. */
async function everything(context: StackContext, options: StatusOptions): Promise<void> {
  const ledger = await context.ledger();
  const rows = await ledger.campaigns();
  const pipelines = new Set(rows.filter(({ kind }) => kind === 'pipeline').map(({ id }) => id));
  const first = rows.filter(({ parent }) => parent === null || !pipelines.has(parent));
  const seen = (await Promise.all(first.map(({ id }) => snapshot(ledger, id)))).filter(
    (one) => one !== undefined,
  );
  const { troubles } = await askTemporal(context, seen);
  const lanes = await lanesOf(
    context,
    seen.flatMap((one) => one.campaigns),
  );
  const providers = await (await context.rates()).list();
  if (options.json) {
    printJson({ campaigns: seen.flatMap((one) => documentsOf(one, lanes)), troubles, providers });
  } else {
    const waits = waitingTexts(providers).map(warning);
    const lines = [...seen.flatMap((one) => linesOf(one, lanes)), ...waits, ...troubles.map(warning)];
    print(lines.length === 0 ? 'no campaigns yet' : lines.join('\n'));
  }
}

async function one(context: StackContext, name: string, options: StatusOptions): Promise<void> {
  const ledger = await context.ledger();
  const { id } = await resolveCampaign(ledger, name);
  if (options.watch) return follow(context, id, options);
  const seen = (await snapshot(ledger, id))!;
  const { troubles, playing } = await askTemporal(context, [seen]);
  const restores = await troubledRestores(ledger, idsOf(seen));
  const lanes = await lanesOf(context, seen.campaigns);
  const providers = await (await context.rates()).list();
  if (options.json) {
    const campaigns = seen.campaigns.map((campaign) => withLanes(campaign, lanes));
    printJson({
      ...documentsOf(seen, lanes)[0],
      campaigns,
      inFlight: playing,
      troubles,
      restores,
      providers,
    });
  } else {
    const waits = [
      ...waitingTexts(providers),
      ...(await servingTexts(await context.servings(), idsOf(seen))),
    ];
    const restored = restores.map(restoreText);
    const warnings = [...waits, ...troubles, ...restored].map(warning);
    const episodes = playing && inFlightText(playing);
    const lines = [...linesOf(seen, lanes), ...(episodes ? [episodes] : []), ...warnings];
    const rest = atRest(seen);
    const ways = rest ? await goOnLines(ledger, rest) : [];
    print([...lines, ...ways, `Temporal: ${workflowUrl(context, id)}`].join('\n'));
  }
}

async function follow(context: StackContext, id: string, { json }: StatusOptions): Promise<void> {
  const controller = new AbortController();
  const restore = onInterrupt(
    () => controller.abort(),
    () => process.exit(),
  );
  const row = await watch(context, id, { signal: controller.signal, show: true, throughPauses: true });
  restore();
  if (row) process.exitCode = exitCodeOf(row);
  if (json) {
    const now = row ?? (await (await context.ledger()).campaign(id))!;
    printJson({ id, kind: now.kind, state: now.state, cause: causeOf(now), result: now.result });
  }
}

type Seen = NonNullable<Awaited<ReturnType<typeof snapshot>>>;

const idsOf = ({ row, campaigns }: Seen): string[] => [
  ...new Set([row.id, ...campaigns.map((campaign) => campaign.id)]),
];

function linesOf(seen: Seen, lanes: Lanes): string[] {
  const stages = seen.campaigns.map((campaign) => progressLine(campaign, lanes.get(campaign.id)));
  return seen.row.kind === 'pipeline' ? [pipelineLine(seen), ...stages.map((line) => `  ${line}`)] : stages;
}

/** The campaign itself first; a pipeline has no counts of its own, so it says its stage. */
function documentsOf(seen: Seen, lanes: Lanes): object[] {
  const { id, kind, state } = seen.row;
  const campaigns = seen.campaigns.map((campaign) => withLanes(campaign, lanes));
  if (kind !== 'pipeline') return campaigns;
  return [{ id, kind, state, cause: causeOf(seen.row), stage: stageOf(seen) ?? null }, ...campaigns];
}

/** Null: nothing of it runs, or its workflow does not answer. */
function withLanes(campaign: CampaignSnapshot, lanes: Lanes): object {
  return { ...campaign, lanes: lanes.get(campaign.id) ?? null };
}

/** The row of a campaign that does nothing more by itself and is not at its end; of a pipeline, as its stage waits. */
function atRest({ row, campaigns }: Seen): CampaignRow | undefined {
  if (row.state === 'done') return undefined;
  const stuck = campaigns.find(({ state }) => state === 'paused');
  if (stuck) return { ...row, state: 'paused', result: { cause: stuck.cause } };
  return row.state === 'running' ? undefined : row;
}

/** What Temporal knows of campaigns that run. `playing`: null when nothing runs, or Temporal does not answer. */
interface Now {
  readonly troubles: readonly string[];
  readonly playing: InFlight | null;
}

/** The ledger answers whatever else is down, so a Temporal that does not is one line, not the end. */
async function askTemporal(context: StackContext, seen: readonly Seen[]): Promise<Now> {
  const open = seen.filter(({ row }) => row.state === 'running' || row.state === 'paused');
  const running = seen.filter(({ row }) => row.state === 'running');
  if (open.length === 0) return { troubles: [], playing: null };
  try {
    const client = await context.temporal();
    const gone = await withoutWorkflow(
      client,
      open.map(({ row }) => row.id),
    );
    const pending = running.length === 0 ? null : await pendingOf(client, running.flatMap(idsOf));
    const troubles = [
      ...gone.map((id) => `no workflow runs ${id}. Start it again with: steadfast unpause ${id}`),
      ...troublesAmong(pending ?? []).map(troubleText),
    ];
    return { troubles, playing: pending && inFlight(pending) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { troubles: [`Temporal does not answer: ${reason}`], playing: null };
  }
}

const warning = (trouble: string): string => pc.yellow(`! ${trouble}`);

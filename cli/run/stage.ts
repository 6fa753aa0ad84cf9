/** Running one campaign from the command line: claim, start or attach, watch, and say how it ended. */
import pc from 'picocolors';
import type { CampaignConfig } from '../../core/campaign.js';
import { campaignId } from '../../core/keys.js';
import type { CampaignRow } from '../../core/ledger.js';
import { openStack, type StackContext, withStack } from '../context.js';
import { EXIT } from '../exit.js';
import { onInterrupt } from '../interrupts.js';
import { print, printJson, say } from '../output.js';
import { endText } from './ending.js';
import { type Launched, launch } from './launch.js';
import type { RunOptions } from './options.js';
import { watch } from './watch.js';

/** Starts or goes on with the campaign; sets the exit code by how it ended. */
export async function runCampaign(name: string, config: CampaignConfig, options: RunOptions): Promise<void> {
  if (options.dryRun) return dryRun(name, config, options.json ?? false);
  await withStack(async (context) => {
    const launched = await launch(context, name, config, options.lanes);
    sayLaunched(context, launched);
    if (launched.how === 'finished') return finish(context, launched.row, options.json ?? false);
    if (options.detach) {
      if (options.json) printJson({ id: launched.id, state: 'running', how: launched.how });
      say(`It goes on in the workers. See it with: steadfast status ${launched.id}`);
      return;
    }
    const row = await watchUntilInterrupted(context, launched.id);
    if (row) await finish(context, row, options.json ?? false);
    else sayDetached(launched.id);
  });
}

/** The row when the campaign ended; undefined when the person pressed Ctrl-C. */
async function watchUntilInterrupted(context: StackContext, id: string): Promise<CampaignRow | undefined> {
  const controller = new AbortController();
  const restore = onInterrupt(
    () => controller.abort(),
    () => process.exit(EXIT.interrupted),
  );
  try {
    return await watch(context, id, { signal: controller.signal, show: true });
  } finally {
    restore();
  }
}

function sayLaunched(context: StackContext, { id, how }: Launched): void {
  const words = {
    started: `${id} started.`,
    resumed: `${id} goes on where its committed rows end.`,
    attached: `${id} runs already; watching it.`,
    finished: `${id} is finished already.`,
  };
  say(pc.bold(words[how]));
  if (context.info.temporal.ui && how !== 'finished') {
    say(pc.dim(`Temporal: ${workflowUrl(context, id)}`));
  }
}

export function workflowUrl({ info }: StackContext, id: string): string {
  return `${info.temporal.ui}/namespaces/${info.temporal.namespace}/workflows/${encodeURIComponent(id)}`;
}

function sayDetached(id: string): void {
  say(`Detached: ${id} goes on in the workers.`);
  say(`  see it    steadfast status ${id} --watch`);
  say(`  stop it   steadfast stop ${id}`);
  process.exitCode = EXIT.interrupted;
}

async function finish(context: StackContext, row: CampaignRow, json: boolean): Promise<void> {
  if (json) printJson({ id: row.id, kind: row.kind, state: row.state, result: row.result });
  else print(await endText(await context.ledger(), row));
  process.exitCode = exitCodeOf(row);
}

export function exitCodeOf(row: Pick<CampaignRow, 'state' | 'result'>): number {
  if (row.state !== 'done') return EXIT.failed;
  const result = row.result as { complete?: boolean } | null;
  return result?.complete === false ? EXIT.incomplete : EXIT.ok;
}

/** Everything resolved and checked; nothing started. With a running stack, a name in use is checked too. */
async function dryRun(name: string, config: CampaignConfig, json: boolean): Promise<void> {
  const id = campaignId(config.kind, name);
  const known = await knownCampaign(id);
  if (json) printJson({ id, config, known: known?.state ?? null });
  else {
    print(JSON.stringify(config, shortLists, 2));
    say(known ? `${id} exists and is ${known.state}.` : `${id} would be started. Nothing was.`);
  }
}

async function knownCampaign(id: string): Promise<CampaignRow | undefined> {
  const { readStack } = await import('../../infra/stack/info.js');
  const info = readStack();
  if (!info) return undefined;
  const context = openStack(info);
  try {
    return await (await context.ledger()).campaign(id);
  } finally {
    await context.close();
  }
}

/** Long lists of task ids are shown by their ends. */
function shortLists(_key: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length <= 6) return value;
  return [...value.slice(0, 3), `… ${value.length - 4} more`, value.at(-1)];
}

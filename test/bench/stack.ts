/** A real stack of a benchmark's own, in a temporary home, and the CPU time of its services. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { killStack, stopStack } from '../../infra/stack/stop.js';
import { rounded } from './figure.js';
import { readProcesses, treeSeconds } from './process-times.js';

/** CPU-seconds by service, each with all its child processes; `supervisor` is it alone. */
export type ServiceSeconds = Readonly<Record<string, number>>;

// The database is one of the figures, so it is the stack's own.
delete process.env.DATABASE_URL;

export function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'steadfast-bench-'));
}

/** Ends the stack of the home and removes it. */
export async function discardHome(home: string): Promise<void> {
  await stopStack({ home });
  rmSync(home, { recursive: true, force: true });
}

export async function withStack<T>(work: (context: StackContext) => Promise<T>): Promise<T> {
  const home = temporaryHome();
  // Neither an interruption nor an error that nobody catches may leave a stack behind.
  const end = (): void => void discardHome(home).finally(() => process.exit(130));
  const kill = (): void => killStack({ home });
  process.once('SIGINT', end).once('SIGTERM', end).once('exit', kill);
  try {
    const context = openStack(await startStack({ home }));
    try {
      return await work(context);
    } finally {
      await context.close();
    }
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end).off('exit', kill);
    await discardHome(home);
  }
}

/** Starts the campaign and waits for its workflow. Throws when the campaign does not end as `done`. */
export async function runToEnd(context: StackContext, name: string, config: CampaignConfig, lanes: number) {
  const { id } = await launch(context, name, config, lanes);
  const temporal = await context.temporal();
  await temporal.workflow.getHandle(id).result();
  const row = await (await context.ledger()).campaign(id);
  if (row?.state !== 'done') throw new Error(`${id} ended as ${row?.state}: ${JSON.stringify(row?.result)}`);
  return row;
}

/** What the services of a stack have used so far. */
export function serviceSeconds(home: string): ServiceSeconds {
  const state = readState(home);
  if (!state) throw new Error(`no stack in ${home}`);
  const table = readProcesses();
  const seconds: Record<string, number> = { supervisor: table.get(state.supervisor.pid)?.seconds ?? 0 };
  for (const { name, pid } of state.processes) seconds[name] = treeSeconds(pid, table);
  return seconds;
}

/** By service, what was used between the two. */
export function spent(before: ServiceSeconds, after: ServiceSeconds): ServiceSeconds {
  return Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [name, rounded(seconds - (before[name] ?? 0))]),
  );
}

/** Sum over the services that `counts` accepts. */
export function total(seconds: ServiceSeconds, counts: (name: string) => boolean = () => true): number {
  return Object.entries(seconds).reduce((sum, [name, value]) => sum + (counts(name) ? value : 0), 0);
}

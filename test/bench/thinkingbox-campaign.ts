/**
 * A whole benchmark evaluation through the stack with the scripted policy, its sandbox workers killed twice on the way.
 * Prints one JSON document: coverage, keys, histories, CPU time. Run again with the same home, it goes on.
 *
 *   node dist/test/bench/thinkingbox-campaign.js HOME [REPEAT [LANES]]      507 × REPEAT (20) attempts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { openStack } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { UsageError } from '../../core/faults.js';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { stopStack } from '../../infra/stack/stop.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { EPISODE_LIMITS, MAX_TRIES, SAMPLING } from '../../temporal.config.js';
import { startAgreeing } from './agreeing.js';
import { load } from './machine.js';
import { memoryOf, readProcesses, treeOf, treeSeconds } from './process-times.js';

export interface CampaignReport {
  readonly state: string | undefined;
  readonly attempts: number;
  readonly clean: number;
  /** Different keys among the clean ones. */
  readonly distinct: number;
  readonly passed: number;
  readonly exhausted: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly killed: number;
  readonly sandboxes: object;
  readonly mostEvents: number;
  /** Of the whole stack, this process included. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** Of all sandbox workers with what they had started, at most. */
  readonly peakBytes: number;
}

const [home, repeatText = '20', lanesText = '16'] = process.argv.slice(2);
if (!home) throw new UsageError('thinkingbox-campaign', 'the folder of its stack', 'nothing');
const repeat = Number(repeatText);
const LOOK_EVERY_MS = 5_000;
/** Shares of the attempts at which a sandbox worker is killed. */
const KILLS = [1 / 3, 2 / 3];

const agreeing = await startAgreeing();
Object.assign(process.env, agreeing.environment);
const suite = await openThinkingBox({ ...process.env, STEADFAST_HOME: home });
const tasks = (await suite.tasks()).map(({ id }) => id);
const context = openStack(await startStack({ home, workers: { sandbox: 2 } }));
const started = performance.now();
const used = new Map<number, number>();
let peakBytes = 0;
let killed = 0;
try {
  const ledger = await context.ledger();
  const { id } = await launch(
    context,
    'all',
    {
      kind: 'eval',
      suite: suite.name,
      suiteDigest: suite.digest,
      tasks,
      seed: 42,
      sampling: SAMPLING,
      limits: EPISODE_LIMITS,
      maxTries: MAX_TRIES,
      model: { kind: 'scripted', errorRate: 0, turnDelayMs: 0 },
      repeat,
      exhaustedAsFailed: false,
      ...(suite.notComparable ? { notComparable: suite.notComparable } : {}),
    },
    Number(lanesText),
  );
  const all = tasks.length * repeat;
  for (let turn = 0; ; turn += 1) {
    look();
    const { clean, exhausted, faults } = await ledger.counts(id);
    const wallSeconds = Math.round((performance.now() - started) / 1_000);
    if (turn % 12 === 0)
      process.stderr.write(
        `${new Date().toISOString()} ${clean} of ${all} clean, ${exhausted} exhausted, faults ${JSON.stringify(faults)}, ${wallSeconds} s, ${cpuSeconds()} CPU-s, load ${load().join(' ')}\n`,
      );
    const share = KILLS[killed];
    if (share !== undefined && clean >= share * all) kill();
    const { state } = (await ledger.campaign(id)) ?? { state: 'running' };
    if (state !== 'running') break;
    await sleep(LOOK_EVERY_MS);
  }
  const rows = await ledger.attempts(id);
  const clean = rows.filter(({ state }) => state === 'clean');
  const counts = await ledger.counts(id);
  process.stdout.write(
    `${JSON.stringify({
      state: (await ledger.campaign(id))?.state,
      attempts: all,
      clean: clean.length,
      distinct: new Set(clean.map(({ key }) => key)).size,
      passed: counts.passed,
      exhausted: counts.exhausted,
      faults: counts.faults,
      killed,
      sandboxes: await ledger.sandboxCounts(id),
      mostEvents: await mostEvents(await context.temporal(), id),
      cpuSeconds: cpuSeconds(),
      wallSeconds: Math.round((performance.now() - started) / 1_000),
      peakBytes,
    } satisfies CampaignReport)}\n`,
  );
} finally {
  await context.close();
  await stopStack({ home });
  await suite.close();
  agreeing.close();
}

/** CPU time by process, so that those of killed workers are not lost; and memory of all workers together. */
function look(): void {
  const table = readProcesses();
  const state = readState(home);
  const roots = [state?.supervisor.pid, process.pid].filter((pid) => pid !== undefined);
  for (const root of roots) used.set(root, treeSeconds(root, table));
  const workers = (state?.processes ?? []).filter(({ name }) => name.startsWith('worker-sandbox'));
  const bytes = workers
    .flatMap(({ pid }) => treeOf(pid, table))
    .reduce((sum, pid) => sum + memoryOf(pid).bytes, 0);
  peakBytes = Math.max(peakBytes, bytes);
}

function cpuSeconds(): number {
  return Math.round([...used.values()].reduce((sum, seconds) => sum + seconds, 0));
}

function kill(): void {
  const worker = readState(home)?.processes.find(({ name }) => name.startsWith('worker-sandbox'));
  if (!worker) return;
  // What a killed worker had started is nobody's child any more: its time is noted now.
  const table = readProcesses();
  for (const pid of treeOf(worker.pid, table)) {
    if (pid !== worker.pid) used.set(-pid, table.get(pid)?.seconds ?? 0);
  }
  process.kill(worker.pid, 'SIGKILL');
  killed += 1;
  process.stderr.write(`killed ${worker.name} (${worker.pid})\n`);
}

/** Events of the longest history of the campaign's workflows. */
async function mostEvents(client: Client, id: string): Promise<number> {
  let most = 0;
  for await (const { workflowId, historyLength } of client.workflow.list()) {
    if (workflowId.startsWith(id)) most = Math.max(most, historyLength ?? 0);
  }
  return most;
}

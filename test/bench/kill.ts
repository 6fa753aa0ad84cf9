/**
 * `kill`: what one `kill -9` of the sandbox worker throws away.
 *
 * An evaluation with slow scripted turns; when enough episodes have ended, the worker is killed with its lanes full.
 * The tries that run in the ledger at that moment are the episodes in flight; at the end of the campaign every try
 * that does not count must be one of them. Three kills.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { launch } from '../../cli/run/launch.js';
import { isAlive, signal } from '../../infra/setup/process.mjs';
import { readState } from '../../infra/stack/info.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { ERROR_RATE, LANES, scriptedConfig } from './scripted-config.js';
import { withStack } from './stack.js';

const RUNNING = "SELECT id FROM tries WHERE state = 'running'";
const NOT_COUNTED =
  "SELECT id, state, extract(epoch FROM ended_at - started_at)::float8 AS seconds FROM tries WHERE state <> 'clean'";
const ENDED = "SELECT count(*)::int AS ended FROM attempts WHERE state = 'clean'";

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const repeat = quick ? 4 : 12;
  const shares = quick ? [0.3] : [0.2, 0.45, 0.7];
  return withStack(async (context) => {
    const database = new pg.Client({ connectionString: context.info.databaseUrl });
    await database.connect();
    try {
      const config = await scriptedConfig(repeat, { errorRate: ERROR_RATE, turnDelayMs: 400 });
      const episodes = config.tasks.length * repeat;
      const { id } = await launch(context, 'killed', config, LANES);
      const inFlight: string[][] = [];
      for (const share of shares) {
        const wanted = Math.round(share * episodes);
        while ((await database.query<{ ended: number }>(ENDED)).rows[0]!.ended < wanted) await sleep(200);
        await killWorker(context.info.home);
        // The dead write nothing: what runs now ran at the kill.
        const running = (await database.query<{ id: string }>(RUNNING)).rows.map((row) => row.id);
        say(`  killed the sandbox worker with ${running.length} episodes in flight`);
        inFlight.push(running);
        // Until their heartbeats have run out and every lane is at work again, a second kill would hit fewer.
        await untilBusy(database, new Set(running));
      }
      const temporal = await context.temporal();
      await temporal.workflow.getHandle(id).result();
      const wasted = (await database.query<{ id: string; state: string; seconds: number }>(NOT_COUNTED)).rows;
      const flying = new Set(inFlight.flat());
      const others = wasted.filter((row) => !flying.has(row.id));
      const { clean, planned } = await (await context.ledger()).counts(id);
      return [
        {
          figure: 'tries that did not count after kills of the sandbox worker, beyond those in flight',
          bar: '0: only the episodes in flight',
          target: null,
          measured: others.length,
          unit: 'tries',
          holds: others.length === 0 && wasted.length > 0 && clean === planned,
          details: {
            kills: shares.length,
            planned,
            clean,
            inFlightAtEachKill: inFlight.map((running) => running.length),
            notCounted: wasted.length,
            states: countBy(wasted.map((row) => row.state)),
            meanSecondsUntilClosed: rounded(
              wasted.reduce((sum, row) => sum + row.seconds, 0) / Math.max(1, wasted.length),
              1,
            ),
            others: others.slice(0, 5),
          },
        },
      ];
    } finally {
      await database.end();
    }
  });
}

/** `kill -9` of the sandbox worker of the stack in this home; done when it is gone. Throws when there is none. */
export async function killWorker(home: string): Promise<void> {
  const worker = readState(home)?.processes.find(({ name }) => name === 'worker-sandbox');
  if (!worker || !signal(worker, 'SIGKILL')) throw new Error('expected a living sandbox worker, found none');
  while (isAlive(worker)) await sleep(10);
}

/** Until none of the killed tries is open and others run. */
async function untilBusy(database: pg.Client, killed: ReadonlySet<string>): Promise<void> {
  for (;;) {
    await sleep(500);
    const running = (await database.query<{ id: string }>(RUNNING)).rows;
    if (running.length > 0 && !running.some((row) => killed.has(row.id))) return;
  }
}

function countBy(values: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

export const killBench: Bench = {
  name: 'kill',
  about: '576 slow scripted episodes, the sandbox worker killed three times, about 2 minutes',
  run,
};

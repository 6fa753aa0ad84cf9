/**
 * Kill every process once, the supervisor and everything at once too, while a small pipeline runs. Afterwards every
 * row that was ever seen committed is unchanged, no update was applied twice, and the ledger's promises hold.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createPool } from '../../activities/ledger/pool.js';
import { createPgLedger } from '../../activities/ledger/postgres.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { openStack } from '../../cli/context.js';
import { parityNote } from '../../core/parity.js';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { stopStack } from '../../infra/stack/stop.js';
import { discard, killHard, processesOf, temporaryHome } from '../setup/harness.js';
import { launchSmall, untilEnded } from './small-run.js';

const OBSERVATIONS = 20;
const VICTIMS = [
  'worker-sandbox',
  'trainer',
  'worker-gpu',
  'worker-pipeline',
  'temporal',
  'postgres',
  'supervisor',
  'everything',
];

let home = '';
let info: StackInfo;

beforeAll(async () => {
  home = temporaryHome();
  info = await startStack({ home });
});
afterAll(() => discard(home));

it('a run whose every process was killed ends like one that was left alone', async () => {
  const context = openStack(info);
  const id = await launchSmall(context, 'killed');
  await context.close();

  const seen = new Map<string, string>();
  let ended = false;
  const run = untilEnded(() => info, id, 240_000).finally(() => {
    ended = true;
  });
  for (const victim of VICTIMS) {
    await sleep(2_500);
    if (ended) break;
    await kill(victim);
    await observe(seen);
  }
  for (let count = 0; count < OBSERVATIONS && !ended; count++) {
    await sleep(500 + Math.random() * 1_000);
    await observe(seen);
  }
  expect(await run).toBe('done');

  const after = new Map<string, string>();
  await observe(after);
  expect(seen.size).toBeGreaterThan(0);
  for (const [key, row] of seen) expect([key, after.get(key)]).toEqual([key, row]);

  const pool = createPool(info.databaseUrl, { max: 2 });
  const ledger = createPgLedger(pool);
  try {
    const { violations } = await verifyLedger({
      pool,
      ledger,
      artifacts: createLocalArtifacts(info.artifacts),
    });
    expect(violations).toEqual([]);
    const operations = await ledger.operations('train/killed');
    expect(operations.map(({ step, state }) => `${step} ${state}`)).toEqual(['1 done', '2 done', '3 done']);
    expect((await ledger.campaigns({ parent: id })).map((row) => [row.id, row.counts.pending])).toEqual([
      ['eval/killed-final', 0],
      ['train/killed', 0],
      ['eval/killed-base', 0],
      ['probe/killed', 0],
    ]);
    for (const stage of await ledger.campaigns({ parent: id })) {
      const { result } = (await ledger.campaign(stage.id))!;
      expect([stage.id, parityNote(result)]).toEqual([
        stage.id,
        expect.objectContaining({ state: 'proven' }),
      ]);
    }
  } finally {
    await pool.end();
  }
  await stopStack({ home });
  expect(processesOf(home)).toEqual([]);
}, 300_000);

async function kill(victim: string): Promise<void> {
  const state = readState(home)!;
  if (victim === 'everything') {
    await Promise.all([state.supervisor, ...state.processes].map(killHard));
  } else if (victim === 'supervisor') {
    await killHard(state.supervisor);
  } else {
    await Promise.all(state.processes.filter(({ name }) => name.startsWith(victim)).map(killHard));
    return;
  }
  info = await startStack({ home });
}

/** Committed rows as they are now: key → reward and trajectory. Silent while the database is down. */
async function observe(into: Map<string, string>): Promise<void> {
  const client = new pg.Client({ connectionString: info.databaseUrl });
  try {
    await client.connect();
    const { rows } = await client.query<{ key: string; reward: number; trajectory: string }>(
      "SELECT a.key, a.reward, t.trajectory FROM attempts a JOIN tries t ON t.id = a.clean_try WHERE a.state = 'clean'",
    );
    for (const { key, reward, trajectory } of rows) into.set(key, `${reward} ${trajectory}`);
  } catch (error) {
    const { code } = error as { code?: string };
    if (!['ECONNREFUSED', 'ECONNRESET', '57P03', '57P01'].includes(code ?? '')) throw error;
  } finally {
    await client.end();
  }
}

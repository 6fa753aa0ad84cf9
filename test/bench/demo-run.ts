/** One run of `steadfast demo` on a home of its own, watched from outside; and what its two evaluations scored. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { AttemptsSummary } from '../../activities/campaign/summary.js';
import { openStack } from '../../cli/context.js';
import { stageCampaignId } from '../../core/stage-configs.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { readStack } from '../../infra/stack/info.js';
import { load } from './machine.js';
import { discardHome, temporaryHome } from './stack.js';
import { type Watched, watchStack } from './watcher.js';

export interface Scored {
  readonly tasks: number;
  readonly passAt1: number;
  readonly passAtK: number;
  /** Tasks passed on every attempt. */
  readonly dependable: number;
}

export interface DemoRun {
  /** From the command's start to its end, the stack's start included and its stop not. */
  readonly wallSeconds: number;
  readonly watched: Watched;
  readonly before: Scored;
  readonly after: Scored;
  /** Seconds from the first to the last row of each stage. */
  readonly stages: Readonly<Record<string, number>>;
}

/** Runs the demo to its end. Throws when it does not end well. */
export async function runDemo(args: readonly string[], say: (line: string) => void): Promise<DemoRun> {
  const home = temporaryHome();
  try {
    const from = performance.now();
    const child = spawn(
      process.execPath,
      [join(ROOT, 'cli', 'steadfast.mjs'), 'demo', '--name', 'bench', '--keep-up', '--json', ...args],
      { cwd: ROOT, env: { ...process.env, STEADFAST_HOME: home }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.trimEnd().split('\n')) say(`  ${line}`);
    });
    const interrupt = (): void => void child.kill('SIGTERM');
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
    const stop = watchStack(home, child.pid ?? 0, () => load()[0] ?? 0);
    const code = await new Promise<number | null>((done, fail) => {
      child.once('error', fail);
      child.once('exit', done);
    });
    const wallSeconds = (performance.now() - from) / 1_000;
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    // The command has ended and its stack is still up, so this last look sees all of it.
    const watched = stop();
    if (code !== 0) throw new Error(`steadfast demo ${args.join(' ')}: exit ${code}`);
    return { wallSeconds, watched, ...(await results(home)) };
  } finally {
    await discardHome(home);
  }
}

async function results(home: string): Promise<Pick<DemoRun, 'before' | 'after' | 'stages'>> {
  const info = readStack(home);
  if (!info) throw new Error(`the stack of ${home} has ended`);
  const context = openStack(info);
  try {
    const ledger = await context.ledger();
    const scored = async (stage: 'evaluate-base' | 'evaluate-final'): Promise<Scored> => {
      const row = await ledger.campaign(stageCampaignId('pipeline/bench', stage));
      const score = (row?.result as AttemptsSummary | undefined)?.score;
      if (!score) throw new Error(`${row?.id ?? stage}: expected a score, found incomplete coverage`);
      const { tasks, passAt1, passAtK, dependable } = score;
      return { tasks, passAt1: passAt1.value, passAtK: passAtK.value, dependable };
    };
    const stages: Record<string, number> = {};
    for (const { id, createdAt, endedAt } of await ledger.campaigns({ parent: 'pipeline/bench' })) {
      if (endedAt) stages[id] = Math.round((Date.parse(endedAt) - Date.parse(createdAt)) / 100) / 10;
    }
    return { before: await scored('evaluate-base'), after: await scored('evaluate-final'), stages };
  } finally {
    await context.close();
  }
}

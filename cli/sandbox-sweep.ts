/** `steadfast sandbox sweep`: what sandbox workers do every minute, once and by hand, for a host that has none now. */
import { homeFolder } from '../infra/setup/root.mjs';
import { readStack } from '../infra/stack/info.js';
import type { Swept } from '../workers/sweep.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { workersEnvironment } from './run/local-workers.js';
import { sweepOnce } from './run/sweep-once.js';

export async function sweep({ json }: { json?: true }): Promise<void> {
  const swept = await sweepHere();
  if (json) printJson(swept);
  else {
    print([`ended ${swept.reaped.length} sandboxes that were left behind`, ...swept.reaped].join('\n  '));
    for (const problem of swept.problems) say(problem);
  }
  process.exitCode = swept.problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function sweepHere(): Promise<Swept> {
  if (readStack() === undefined && !process.env.DATABASE_URL) {
    say('no ledger can be asked: only what has expired, or whose worker is gone by its own mark, is ended');
    return sweepOnce({ home: homeFolder(), env: process.env });
  }
  return withStack(async ({ info, ledger }) =>
    sweepOnce({ home: info.home, env: workersEnvironment(info), ledger: await ledger() }),
  );
}

/** `steadfast verify sandbox`: created = released + reaped, and nothing alive that the ledger does not know. */
import type { Command } from 'commander';
import pc from 'picocolors';
import { ISOLATIONS } from '../core/sandbox.js';
import { hostName } from '../infra/host-name.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';
import { workersEnvironment } from './run/local-workers.js';

export function registerVerifySandbox(verify: Command): void {
  verify
    .command('sandbox')
    .description(
      'every sandbox released or reaped, and nothing alive on this host that the ledger does not know',
    )
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast verify sandbox\n')
    .action(async ({ json }: { json?: true }) => {
      const { createPool } = await import('../activities/ledger/pool.js');
      const { verifySandboxes } = await import('../activities/ledger/verify-sandboxes.js');
      const { sandboxDrivers } = await import('../workers/drivers.js');
      const { workerIsAlive } = await import('../workers/sweep.js');
      await withStack(async ({ info }) => {
        const pool = createPool(info.databaseUrl, { max: 1 });
        // Host and engine are those of the stack's workers.
        const env = workersEnvironment(info);
        const host = hostName(env);
        const driver = sandboxDrivers(info.home, 'inline', undefined, env);
        const living = async () =>
          (await Promise.all(ISOLATIONS.map((isolation) => driver(isolation).living()))).flat();
        try {
          const found = await verifySandboxes({ pool, host, living, workerIsAlive });
          if (json) printJson(found);
          else {
            const { known, intended, created, released, reaped, waiting, problems } = found;
            print(
              `sandboxes  ${known} = ${released} released + ${reaped} reaped + ${intended + created} open${
                waiting === 0 ? '' : ` (${waiting} started ahead)`
              }`,
            );
            print(`here now   ${found.living}`);
            for (const problem of problems) print(`${pc.red('✗')} ${problem}`);
            if (problems.length === 0) print(pc.green('nothing is left behind'));
          }
          process.exitCode = found.problems.length === 0 ? EXIT.ok : EXIT.failed;
        } finally {
          await pool.end();
        }
      });
    });
}

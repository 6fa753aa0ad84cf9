/** `steadfast verify ledger`: the promises of the ledger, checked on its rows and artifacts. The other parts have files of their own. */
import type { Command } from 'commander';
import pc from 'picocolors';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';
import { resolveCampaign } from './run/find.js';
import { registerVerifyCheckpoint } from './verify-checkpoint.js';
import { registerVerifyParity } from './verify-parity.js';
import { registerVerifySandbox } from './verify-sandbox.js';
import { registerVerifyTrainer } from './verify-trainer.js';

interface VerifyOptions {
  readonly campaign?: string;
  readonly artifacts: boolean;
  readonly json?: boolean;
}

const KEYS_SHOWN = 20;

export function registerVerify(program: Command): void {
  const verify = program
    .command('verify')
    .description('Check the invariants; exit 1 and the keys when one is broken.');
  registerVerifyTrainer(verify);
  registerVerifyCheckpoint(verify);
  registerVerifyParity(verify);
  registerVerifySandbox(verify);
  verify
    .command('ledger')
    .description(
      'planned = clean + pending + exhausted, each step once, one lineage of weights, artifacts whole ...',
    )
    .option('--campaign <name>', 'only this campaign, or this pipeline with all that it started')
    .option('--no-artifacts', 'do not read the artifacts')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast verify ledger\n  $ steadfast verify ledger --campaign demo\n',
    )
    .action(async (options: VerifyOptions) => {
      const { verifyLedger } = await import('../activities/ledger/verify.js');
      const { createPool } = await import('../activities/ledger/pool.js');
      await withStack(async (context) => {
        const ledger = await context.ledger();
        const pool = createPool(context.info.databaseUrl, { max: 2 });
        try {
          const verification = await verifyLedger({
            pool,
            ledger,
            ...(options.artifacts ? { artifacts: await context.artifacts() } : {}),
            ...(options.campaign ? { campaign: (await resolveCampaign(ledger, options.campaign)).id } : {}),
          });
          if (options.json) printJson(verification);
          else {
            for (const [name, count] of Object.entries(verification.checked)) {
              const broken = verification.violations.filter(({ invariant }) => invariant === name);
              print(
                `${broken.length === 0 ? pc.green('✓') : pc.red('✗')} ${name.padEnd(22)} ${count} checked`,
              );
              for (const { keys } of broken) {
                for (const key of keys.slice(0, KEYS_SHOWN)) print(`    ${key}`);
                if (keys.length > KEYS_SHOWN) print(`    … ${keys.length - KEYS_SHOWN} more`);
              }
            }
          }
          process.exitCode = verification.violations.length === 0 ? EXIT.ok : EXIT.failed;
        } finally {
          await pool.end();
        }
      });
    });
}

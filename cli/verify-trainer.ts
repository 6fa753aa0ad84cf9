/** `steadfast verify trainer`: the conformance suite against a running trainer. */
import type { Command } from 'commander';
import pc from 'picocolors';
import { UsageError } from '../core/faults.js';
import { readStack } from '../infra/stack/info.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';

interface TrainerOptions {
  readonly endpoint?: string;
  readonly check?: readonly string[];
  readonly folder?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const MARK = { pass: pc.green('✓'), fail: pc.red('✗'), skip: pc.yellow('–') } as const;

export function registerVerifyTrainer(verify: Command): void {
  verify
    .command('trainer')
    .description('every promise of the trainer contract, checked from outside (docs/trainer-contract.md)')
    .option('--endpoint <url>', 'base URL of the trainer, without /v1; the local stack’s when absent')
    .option('--check <name...>', 'only these checks')
    .option('--folder <dir>', 'for batches and checkpoints; the trainer must see it under the same path')
    .option('--force', 'take the trainer although a session is open in it')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast verify trainer --endpoint http://127.0.0.1:8600\n  $ steadfast verify trainer --check update-once lost-reply\n',
    )
    .action(async (options: TrainerOptions) => {
      const { runConformance } = await import('../activities/trainer/conformance/suite.js');
      const report = await runConformance({
        url: endpointOf(options.endpoint),
        signal: new AbortController().signal,
        ...(options.force ? { force: true } : {}),
        ...(options.check ? { only: options.check } : {}),
        ...(options.folder ? { folder: options.folder } : {}),
        onResult: ({ name, promise, outcome, evidence }) => {
          if (options.json) return;
          print(`${MARK[outcome]} ${name.padEnd(28)} ${promise}`);
          print(pc.dim(`${' '.repeat(31)}${outcome === 'skip' ? 'not checked: ' : ''}${evidence}`));
        },
      });
      const { pass, fail, skip } = report.counts;
      if (options.json) printJson(report);
      else print(`${report.kind} (${report.build}): ${pass} hold, ${fail} broken, ${skip} not checked`);
      process.exitCode = fail === 0 ? EXIT.ok : EXIT.failed;
    });
}

function endpointOf(given: string | undefined): string {
  const url = given ?? (process.env.STEADFAST_TRAINER_URL || readStack()?.trainerUrl);
  if (!url) {
    throw new UsageError(
      '--endpoint',
      'the URL of a trainer',
      'none, and no stack runs',
      'Start one with: steadfast up',
    );
  }
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new UsageError('--endpoint', 'a URL', `"${url}"`);
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** `steadfast suite check`: is a suite fit to train and be judged on? */
import type { Command } from 'commander';
import pc from 'picocolors';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';

const SAY_EVERY = 25;

export function registerSuite(program: Command): void {
  const suite = program.command('suite').description('Look at a suite, or check it.');
  suite
    .command('list')
    .description('tasks of a suite')
    .argument('<name>', 'deskbench, or thinkingbox with a checkout')
    .option('--json', 'print as JSON')
    .action(async (name: string, options: { json?: boolean }) => {
      const { suiteRegistry } = await import('../workers/suites.js');
      const opened = await suiteRegistry()(name);
      const tasks = await opened.tasks();
      if (options.json) printJson({ name, digest: opened.digest, tasks });
      else {
        for (const { id, domain, split } of tasks) print(`${id}  ${domain}  ${split}`);
        say(`${tasks.length} tasks, ${opened.digest}`);
      }
      await opened.close();
    });
  suite
    .command('check')
    .description(
      'the oracle passes all, doing nothing passes at most one, wrong writes fail, checks are deterministic',
    )
    .argument('<name>', 'deskbench')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast suite check deskbench\n')
    .action(check);
}

async function check(name: string, options: { json?: boolean }): Promise<void> {
  const { openSuiteCheck } = await import('../workers/suite-check.js');
  const report = await openSuiteCheck(name, (done, all) => {
    if (done % SAY_EVERY === 0 || done === all) say(`${done} of ${all} tasks checked`);
  });
  if (options.json) printJson(report);
  else {
    print(`oracle passes        ${report.oraclePassed} of ${report.tasks}`);
    print(`doing nothing passes ${report.nothingPassed.length}`);
    print(`altered endings      ${report.alterations} tried, each must fail`);
    print(`calls a task         ${report.calls.least} to ${report.calls.most}`);
    for (const { task, what } of report.problems) print(`${pc.red('✗')} ${task}: ${what}`);
    print(report.problems.length === 0 ? pc.green('the suite is sound') : pc.red('the suite is not sound'));
  }
  process.exitCode = report.problems.length === 0 ? EXIT.ok : EXIT.failed;
}

/** `steadfast suite`: what there is to run, and whether it is fit to train and be judged on. */
import type { Command } from 'commander';
import pc from 'picocolors';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { registerSuiteAdd } from './suite-add.js';

const SAY_EVERY = 25;

export function registerSuite(program: Command): void {
  const suite = program.command('suite').description('Look at a suite, or check it.');
  registerSuiteAdd(suite);
  suite
    .command('list')
    .description('the suites of this machine, or the tasks of one')
    .argument('[name]', 'deskbench, or one that was added')
    .option('--json', 'print as JSON')
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      if (name === undefined) await listSuites(options.json === true);
      else await listTasks(name, options.json === true);
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

async function listSuites(json: boolean): Promise<void> {
  const { homeOf, readRegistrations } = await import('../suites/thinkingbox/registration.js');
  const added = await readRegistrations(homeOf(process.env));
  const suites = [
    { name: 'deskbench', where: 'built in' },
    ...Object.entries(added).map(([name, { dataDir }]) => ({ name, where: dataDir })),
  ];
  if (json) printJson(suites);
  else for (const { name, where } of suites) print(`${name}  ${where}`);
}

async function listTasks(name: string, json: boolean): Promise<void> {
  const { suiteRegistry } = await import('../workers/suites.js');
  const opened = await suiteRegistry()(name);
  const tasks = await opened.tasks();
  const notComparable = opened.notComparable ?? [];
  if (json) printJson({ name, digest: opened.digest, notComparable, tasks });
  else {
    for (const { id, domain, split } of tasks) print(`${id}  ${domain}  ${split}`);
    say(`${tasks.length} tasks, ${opened.digest}`);
    for (const note of notComparable) say(`not comparable: ${note}`);
  }
  await opened.close();
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

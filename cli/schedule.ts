/** `steadfast schedule`: evaluations by the clock. Each subcommand's work is loaded when it is used. */
import type { Command } from 'commander';
import { integer, LIMITS, modelOptions, POOL_WORDS, poolName, priorityOption } from './run/options.js';
import type { CreateOptions } from './schedule-create.js';
import { durationOption } from './schedule-timing.js';

const DAY_MS = 86_400_000;
/** Temporal takes no shorter catch-up window. */
const LEAST_CATCH_UP_MS = 10_000;

interface JsonOption {
  readonly json?: boolean;
}

export function registerSchedule(program: Command): void {
  const schedule = program
    .command('schedule')
    .description(
      'Evaluations by the clock: each night is compared with the night before and with a baseline.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast schedule create nightly --cron "0 2 * * *" --timezone Europe/Berlin --model latest:run-1\n  $ steadfast schedule list\n  $ steadfast schedule last nightly      exit code 4: it regressed; 3: no score; 1: it failed\n\nMore: docs/nightly.md\n',
    );
  registerCreate(schedule);
  registerLooks(schedule);
  registerControls(schedule);
}

function registerCreate(schedule: Command): void {
  modelOptions(
    schedule
      .command('create')
      .description('Make a schedule, or say that it is there. Other settings under its name need --replace.')
      .argument('<name>', 'name of the schedule; evaluations are named after it and the time')
      .requiredOption('--cron <text>', 'when, e.g. "0 2 * * *", @daily, "@every 6h"')
      .option('--timezone <name>', 'of the cron text (UTC)')
      .option('--jitter <time>', 'begin up to so much later, e.g. 10m (0s)', durationOption(0, DAY_MS))
      .option(
        '--catch-up <time>',
        'make up for a night that is at most so late when Temporal was down (1h)',
        durationOption(LEAST_CATCH_UP_MS, 365 * DAY_MS),
      )
      .option('--file <run.yaml>', 'run file; flags win over it')
      .option('--suite <name>', 'deskbench, or thinkingbox with a checkout')
      .option('--tasks <list.yaml>', 'only these task ids; else the benchmark')
      .option('--repeat <n>', 'attempts a task (20)', integer(1, LIMITS.repeat))
      .option('--seed <n>', 'seed of every night', integer(0))
      .option('--lanes <n>', 'episodes in flight (48)', integer(1, LIMITS.lanes))
      .addOption(priorityOption())
      .option('--pool <name>', POOL_WORDS, poolName)
      .option('--baseline <evaluation>', 'compare every night with this one too, e.g. eval/base')
      .option('--webhook-env <name>', 'environment variable with the address that is told of a regression')
      .option('--exhausted-as-failed', 'score attempts 0 whose every try met a system error, and say so')
      .option('--allow-incomplete', 'a night of incomplete coverage shows a score too, which says so')
      .option('--replace', 'replace a schedule of that name; its nights stay')
      .option('--dry-run', 'resolve and check everything, make nothing')
      .option('--json', 'print one JSON document'),
  )
    .addHelpText(
      'after',
      '\nModels: also latest:RUN, the newest checkpoint of a run that verifies when the night begins.\n\nExamples:\n  $ steadfast schedule create nightly --cron "0 2 * * 1-5" --model latest:run-1 --baseline eval/base --webhook-env NIGHTLY_HOOK\n  $ steadfast schedule create api --cron @daily --model https://host/v1#name --file api.yaml --repeat 5 --dry-run\n',
    )
    .action(async (name: string, options: CreateOptions) => {
      const { createSchedule } = await import('./schedule-create.js');
      await createSchedule(name, options);
    });
}

function registerLooks(schedule: Command): void {
  const look = async () => import('./schedule-look.js');
  json(schedule.command('list').description('Every schedule: next times, last night.')).action(
    async (options: JsonOption) => (await look()).listSchedules(options),
  );
  json(named(schedule, 'show', 'Settings of a schedule, next times, its nights.')).action(
    async (name: string, options: JsonOption) => (await look()).showSchedule(name, options),
  );
  json(
    named(
      schedule,
      'last',
      'The newest night that has ended. Exit code 4: it regressed; 3: it has no score; 1: it failed.',
    ),
  ).action(async (name: string, options: JsonOption) => (await look()).lastNight(name, options));
  json(named(schedule, 'report', 'Write the series of nights as one HTML file, and print its path.'))
    .option('--out <file.html>', 'where to; default: reports/nightly/ under the home folder')
    .action(async (name: string, options: JsonOption & { out?: string }) =>
      (await look()).reportSchedule(name, options),
    );
}

function registerControls(schedule: Command): void {
  const control = async () => import('./schedule-control.js');
  for (const pause of [true, false]) {
    const description = pause ? 'Begin no night until `unpause`.' : 'Begin nights again.';
    json(named(schedule, pause ? 'pause' : 'unpause', description))
      .option('--note <text>', 'why; shown by `show`')
      .action(async (name: string, options: JsonOption & { note?: string }) =>
        (await control()).pauseSchedule(name, pause, options),
      );
  }
  json(named(schedule, 'trigger', 'Begin a night now, unless one runs.')).action(
    async (name: string, options: JsonOption) => (await control()).triggerSchedule(name, options),
  );
  json(
    named(schedule, 'backfill', 'Run the nights of a time that is past, and those without a score again.')
      .requiredOption('--from <time>', 'a day or a time, e.g. 2026-11-01 or 2026-11-01T02:00:00Z')
      .requiredOption('--to <time>', 'the same; past'),
  ).action(async (name: string, options: JsonOption & { from: string; to: string }) =>
    (await control()).backfillSchedule(name, options),
  );
  json(named(schedule, 'delete', 'Begin no night any more. Nights and evaluations stay.')).action(
    async (name: string, options: JsonOption) => (await control()).deleteSchedule(name, options),
  );
}

function named(schedule: Command, verb: string, description: string): Command {
  return schedule.command(verb).description(description).argument('<name>', 'name of the schedule');
}

function json(command: Command): Command {
  return command.option('--json', 'print one JSON document');
}

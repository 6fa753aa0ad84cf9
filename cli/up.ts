/** `steadfast up`: the local stack, started or brought up to date, left running. */
import { type Command, InvalidArgumentError } from 'commander';
import pc from 'picocolors';
import type { StackInfo, StackProcess, StackState } from '../infra/stack/info.js';
import { USUAL_PORTS } from '../infra/stack/ports.js';
import { startStack } from '../infra/stack/start.js';
import { print, printJson, say } from './output.js';

interface UpOptions {
  readonly workers: 'all' | 'none';
  readonly sandboxWorkers: number;
  readonly json?: boolean;
}

export function registerUp(program: Command): void {
  program
    .command('up')
    .description('Start the local stack and leave it running. Run again, it repairs and brings up to date.')
    .option('--workers <which>', 'all or none (for workers elsewhere)', oneOf('all', 'none'), 'all')
    .option('--sandbox-workers <n>', 'processes that play episodes', count, 1)
    .option('--json', 'print addresses and processes as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast up\n  $ steadfast up --sandbox-workers 2\n  $ steadfast up --workers none --json\n',
    )
    .action(async (options: UpOptions) => {
      const info = await startStack({
        workers: options.workers === 'none' ? 'none' : { sandbox: options.sandboxWorkers },
        holder: 'up',
        onProgress: progressLines(),
      });
      if (options.json) printJson(withoutPassword(info));
      else print(summary(info));
    });
}

/** One line each time a service becomes ready or fails to start. */
export function progressLines(write: (line: string) => void = say): (state: StackState) => void {
  const shown = new Map<string, string>();
  return (state) => {
    for (const item of state.processes) {
      const text = line(item);
      if (text === undefined || shown.get(item.name) === text) continue;
      shown.set(item.name, text);
      write(text);
    }
  };
}

function line({ name, state, pid, problem }: StackProcess): string | undefined {
  if (problem !== null) return `${pc.yellow('!')} ${problem}`;
  if (state === 'ready') return `${pc.green('✓')} ${name} (process ${pid})`;
  return undefined;
}

function summary(info: StackInfo): string {
  const moved = usualElsewhere(info);
  return [
    `Temporal    ${info.temporal.address}   web interface: ${info.temporal.ui}`,
    `PostgreSQL  ${new URL(info.databaseUrl).host}`,
    `trainer     ${info.trainerUrl}`,
    `logs        ${info.home}/logs`,
    ...(moved ? [pc.dim('some usual ports were taken; free ones were chosen')] : []),
    'stop it with: steadfast down',
  ].join('\n');
}

function usualElsewhere(info: StackInfo): boolean {
  const ownTrainer = info.passedOn?.STEADFAST_TRAINER_URL === undefined;
  return (
    !info.temporal.address.endsWith(`:${USUAL_PORTS.temporal}`) ||
    (ownTrainer && !info.trainerUrl.endsWith(`:${USUAL_PORTS.trainer}`))
  );
}

function withoutPassword(info: StackInfo): StackInfo {
  const url = new URL(info.databaseUrl);
  if (url.password) url.password = '***';
  return { ...info, databaseUrl: url.toString() };
}

function oneOf(...values: readonly string[]): (text: string) => string {
  return (text) => {
    if (values.includes(text)) return text;
    throw new InvalidArgumentError(`Expected ${values.join(' or ')}.`);
  };
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 64) return value;
  throw new InvalidArgumentError('Expected a whole number from 1 to 64.');
}

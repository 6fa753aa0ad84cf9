/**
 * Chaos: kills and stops processes, breaks the network, fills a disk while a training run goes on, and checks that
 * nothing was lost, repeated or applied twice, and that the weights are those of a run that was left alone.
 *
 *   npm run chaos -- --minutes 5 --seed 1          about half again as long as the minutes of faults
 *   npm run chaos -- --minutes 5 --seed 1 --disk   artifacts on a small disk that fills (root on Linux)
 *   npm run chaos -- --minutes 5 --seed 1 --servers   tool servers as programs that are killed too
 *
 * Progress on standard error. Exit code 0 when every promise held, 1 with the evidence when one is broken.
 */
import { Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../../core/faults.js';
import { machine } from '../bench/machine.js';
import { type ChaosResult, chaos } from './chaos.js';

interface Flags {
  readonly minutes: number;
  readonly seed: number;
  readonly disk?: true;
  readonly servers?: true;
  readonly json?: true;
}

const program = new Command('chaos')
  .description(
    'Disturb a training run at random and compare it with one that was left alone (docs/chaos.md).',
  )
  .option('--minutes <n>', 'of faults', positive, 5)
  .option('--seed <n>', 'of the faults and of the run', whole, 1)
  .option('--disk', 'artifacts on a small disk that fills now and then')
  .option('--servers', 'tool servers are programs of their own, and victims')
  .option('--json', 'print the result, with every fault, as one JSON document');
const flags = program.parse().opts<Flags>();

try {
  const result = await chaos({
    ms: flags.minutes * 60_000,
    seed: flags.seed,
    disk: flags.disk ?? false,
    servers: flags.servers ?? false,
    say: (line) => void process.stderr.write(`${line}\n`),
  });
  const { log: _log, ...summary } = result;
  const shown = flags.json ? { machine: machine(), ...result } : summary;
  process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
  process.stderr.write(`${verdict(result)}\n`);
  process.exitCode = result.broken.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(
    `${error instanceof UsageError ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  );
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

function verdict({ broken, faults, steps, episodes, home }: ChaosResult): string {
  const what = `${faults.met} faults, ${steps} steps, ${episodes} episodes`;
  if (broken.length === 0) return `every promise held: ${what}`;
  return `BROKEN (${what}; kept in ${home}):\n${broken.map((line) => `  ${line}`).join('\n')}`;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 24 * 60))
    throw new InvalidArgumentError('Expected minutes above 0, at most a day.');
  return value;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('Expected a whole number of at most nine digits.');
  return Number(text);
}

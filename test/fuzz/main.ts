/**
 * Fuzzing: texts that nobody thought of against the interpreter, the typing of parameters, and the renderer's guards.
 *
 *   npm run fuzz                                a minute with a seed of its own
 *   npm run fuzz -- --minutes 30 --seed 7       longer, and the same inputs every time
 *   npm run fuzz -- --check typing --seed 7 --from 123 --count 1    one input again
 *
 * Progress on standard error every ten seconds; a summary as one JSON document on standard output. Exit code 0 when
 * everything held, 1 with the input and the command that draws it again.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Check, INTERPRETER_CHECKS } from './checks.js';
import { rendererCheck } from './renderer-check.js';

interface Flags {
  readonly minutes: number;
  readonly seed: string;
  readonly check?: string;
  readonly from: number;
  readonly count?: number;
}

const BATCH = 50;
const PROGRESS_MS = 10_000;
const checks: readonly Check[] = [...INTERPRETER_CHECKS, rendererCheck()];

const flags = new Command('fuzz')
  .description('Search for texts that the interpreter or the renderer cannot take.')
  .option('--minutes <n>', 'how long', positive, 1)
  .option('--seed <text>', 'of the inputs', String(Date.now()))
  .addOption(new Option('--check <name>', 'one check only').choices(checks.map(({ name }) => name)))
  .option('--from <n>', 'number of the first input', whole, 0)
  .option('--count <n>', 'inputs of each check, whatever the time', whole)
  .parse()
  .opts<Flags>();

let interrupted = false;
process.once('SIGINT', () => {
  interrupted = true;
});

const chosen = checks.filter(({ name }) => flags.check === undefined || name === flags.check);
const last = flags.count === undefined ? Number.POSITIVE_INFINITY : flags.from + flags.count;
const ends = performance.now() + flags.minutes * 60_000;
let said = performance.now();
let index = flags.from;
let failed: Check | undefined;
search: while (!interrupted && index < last && (flags.count !== undefined || performance.now() < ends)) {
  const until = Math.min(index + BATCH, last);
  for (const check of chosen) {
    for (let at = index; at < until; at += check.name === 'growth' ? BATCH : 1) {
      if (!holds(check, at)) {
        failed = check;
        break search;
      }
    }
  }
  index = until;
  if (performance.now() - said > PROGRESS_MS) {
    said = performance.now();
    process.stderr.write(`fuzz: ${index - flags.from} inputs of each check held, seed ${flags.seed}\n`);
  }
  await new Promise(setImmediate); // lets Ctrl-C through
}
const summary = {
  seed: flags.seed,
  checks: chosen.map(({ name }) => name),
  inputs: index - flags.from,
  failed: failed?.name ?? null,
};
process.stdout.write(`${JSON.stringify(summary)}\n`);
process.exitCode = failed ? 1 : interrupted ? 130 : 0;

function holds(check: Check, at: number): boolean {
  const input = check.draw(flags.seed, at);
  try {
    check.holds(input);
    return true;
  } catch (error) {
    const again = `npm run fuzz -- --check ${check.name} --seed ${flags.seed} --from ${at} --count 1`;
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(
      `fuzz: ${check.name} does not hold for\n${JSON.stringify(input)}\n${what}\nagain: ${again}\n`,
    );
    return false;
  }
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Expected a number above 0.');
  return value;
}

function whole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

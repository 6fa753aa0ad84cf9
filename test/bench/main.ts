/**
 * The figures that Steadfast must reach, measured on this machine.
 *
 *   npm run bench                              everything, about 15 minutes on two idle cores, 40 more with ThinkingBox
 *   npm run bench -- --only step --only kill   some of it
 *   npm run bench -- --quick                   few episodes: shows that the benchmarks work, its figures say nothing
 *
 * One JSON document on standard output, progress on standard error. Exit code 0 when every bar holds (or `--quick`),
 * 1 when one does not or a benchmark failed.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { benches } from './benches.js';
import type { Bench, BenchOptions } from './figure.js';
import { rounded } from './figure.js';
import { load, machine } from './machine.js';

interface Flags {
  readonly only: readonly string[];
  readonly quick?: true;
  readonly plain?: true;
  readonly seeds: readonly number[];
  readonly steps: number;
}

const names = benches.map(({ name }) => name);
const program = new Command('bench')
  .description('Measure the figures of docs/benchmarks.md.')
  .addOption(new Option('--only <name>', 'repeatable').choices(names).argParser(append).default([], 'all'))
  .option('--quick', 'few episodes: shows that the benchmarks work')
  .option('--seeds <list>', 'of the learning benchmark', seedList, [1, 2, 3])
  .option('--steps <n>', 'training steps of the learning benchmark', whole, 15)
  .option('--plain', 'learning through the plain loop in place of the pipeline')
  .addHelpText('after', `\n${benches.map(({ name, about }) => `${name.padEnd(14)} ${about}`).join('\n')}\n`);

const flags = program.parse().opts<Flags>();
const options: BenchOptions = {
  quick: flags.quick ?? false,
  seeds: flags.quick ? flags.seeds.slice(0, 1) : flags.seeds,
  steps: flags.steps,
  plain: flags.plain ?? false,
  say: (line) => void process.stderr.write(`${line}\n`),
};

// Whatever runs ends itself on a signal; here nothing more is begun.
let interrupted = false;
const interrupt = (): void => {
  interrupted = true;
};
process.on('SIGINT', interrupt).on('SIGTERM', interrupt);

const started = new Date().toISOString();
const results = [];
for (const bench of benches) {
  if (interrupted) break;
  if (flags.only.length === 0 || flags.only.includes(bench.name)) results.push(await measure(bench));
}
const figures = results.flatMap((result) => result.figures);
const holds = results.every(({ error }) => error === null) && figures.every((figure) => figure.holds);
process.stdout.write(
  `${JSON.stringify({ started, quick: options.quick, machine: machine(), holds, benches: results }, null, 2)}\n`,
);
process.exitCode = interrupted
  ? 130
  : holds || (options.quick && results.every(({ error }) => error === null))
    ? 0
    : 1;

/** A benchmark that fails does not keep the others from being measured. */
async function measure({ name, run }: Bench) {
  options.say(`${name}: started, load ${load().join(' ')}`);
  const loadBefore = load();
  const from = performance.now();
  let figures: Awaited<ReturnType<Bench['run']>> = [];
  let error: string | null = null;
  try {
    figures = await run(options);
  } catch (failure) {
    error = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  }
  const seconds = rounded((performance.now() - from) / 1_000, 1);
  for (const { figure, measured, unit, bar, holds } of figures) {
    options.say(`${name}: ${figure}: ${measured} ${unit}, bar ${bar}: ${holds ? 'holds' : 'MISSED'}`);
  }
  if (error !== null) options.say(`${name}: failed: ${error}`);
  return { bench: name, seconds, loadBefore, loadAfter: load(), error, figures };
}

function append(value: string, previous: readonly string[]): readonly string[] {
  if (!names.includes(value)) throw new InvalidArgumentError(`Known: ${names.join(', ')}.`);
  return [...previous, value];
}

function whole(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Expected a whole number above 0.');
  return Number(text);
}

function seedList(text: string): readonly number[] {
  return text.split(',').map(whole);
}

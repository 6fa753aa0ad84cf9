/**
 * Our interpreter against vLLM's own parsers, on generated outputs and on the vectors of test/interpret/vectors.
 *
 *   npm run compare:vllm                              600 outputs, seconds (the first time, vLLM's files are fetched)
 *   npm run compare:vllm -- --cases 20000 --seed 7    other ones, and more
 *   npm run compare:vllm -- --record                  write vLLM's answers into the vectors
 *
 * One JSON document on standard output: counts, and every difference. Exit code 0 when each difference is one that
 * docs/interpret.md explains, 1 when one is not. Needs Python 3.11 or newer, and the network the first time.
 */
import { Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../../core/faults.js';
import { type Output, output } from '../fuzz/outputs.js';
import { type Answer, type Comparison, compare } from './compare.js';
import { answers, readyEngine, VLLM_VERSION } from './engine.js';
import { recordVectors, vectorOutputs } from './vector-files.js';

interface Flags {
  readonly cases: number;
  readonly seed: string;
  readonly record?: true;
  readonly unexplained?: true;
}

/** Share of the outputs. */
const MAX_CRASHES = 0.01;

const flags = new Command('compare:vllm')
  .description("Compare the interpreter with vLLM's own parsers.")
  .option('--cases <n>', 'generated outputs', whole, 600)
  .option('--seed <text>', 'of the outputs', '1')
  .option('--record', "write vLLM's answers into test/interpret/vectors")
  .option('--unexplained', 'list only the differences that nothing explains')
  .parse()
  .opts<Flags>();

try {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const engine = await readyEngine(say);
  if (flags.record) await recordVectors(engine, say);
  const generated = Array.from({ length: flags.cases }, (_, index) => output(flags.seed, index));
  const outputs = [...vectorOutputs(), ...generated];
  const replies = await answers(engine, outputs);
  requireAnswers(replies);
  const results = outputs.map((one, index) => ({ ...one, ...compare(one, replies[index]!) }));
  const counts = (part: readonly Comparison[]): Record<string, number> => ({
    compared: part.length,
    equal: part.filter(({ same }) => same).length,
    unexplained: part.filter(({ same, reason }) => !same && reason === undefined).length,
  });
  const different = results.filter(({ same }) => !same);
  const reasons = new Map<string, number>();
  for (const { reason } of different) if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const groups = new Set(results.map(groupOf));
  const unexplained = different.filter(({ reason }) => reason === undefined);
  const summary = {
    vllm: VLLM_VERSION,
    seed: flags.seed,
    ...counts(results),
    explained: Object.fromEntries(reasons),
    groups: Object.fromEntries(
      [...groups].map((group) => [group, counts(results.filter((result) => groupOf(result) === group))]),
    ),
    differences: (flags.unexplained ? unexplained : different).map(({ tools: _tools, ...rest }) => rest),
  };
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
  process.exitCode = unexplained.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof UsageError ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

/** Now and then the engine raises an exception. When it does so often, it is not the engine that was meant. */
function requireAnswers(replies: readonly Answer[]): void {
  const crashes = replies.flatMap((reply) => ('crash' in reply ? [reply.crash] : []));
  if (crashes.length <= replies.length * MAX_CRASHES) return;
  const found = `${crashes.length} exceptions in ${replies.length}, the first: ${crashes[0]!.slice(0, 300)}`;
  throw new UsageError("vLLM's parsers", 'answers', found);
}

function groupOf({ format, kind }: Output): string {
  return `${format}, ${kind}`;
}

function whole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

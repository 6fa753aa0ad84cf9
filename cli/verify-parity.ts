/**
 * `steadfast verify parity`: what a campaign has recorded, read and rendered again by today's program. Needs the ledger
 * and the artifacts; Temporal, the trainer and the workers may be down.
 */

import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import type { Command } from 'commander';
import pc from 'picocolors';
import type {
  ParityCounts,
  ParityDifference,
  RecordedEpisode,
} from '../activities/episode/recorded-parity.js';
import { UsageError } from '../core/faults.js';
import type { Ledger } from '../core/ledger.js';
import type { LedgerReads } from '../core/ledger-reads.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { resolveCampaign } from './run/find.js';

interface ParityOptions {
  readonly run?: string;
  readonly file?: string;
  readonly format: string;
  readonly out?: string;
  readonly json?: boolean;
}

interface Outcome {
  readonly of: string;
  readonly counts: ParityCounts;
  readonly unchecked: { readonly keys: readonly string[]; readonly reason: string | null };
}

const SHOWN = 20;
const PROGRESS_MS = 2_000;

export function registerVerifyParity(verify: Command): void {
  verify
    .command('parity')
    .description('recorded outputs through today’s interpreter, recorded prompts through today’s renderer')
    .option('--run <name>', 'a campaign; a pipeline or a run stands for all that it started')
    .option('--file <path>', 'JSON Lines {"input", "tools", "reasoning", "content", "tool_calls"}')
    .option('--format <name>', 'output format of the file’s lines that name none', 'qwen3_xml')
    .option('--out <path>', 'write every difference there, as JSON Lines')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExit 0: no difference. 1: at least one. 3: episodes that could not be checked.\n\nExamples:\n  $ steadfast verify parity --run demo\n  $ steadfast verify parity --run train/run-1 --out differences.jsonl\n  $ steadfast verify parity --file outputs.jsonl\n',
    )
    .action(async (options: ParityOptions) => {
      if ((options.run === undefined) === (options.file === undefined)) {
        throw new UsageError('verify parity', 'one of --run and --file', options.run ? 'both' : 'neither');
      }
      const differences = await Differences.open(options.out);
      const outcome =
        options.file === undefined
          ? await ofRun(options.run!, differences)
          : await ofFile(options.file, options.format, differences);
      await differences.close();
      if (options.json) printJson({ ...outcome, differences: differences.first, out: options.out ?? null });
      else show(outcome, differences.first, options.out);
      process.exitCode = exitCodeOf(outcome.counts);
    });
}

function exitCodeOf({ differences, unchecked }: ParityCounts): number {
  if (differences > 0) return EXIT.failed;
  return unchecked > 0 ? EXIT.incomplete : EXIT.ok;
}

function ofRun(name: string, differences: Differences): Promise<Outcome> {
  return withStack(async (context) => {
    const { checkRecorded } = await import('../activities/episode/recorded-parity.js');
    const ledger = await context.ledger();
    const { id } = await resolveCampaign(ledger, name);
    const episodes = await recordedOf(ledger, id);
    const keys: string[] = [];
    let reason: string | null = null;
    const counts = await checkRecorded(episodes, {
      artifacts: await context.artifacts(),
      onDifference: (difference) => differences.add(difference),
      onUnchecked: (key, why) => {
        reason = why;
        if (keys.length < SHOWN) keys.push(key);
      },
      onEpisode: progress(`of ${episodes.length} episodes`, ({ episodes: done }) => done),
    });
    return { of: id, counts, unchecked: { keys, reason } };
  });
}

async function ofFile(file: string, format: string, differences: Differences): Promise<Outcome> {
  const { checkOutputs } = await import('../activities/episode/recorded-outputs.js');
  const counts = await checkOutputs(file, format, {
    onDifference: (difference) => differences.add(difference),
    onEpisode: progress('outputs', ({ turns }) => turns),
  });
  return { of: file, counts, unchecked: { keys: [], reason: null } };
}

/** Clean episodes of the campaign and of what it started, in plan order. One that a fork reused is looked at in each. */
async function recordedOf(ledger: Ledger & LedgerReads, id: string): Promise<readonly RecordedEpisode[]> {
  const own = (await ledger.attempts(id)).flatMap(({ key, trajectory }) =>
    trajectory === null ? [] : [{ key, trajectory }],
  );
  const started = await ledger.campaigns({ parent: id, limit: 100_000 });
  const below: RecordedEpisode[] = [];
  for (const child of started.toReversed()) below.push(...(await recordedOf(ledger, child.id)));
  return [...own, ...below];
}

/** The first differences, and all of them in a file where one was asked for. */
class Differences {
  readonly first: ParityDifference[] = [];

  private constructor(private readonly file: WriteStream | undefined) {}

  static async open(path: string | undefined): Promise<Differences> {
    if (path === undefined) return new Differences(undefined);
    const file = createWriteStream(path);
    try {
      await once(file, 'open');
    } catch (error) {
      throw new UsageError('--out', 'a file that can be written', `${path}: ${(error as Error).message}`);
    }
    return new Differences(file);
  }

  add(difference: ParityDifference): void {
    if (this.first.length < SHOWN) this.first.push(difference);
    this.file?.write(`${JSON.stringify(difference)}\n`);
  }

  async close(): Promise<void> {
    if (!this.file) return;
    this.file.end();
    await once(this.file, 'finish');
  }
}

function progress(what: string, done: (counts: ParityCounts) => number): (counts: ParityCounts) => void {
  let last = Date.now();
  return (counts) => {
    if (Date.now() - last < PROGRESS_MS) return;
    last = Date.now();
    say(`${done(counts)} ${what}, ${counts.differences} differences`);
  };
}

function show({ of, counts, unchecked }: Outcome, first: readonly ParityDifference[], out?: string): void {
  const { episodes, turns, read, calls, spans, tokens, differences } = counts;
  const mark = differences === 0 ? pc.green('✓') : pc.red('✗');
  const verdict = differences === 0 ? 'no difference' : `${differences} differences`;
  const whole = episodes > 0 ? `${episodes} episodes, ` : '';
  print(`${mark} ${of}: ${verdict}`);
  print(pc.dim(`  ${whole}${read} of ${turns} outputs read again, ${calls} calls`));
  if (spans > 0)
    print(pc.dim(`  ${spans} prompts and deltas rendered again, ${tokens} tokens in their buffers`));
  for (const { key, turn, field, expected, found } of first) {
    print(`  ${key}${turn === null ? '' : `, turn ${turn}`}, ${field}: recorded ${expected}, today ${found}`);
  }
  if (differences > first.length) {
    const where = out === undefined ? 'all of them with --out FILE' : `all of them in ${out}`;
    print(`  … ${differences - first.length} more; ${where}`);
  }
  if (counts.unchecked > 0) {
    print(`${pc.yellow('–')} ${counts.unchecked} episodes not checked: ${unchecked.reason}`);
    for (const key of unchecked.keys) print(pc.dim(`    ${key}`));
  }
  if (read === 0 && counts.unchecked === 0 && differences === 0)
    print(pc.dim('  nothing of it was written as text: there is nothing to compare'));
}

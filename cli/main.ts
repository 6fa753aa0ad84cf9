/** The `steadfast` command: finds the verb, loads its file, runs it, and turns errors into messages and exit codes. */
import { Command, CommanderError } from 'commander';
import { Fault, UsageError } from '../core/faults.js';
import { nearest } from '../core/nearest.js';
import { asProblem, SetupProblem } from '../infra/setup/problem.mjs';
import { homeFolder } from '../infra/setup/root.mjs';
import { EXIT } from './exit.js';
import { endQuietlyOnClosedPipe, printJson, say } from './output.js';
import { VERBS, type Verb } from './verbs.js';
import { programVersion } from './version.js';

const EXAMPLES = `
Examples:
  $ steadfast demo                      probe, train and evaluate a small policy, with a report
  $ steadfast up                        start the local stack and leave it running
  $ steadfast doctor                    what is missing on this machine
  $ steadfast help VERB                 options and examples of one verb

Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 incomplete coverage, 4 regression, 130 interrupted.
`;

/** Runs the command; returns its exit code. Never throws. */
export async function main(args: readonly string[]): Promise<number> {
  endQuietlyOnClosedPipe();
  let program: Command | undefined;
  try {
    program = await createProgram(args);
    await program.parseAsync(asTyped(args), { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    return report(error, args, program);
  }
}

/** `help replay step` is the help of `replay step`; commander would show that of `replay`. */
function asTyped(args: readonly string[]): string[] {
  return args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : [...args];
}

async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('steadfast')
    .description('Durable reinforcement-learning post-training of tool-using agents.')
    .version(programVersion(), '--version', 'print the version')
    .addHelpText('after', EXAMPLES)
    .helpCommand('help [verb]', 'options and examples of one verb')
    // Said once, by `report`, with where to look; help that was asked for wrongly still goes to standard error.
    .configureOutput({ writeErr: (text) => process.stderr.write(text), outputError: () => undefined })
    .showSuggestionAfterError(true)
    .exitOverride();
  const words = args.filter((word) => !word.startsWith('-'));
  const asked = words[0] === 'help' ? words[1] : words[0];
  if (words[0] === 'help') requireVerb(asked);
  for (const verb of VERBS) {
    if (verb.name === asked) (await verb.load())(program);
    else placeholder(program, verb);
  }
  for (const command of program.commands) settle(command);
  return program;
}

/** Enough for the list in `--help` and for "did you mean". */
function placeholder(program: Command, verb: Verb): void {
  program.command(verb.name).summary(verb.summary).description(verb.summary).helpGroup(`${verb.group}:`);
}

function settle(command: Command): void {
  const verb = VERBS.find(({ name }) => name === command.name());
  if (verb) command.summary(verb.summary).helpGroup(`${verb.group}:`);
  strict(command);
}

/** Subcommands do not inherit these; `schedule show` is not `show`. */
function strict(command: Command): void {
  command.exitOverride().showSuggestionAfterError(true);
  for (const inner of command.commands) strict(inner);
}

/** `help` of a verb that does not exist would be the help of everything, with no word about the mistake. */
function requireVerb(name: string | undefined): void {
  const names = ['help', ...VERBS.map((verb) => verb.name)];
  if (name === undefined || names.includes(name)) return;
  const near = nearest(name, names);
  throw new UsageError(
    'help',
    'a verb of steadfast',
    `"${name}"`,
    near ? `Did you mean ${near}?` : 'List them with: steadfast --help',
  );
}

function report(thrown: unknown, args: readonly string[], program: Command | undefined): number {
  const json = args.includes('--json');
  const error = asUsage(thrown);
  if (error instanceof CommanderError) return reportUsage(error, args, json, program);
  const code = error instanceof UsageError ? EXIT.usage : EXIT.failed;
  if (json) printJson({ error: describe(error), exitCode: code });
  say(`steadfast: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env.STEADFAST_DEBUG && error instanceof Error && error.stack) say(error.stack);
  return code;
}

/** A disk that is full, read-only or not ours is for the reader to mend, wherever it was met. */
function asUsage(thrown: unknown): unknown {
  const problem = asProblem(thrown, homeFolder());
  if (!(problem instanceof SetupProblem)) return thrown;
  const { place, expected, found, fix } = problem.parts;
  return new UsageError(place, expected, found, `${fix[0]!.toUpperCase()}${fix.slice(1)}`);
}

/** A command line that cannot be read. Help and version also arrive here, with code 0. */
function reportUsage(
  error: CommanderError,
  args: readonly string[],
  json: boolean,
  program: Command | undefined,
): number {
  if (error.exitCode === 0) return EXIT.ok;
  const verb = VERBS.find(({ name }) => args.includes(name))?.name;
  const inner = program?.commands
    .find((command) => command.name() === verb)
    ?.commands.find((command) => args.includes(command.name()));
  const asked = inner ? `help ${verb} ${inner.name()}` : `help ${verb}`;
  const fix = `See: steadfast ${verb === undefined ? '--help' : asked}`;
  // Without a verb, or without its subcommand, commander has shown the help and has no message.
  const helped = error.code === 'commander.help';
  const message = helped ? 'expected a command, found none' : error.message.replace(/^error: /, '');
  if (json) {
    const parts = { place: 'command line', expected: null, found: args.join(' '), fix };
    printJson({ error: { kind: 'usage', message, ...parts }, exitCode: EXIT.usage });
  }
  if (!helped) say(`steadfast: ${message}\n${fix}`);
  return EXIT.usage;
}

function describe(error: unknown): Record<string, unknown> {
  if (error instanceof UsageError) {
    const { place, expected, found, fix, message } = error;
    return { kind: 'usage', message, place, expected, found, fix: fix ?? null };
  }
  if (error instanceof Fault)
    return { kind: error.kind, message: error.message, code: error.code ?? null, retry: error.retry };
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

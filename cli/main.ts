/** The `steadfast` command: finds the verb, loads its file, runs it, and turns errors into messages and exit codes. */
import { Command, CommanderError } from 'commander';
import { Fault, UsageError } from '../core/faults.js';
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
  try {
    const program = await createProgram(args);
    await program.parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    return report(error, args.includes('--json'));
  }
}

async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('steadfast')
    .description('Durable reinforcement-learning post-training of tool-using agents.')
    .version(programVersion(), '--version', 'print the version')
    .addHelpText('after', EXAMPLES)
    .helpCommand('help [verb]', 'options and examples of one verb')
    .configureOutput({ writeErr: (text) => process.stderr.write(text) })
    .showSuggestionAfterError(true)
    .exitOverride();
  const words = args.filter((word) => !word.startsWith('-'));
  const asked = words[0] === 'help' ? words[1] : words[0];
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

/** Subcommands do not inherit these. */
function settle(command: Command): void {
  command.exitOverride().showSuggestionAfterError(true);
  const verb = VERBS.find(({ name }) => name === command.name());
  if (verb) command.summary(verb.summary).helpGroup(`${verb.group}:`);
  for (const inner of command.commands) settle(inner);
}

function report(error: unknown, json: boolean): number {
  if (error instanceof CommanderError) {
    // Help and version were asked for; anything else was already explained on standard error.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  const code = error instanceof UsageError ? EXIT.usage : EXIT.failed;
  if (json) printJson({ error: describe(error), exitCode: code });
  say(`steadfast: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env.STEADFAST_DEBUG && error instanceof Error && error.stack) say(error.stack);
  return code;
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

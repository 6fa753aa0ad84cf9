/** `steadfast show KEY`: one episode: messages, calls, verdict, tokens, and how its final state differs. */
import type { Command } from 'commander';
import pc from 'picocolors';
import type { Trajectory } from '../activities/episode/trajectory.js';
import type { ImportedFrom } from '../activities/imports/document.js';
import type { AttemptDetail, TryRow } from '../core/ledger-reads.js';
import type { Message } from '../core/message.js';
import { withStack } from './context.js';
import { print, printJson } from './output.js';
import { resolveAttempt } from './run/find.js';

interface ShowOptions {
  readonly try?: string;
  readonly json?: boolean;
}

export function registerShow(program: Command): void {
  program
    .command('show')
    .description('One attempt: its tries, conversation, verdict and state difference.')
    .argument('<key...>', 'the key as `episodes` prints it; quotes are not needed')
    .option('--json', 'print the attempt and its trajectory as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast show eval/demo-final · retail:refund-07 · 3\n')
    .action(async (words: readonly string[], options: ShowOptions) => {
      const key = words.join(' ');
      await withStack(async (context) => {
        const ledger = await context.ledger();
        const attempt = await resolveAttempt(ledger, key);
        const digest = attempt.trajectory ?? attempt.history.findLast((row) => row.trajectory)?.trajectory;
        const trajectory = digest
          ? (JSON.parse(
              new TextDecoder().decode(await (await context.artifacts()).get(digest)),
            ) as Trajectory & { readonly imported?: ImportedFrom })
          : null;
        if (options.json) printJson({ attempt, trajectory });
        else
          print(
            [
              ...headText(attempt, trajectory?.imported),
              ...(trajectory ? trajectoryText(trajectory) : []),
            ].join('\n'),
          );
      });
    });
}

function headText(attempt: AttemptDetail, imported: ImportedFrom | undefined): string[] {
  const { verdict, termination, weightVersion, usage, seed } = attempt;
  const lines = [
    pc.bold(attempt.key),
    `state        ${attempt.state}${verdict ? ` (${verdict.passed ? pc.green('passed') : pc.red('failed')})` : ''}`,
  ];
  if (termination) lines.push(`ended by     ${termination}`);
  if (weightVersion) lines.push(`weights      ${weightVersion}`);
  lines.push(`seed         ${seed}`);
  if (imported)
    lines.push(`imported     ${imported.file}:${imported.line}, SHA-256 ${imported.sha256.slice(0, 12)}`);
  if (usage) lines.push(`tokens       ${usage.policySampledTokens} sampled in ${usage.policyCalls} turns`);
  for (const row of attempt.history) {
    lines.push(
      `try ${row.tryNumber}.${row.activityAttempt}      ${tryText(row)}  ${pc.dim(row.worker)}`,
      ...(row.reusedFrom ? [`reused       ${row.reusedFrom}`] : []),
    );
  }
  return lines;
}

/** A stop is recorded as a fault of its own kind; who reads is told what it was. */
function tryText({ state, fault }: TryRow): string {
  if (!fault) return state;
  if (fault.kind === 'cancelled') return 'stopped: the campaign was stopped while it was in flight';
  return `${state}: ${fault.kind}${fault.code ? ` ${fault.code}` : ''}, ${fault.message}`;
}

function trajectoryText({ messages, verdict, effects, expected, waitedMs = 0 }: Trajectory): string[] {
  const lines = ['', ...messages.flatMap(messageText)];
  if (waitedMs > 0)
    lines.push(
      pc.dim(
        `waited ${(waitedMs / 1_000).toFixed(1)} s for the limits of providers, on no clock of the episode`,
      ),
    );
  for (const reason of verdict?.reasons ?? []) lines.push(pc.red(`✗ ${reason}`));
  for (const { question, answer } of verdict?.judged ?? [])
    lines.push(`judge: ${question} ${answer ? 'yes' : 'no'}`);
  if (expected && effects) lines.push('', ...differenceText(expected, effects));
  return lines;
}

function messageText(message: Message): string[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [`${pc.cyan(message.role.padEnd(10))} ${message.content}`];
    case 'tool':
      return [`${(message.isError ? pc.red : pc.dim)(`  → ${message.name}`)} ${message.content}`];
    case 'assistant': {
      const { reasoning, content, toolCalls } = message;
      const head = pc.yellow((message.direct ? 'tool says ' : 'assistant ').padEnd(10));
      return [
        ...(reasoning ? [`${head} ${pc.dim(reasoning)}`] : []),
        ...(content ? [`${head} ${content}`] : []),
        ...toolCalls.map((call) => `${head} ${call.name}(${JSON.stringify(call.arguments)})`),
      ];
    }
  }
}

/** Rows that differ, line by line as JSON. */
function differenceText(expected: unknown, actual: unknown): string[] {
  const wanted = rowsOf(expected);
  const found = rowsOf(actual);
  const lines: string[] = [];
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    const [a, b] = [wanted.get(name), found.get(name)];
    if (a === b) continue;
    if (a !== undefined) lines.push(pc.green(`expected ${name} ${a}`));
    if (b !== undefined) lines.push(pc.red(`actual   ${name} ${b}`));
  }
  return lines.length === 0 ? ['the final state is as expected'] : lines;
}

/** `server.table.row` → row as JSON, three levels down. */
function rowsOf(value: unknown, path = '', depth = 0): Map<string, string> {
  if (depth === 3 || typeof value !== 'object' || value === null)
    return new Map([[path, JSON.stringify(value)]]);
  const rows = new Map<string, string>();
  for (const [key, inner] of Object.entries(value)) {
    for (const entry of rowsOf(inner, path ? `${path}.${key}` : key, depth + 1)) rows.set(...entry);
  }
  return rows;
}

/** What the worker of a GPU host is told of serving by its environment (docs/serving.md). */
import path from 'node:path';
import { UsageError } from '../core/faults.js';

export interface ServingEnvironment {
  readonly databaseUrl: string;
  readonly artifacts: string;
  /** The program that serves: `STEADFAST_VLLM`, else `vllm`. */
  readonly command: readonly string[];
  /** Address of this host that servers listen on and episodes call. */
  readonly address: string;
  readonly programs: { readonly merge: readonly string[]; readonly make: readonly string[] | null };
}

const MERGE = [
  ...['python3', '-m', 'verl.model_merger', 'merge', '--backend', 'fsdp'],
  ...['--local_dir', '{folder}', '--target_dir', '{out}'],
];

/** Null without `DATABASE_URL`. Throws `UsageError` for a command that is none. */
export function servingEnvironment(home: string, env: NodeJS.ProcessEnv): ServingEnvironment | null {
  if (!env.DATABASE_URL) return null;
  const merge = programOf('STEADFAST_MERGE_MODEL', env.STEADFAST_MERGE_MODEL) ?? MERGE;
  return {
    databaseUrl: env.DATABASE_URL,
    artifacts: env.STEADFAST_ARTIFACTS || path.join(home, 'artifacts'),
    command: commandOf('STEADFAST_VLLM', env.STEADFAST_VLLM) ?? ['vllm'],
    address: env.STEADFAST_SERVE_ADDRESS || '127.0.0.1',
    programs: { merge, make: programOf('STEADFAST_MAKE_MODEL', env.STEADFAST_MAKE_MODEL) ?? null },
  };
}

/** A program's path, or a JSON list of it and its first arguments. */
function commandOf(name: string, text: string | undefined): readonly string[] | undefined {
  if (!text) return undefined;
  if (!text.startsWith('[')) return [text];
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string'))
      return value;
  } catch {
    // Said below, whatever it is that is no JSON.
  }
  throw new UsageError(name, 'a program, or a JSON list of a program and its arguments', text);
}

function programOf(name: string, text: string | undefined): readonly string[] | undefined {
  const command = commandOf(name, text);
  const missing = ['{folder}', '{out}'].filter((part) => !command?.some((each) => each.includes(part)));
  if (command === undefined || missing.length === 0) return command;
  throw new UsageError(name, 'arguments with {folder} and {out}', `none with ${missing.join(' and ')}`);
}

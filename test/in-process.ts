/**
 * The command line run in this process, with what it writes. Commands come one after the other: the streams and the
 * variables are the process's. What a start as a process of its own adds is seen where `replay/command.ts` is used.
 */
import { main } from '../cli/main.js';
import { withVariables } from './variables.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let turn: Promise<unknown> = Promise.resolve();

export function inProcess(...args: readonly string[]): Promise<Ran> {
  return inTurn(() => heard(args));
}

/** Against the stack of a home, whatever the tests' own variables point at. */
export function steadfast(home: string, ...args: readonly string[]): Promise<Ran> {
  const variables = { STEADFAST_HOME: home, TEMPORAL_ADDRESS: undefined, DATABASE_URL: undefined };
  return inTurn(() => withVariables(variables, () => heard(args)));
}

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work);
  turn = mine.catch(() => undefined);
  return mine;
}

async function heard(args: readonly string[]): Promise<Ran> {
  const texts = { out: '', err: '' };
  const restores = [
    listen('stdout', (text) => (texts.out += text)),
    listen('stderr', (text) => (texts.err += text)),
  ];
  const exitCode = process.exitCode;
  process.exitCode = 0;
  try {
    const code = await main([...args]);
    return { code, ...texts };
  } finally {
    process.exitCode = exitCode;
    for (const restore of restores) restore();
  }
}

function listen(name: 'stdout' | 'stderr', hear: (text: string) => void): () => void {
  const stream = process[name];
  const { write } = stream;
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    hear(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    const done = rest.find((item) => typeof item === 'function') as (() => void) | undefined;
    done?.();
    return true;
  };
  return () => {
    stream.write = write;
  };
}

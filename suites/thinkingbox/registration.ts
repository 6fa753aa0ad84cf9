/**
 * What `steadfast suite add` has written down in this machine's home: where the checkouts are and how they are used, so
 * that a suite opens by its name alone.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../core/faults.js';
import { KEPT_STATES } from './bridge.js';
import { SERVER_STARTS } from './task.js';

const registration = z.strictObject({
  thinkingboxDir: z.string().min(1),
  dataDir: z.string().min(1),
  /** Revisions that are not the benchmark's, as they were when the person accepted them. */
  accepted: z.strictObject({ thinkingbox: z.string().optional(), data: z.string().optional() }).optional(),
  /** A YAML list of case ids. */
  cases: z.string().optional(),
  python: z.string().optional(),
  servers: z.enum(SERVER_STARTS).optional(),
  states: z.enum(KEPT_STATES).optional(),
  /** Base URL of a Typesense for `search_policy`; its key is in the environment variable named. */
  search: z.strictObject({ url: z.url(), keyEnv: z.string().min(1).optional() }).optional(),
});
export type Registration = z.infer<typeof registration>;

const registrations = z.record(z.string(), registration);

type Environment = Readonly<Record<string, string | undefined>>;

/** State folder of this machine. */
export function homeOf(env: Environment): string {
  return resolve(env.STEADFAST_HOME ?? '.steadfast');
}

/** By suite name; empty where nothing has been added. Throws `UsageError` for a file that cannot be read. */
export async function readRegistrations(home: string): Promise<Readonly<Record<string, Registration>>> {
  const path = fileOf(home);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(path, 'JSON', (error as Error).message, 'Delete the file and add the suites again');
  }
  const read = registrations.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const found = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
  throw new UsageError(path, 'suites as `suite add` writes them', found, 'Add the suite again');
}

export async function register(home: string, name: string, added: Registration): Promise<void> {
  const path = fileOf(home);
  const all = { ...(await readRegistrations(home)), [name]: added };
  await mkdir(home, { recursive: true });
  const half = `${path}.${process.pid}`;
  await writeFile(half, `${JSON.stringify(all, null, 2)}\n`);
  await rename(half, path);
}

function fileOf(home: string): string {
  return join(home, 'suites.json');
}

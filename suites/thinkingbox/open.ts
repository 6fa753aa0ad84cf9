/** The suite as workers and the command line open it by name: from what `suite add` wrote down, or from the environment. */
import { join, resolve } from 'node:path';
import { UsageError } from '../../core/faults.js';
import { registerSecret } from '../../core/secrets.js';
import { checkCheckout } from './checkout.js';
import { prepareThinkingBox } from './python.js';
import { homeOf, type Registration, readRegistrations } from './registration.js';
import type { SearchPlace } from './search.js';
import { createThinkingBox, readList, type ThinkingBoxSuite } from './suite.js';
import { SERVER_STARTS, type ServerStart } from './task.js';

/** Name of the suite that needs no `suite add --name`. */
export const THINKINGBOX = 'thinkingbox';

/** Variables that name a checkout; each stands before what `suite add` wrote down. */
const VARIABLES = {
  thinkingboxDir: 'THINKINGBOX_DIR',
  dataDir: 'THINKINGBOX_DATA_DIR',
  /** Optional: a YAML list of case ids instead of the benchmark's own. */
  cases: 'THINKINGBOX_CASES',
  /** Optional: an interpreter that has the packages already. */
  python: 'THINKINGBOX_PYTHON',
  /** Optional: `stdio` starts a program for every session, for machines where servers cannot be forked. */
  servers: 'THINKINGBOX_SERVERS',
} as const;

/** What a person gave to `suite add`. */
export const ADDED = { thinkingboxDir: 'suite add --thinkingbox', dataDir: 'suite add --data' } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens the suite `thinkingbox`; makes its Python environment first when there is none. Throws `UsageError` when it has
 * not been added, and for a folder or variable that names the wrong thing.
 */
export async function openThinkingBox(
  env: Environment,
  report?: (line: string) => void,
): Promise<ThinkingBoxSuite> {
  const home = homeOf(env);
  const added = (await readRegistrations(home))[THINKINGBOX];
  return openRegistered(THINKINGBOX, fromEnvironment(env, added), home, env, report);
}

/** Opens what was added under a name of its own; the variables speak of `thinkingbox` only. */
export async function openAddedThinkingBox(env: Environment, name: string): Promise<ThinkingBoxSuite> {
  const home = homeOf(env);
  const added = (await readRegistrations(home))[name];
  if (!added) throw new UsageError('suite', 'a suite that was added on this machine', `"${name}"`);
  return openRegistered(name, { settings: added, places: ADDED }, home, env);
}

/** Opens what a registration says. `env` holds the key of the search service. */
export async function openRegistered(
  name: string,
  { settings, places }: Given,
  home: string,
  env: Environment,
  report?: (line: string) => void,
): Promise<ThinkingBoxSuite> {
  const { thinkingboxDir, dataDir, accepted, cases, servers, states, search } = settings;
  // A wrong folder is told before 140 MB are installed for it.
  await checkCheckout(thinkingboxDir, 'thinkingbox', places.thinkingboxDir, accepted?.thinkingbox);
  await checkCheckout(dataDir, 'data', places.dataDir, accepted?.data);
  const python =
    settings.python ?? (await prepareThinkingBox({ home, ...(report === undefined ? {} : { report }) }));
  return createThinkingBox({
    name,
    thinkingboxDir,
    dataDir,
    python,
    places,
    cache: join(home, 'thinkingbox'),
    ...(accepted === undefined ? {} : { accepted }),
    ...(servers === undefined ? {} : { servers }),
    ...(states === undefined ? {} : { states }),
    ...(search === undefined ? {} : { search: searchOf(search, env) }),
    ...(cases === undefined ? {} : { cases: await readList(cases) }),
  });
}

interface Given {
  readonly settings: Registration;
  /** How the person named the two folders, for messages. */
  readonly places: { readonly thinkingboxDir: string; readonly dataDir: string };
}

function fromEnvironment(env: Environment, added: Registration | undefined): Given {
  const dirs = {
    thinkingboxDir: required(
      env,
      VARIABLES.thinkingboxDir,
      'a checkout of github.com/microsoft/thinkingbox',
      added?.thinkingboxDir,
    ),
    dataDir: required(
      env,
      VARIABLES.dataDir,
      'a checkout of github.com/microsoft/thinkingbox-data',
      added?.dataDir,
    ),
  };
  const other = dirs.thinkingboxDir !== added?.thinkingboxDir || dirs.dataDir !== added.dataDir;
  const python = env[VARIABLES.python];
  const cases = env[VARIABLES.cases];
  const servers = env[VARIABLES.servers];
  return {
    settings: {
      // What was accepted and listed belongs to the folders that were added.
      ...(other ? {} : added),
      ...dirs,
      ...(python ? { python } : {}),
      ...(cases ? { cases } : {}),
      ...(servers ? { servers: serverStart(servers) } : {}),
    },
    places: {
      thinkingboxDir: env[VARIABLES.thinkingboxDir] ? VARIABLES.thinkingboxDir : ADDED.thinkingboxDir,
      dataDir: env[VARIABLES.dataDir] ? VARIABLES.dataDir : ADDED.dataDir,
    },
  };
}

/** Address and key of the search service. Throws `UsageError` for a variable without a value. */
export function searchOf(search: NonNullable<Registration['search']>, env: Environment): SearchPlace {
  const { url, keyEnv } = search;
  if (keyEnv === undefined) return { url, key: '' };
  const key = env[keyEnv];
  if (key) {
    registerSecret(key);
    return { url, key, keyEnv };
  }
  throw new UsageError(keyEnv, `the key of the Typesense at ${url}`, 'nothing');
}

function serverStart(text: string): ServerStart {
  const start = SERVER_STARTS.find((name) => name === text);
  if (start) return start;
  throw new UsageError(VARIABLES.servers, SERVER_STARTS.join(' or '), `"${text}"`);
}

function required(env: Environment, name: string, expected: string, added: string | undefined): string {
  const value = env[name] || added;
  if (value) return resolve(value);
  const fix = 'Run `steadfast suite add thinkingbox --thinkingbox DIR --data DIR`; see docs/thinkingbox.md';
  throw new UsageError(name, expected, 'nothing', fix);
}

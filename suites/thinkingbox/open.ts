/** The suite from the environment: what workers and the command line open by the name `thinkingbox`. */
import { resolve } from 'node:path';
import { UsageError } from '../../core/faults.js';
import { checkCheckout } from './checkout.js';
import { prepareThinkingBox } from './python.js';
import { createThinkingBox, readList, type ThinkingBoxSuite } from './suite.js';
import { SERVER_STARTS, type ServerStart } from './task.js';

/** Variables that name a checkout; a configuration key that names one is passed on as its variable. */
export const VARIABLES = {
  thinkingboxDir: 'THINKINGBOX_DIR',
  dataDir: 'THINKINGBOX_DATA_DIR',
  /** Optional: a YAML list of case ids instead of the benchmark's own. */
  cases: 'THINKINGBOX_CASES',
  /** Optional: an interpreter that has the packages already. */
  python: 'THINKINGBOX_PYTHON',
  /** Optional: `stdio` starts a program for every session, for machines where servers cannot be forked. */
  servers: 'THINKINGBOX_SERVERS',
} as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens the suite; makes its Python environment first when there is none. Throws `UsageError` for a variable that
 * is not set or names the wrong thing.
 */
export async function openThinkingBox(
  env: Environment,
  report?: (line: string) => void,
): Promise<ThinkingBoxSuite> {
  const thinkingboxDir = required(
    env,
    VARIABLES.thinkingboxDir,
    'a checkout of github.com/microsoft/thinkingbox',
  );
  const dataDir = required(env, VARIABLES.dataDir, 'a checkout of github.com/microsoft/thinkingbox-data');
  const places = { thinkingboxDir: VARIABLES.thinkingboxDir, dataDir: VARIABLES.dataDir };
  // A wrong folder is told before 140 MB are installed for it.
  await checkCheckout(thinkingboxDir, 'thinkingbox', places.thinkingboxDir);
  await checkCheckout(dataDir, 'data', places.dataDir);
  const list = env[VARIABLES.cases];
  const home = resolve(env.STEADFAST_HOME ?? '.steadfast');
  const python =
    env[VARIABLES.python] ??
    (await prepareThinkingBox({ home, ...(report === undefined ? {} : { report }) }));
  return createThinkingBox({
    thinkingboxDir,
    dataDir,
    python,
    places,
    servers: serverStart(env[VARIABLES.servers]),
    ...(list === undefined ? {} : { cases: await readList(list) }),
  });
}

function serverStart(text = 'forked'): ServerStart {
  const start = SERVER_STARTS.find((name) => name === text);
  if (start) return start;
  throw new UsageError(VARIABLES.servers, SERVER_STARTS.join(' or '), `"${text}"`);
}

function required(env: Environment, name: string, expected: string): string {
  const value = env[name];
  if (!value) throw new UsageError(name, expected, 'nothing', 'See docs/thinkingbox.md');
  return resolve(value);
}

/** What `suite add` does: everything is checked and made before anything is remembered. */
import { resolve } from 'node:path';
import { checkCheckout, revisionOf } from './checkout.js';
import { ADDED, openRegistered, searchOf } from './open.js';
import { homeOf, type Registration, register } from './registration.js';
import { checkSearch } from './search.js';

export interface AddedSuite {
  readonly name: string;
  readonly digest: string;
  readonly tasks: number;
  /** Tasks that are the benchmark's, or have the start state and solution of one of its cases. */
  readonly benchmark: number;
  readonly domains: Readonly<Record<string, number>>;
  readonly notComparable: readonly string[];
}

/** Throws `UsageError` for whatever is wrong with the folders, the list or the interpreter. */
export async function addThinkingBox(request: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly name: string;
  readonly settings: Registration;
  readonly acceptRevision: boolean;
  readonly report: (line: string) => void;
}): Promise<AddedSuite> {
  const { env, name, acceptRevision, report } = request;
  const home = homeOf(env);
  const { cases, python } = request.settings;
  const thinkingboxDir = resolve(request.settings.thinkingboxDir);
  const dataDir = resolve(request.settings.dataDir);
  const accepted = acceptRevision
    ? {
        thinkingbox: await revisionOf(thinkingboxDir, 'thinkingbox', '--thinkingbox'),
        data: await revisionOf(dataDir, 'data', '--data'),
      }
    : undefined;
  if (!accepted) {
    await checkCheckout(thinkingboxDir, 'thinkingbox', '--thinkingbox');
    await checkCheckout(dataDir, 'data', '--data');
  }
  const settings: Registration = {
    ...request.settings,
    thinkingboxDir,
    dataDir,
    ...(cases === undefined ? {} : { cases: resolve(cases) }),
    // A name alone is looked for on the PATH.
    ...(python?.includes('/') ? { python: resolve(python) } : {}),
    ...(accepted === undefined ? {} : { accepted }),
  };
  if (settings.search) {
    report('asking the search service');
    await checkSearch(searchOf(settings.search, env));
  }
  report('reading the cases');
  const suite = await openRegistered(name, { settings, places: ADDED }, home, env, report);
  try {
    const tasks = await suite.tasks();
    const domains: Record<string, number> = {};
    for (const { domain } of tasks) domains[domain] = (domains[domain] ?? 0) + 1;
    await register(home, name, settings);
    return {
      name,
      digest: suite.digest,
      tasks: tasks.length,
      benchmark: tasks.filter(({ split }) => split === 'benchmark').length,
      domains,
      notComparable: suite.notComparable ?? [],
    };
  } finally {
    await suite.close();
  }
}

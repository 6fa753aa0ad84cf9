/** The suites that this program knows, and those that were added on this machine; each is opened once per process. */
import { UsageError } from '../core/faults.js';
import { nearest } from '../core/nearest.js';
import type { Policy } from '../core/policy.js';
import type { ScriptedSettings } from '../core/scripted.js';
import type { Suite } from '../core/suite.js';

type Opener = () => Promise<Suite>;

const OPENERS: Readonly<Record<string, Opener>> = {
  deskbench: async () => (await import('../suites/deskbench/suite.js')).createDeskbench(),
  thinkingbox: async () => (await import('../suites/thinkingbox/open.js')).openThinkingBox(process.env),
};

/** Names of suites that bring their own way of being opened. */
export const BUILT_IN = Object.keys(OPENERS);

/** Suites whose tool servers are code of this repository: only those may run in the worker itself. */
const TRUSTED: readonly string[] = ['deskbench'];

/** Throws `UsageError` for a suite from elsewhere that would run in the worker itself. */
export function requireTrusted(name: string, suite: Pick<Suite, 'isolation'>): void {
  if (suite.isolation !== 'inline' || TRUSTED.includes(name)) return;
  throw new UsageError(
    `isolation of suite ${name}`,
    'process or docker, as for every suite that is not built in',
    'inline',
  );
}

/** `open(name)` gives one suite object per process. Rejects with `UsageError` for an unknown name. */
export function suiteRegistry(): (name: string) => Promise<Suite> {
  const open = new Map<string, Promise<Suite>>();
  return (name) => {
    let suite = open.get(name);
    if (!suite) {
      suite = opened(name);
      open.set(name, suite);
      // What fails is opened again: it may have been added meanwhile.
      suite.catch(() => open.delete(name));
    }
    return suite;
  };
}

async function opened(name: string): Promise<Suite> {
  const suite = await (OPENERS[name] ?? (() => openAdded(name)))();
  requireTrusted(name, suite);
  return suite;
}

async function openAdded(name: string): Promise<Suite> {
  const { homeOf, readRegistrations } = await import('../suites/thinkingbox/registration.js');
  const added = Object.keys(await readRegistrations(homeOf(process.env)));
  if (added.includes(name)) {
    return (await import('../suites/thinkingbox/open.js')).openAddedThinkingBox(process.env, name);
  }
  const names = [...new Set([...BUILT_IN, ...added])];
  const hint = nearest(name, names);
  throw new UsageError('suite', names.join(' or '), `"${name}"`, hint && `Did you mean ${hint}?`);
}

/** The scripted policy of a suite: its oracle, or its golden calls. Throws `UsageError` for a suite that has none. */
export async function scriptedPolicy(suite: Suite, settings: ScriptedSettings): Promise<Policy> {
  if (suite.name === 'deskbench') {
    return (await import('../suites/deskbench/scripted.js')).createScriptedPolicy(settings);
  }
  return (await import('../suites/thinkingbox/golden.js')).goldenPolicy(suite, settings);
}

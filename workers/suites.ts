/** The suites that this program knows, opened once per process. */
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

export const SUITE_NAMES = Object.keys(OPENERS);

/** `open(name)` gives one suite object per process. Throws `UsageError` for an unknown name. */
export function suiteRegistry(): (name: string) => Promise<Suite> {
  const open = new Map<string, Promise<Suite>>();
  return (name) => {
    const opener = OPENERS[name];
    if (!opener) {
      const hint = nearest(name, SUITE_NAMES);
      throw new UsageError('suite', SUITE_NAMES.join(' or '), `"${name}"`, hint && `Did you mean ${hint}?`);
    }
    let suite = open.get(name);
    if (!suite) {
      suite = opener();
      open.set(name, suite);
      suite.catch(() => open.delete(name));
    }
    return suite;
  };
}

/** The scripted policy of a suite: its oracle, or its golden calls. Throws `UsageError` for a suite that has none. */
export async function scriptedPolicy(suite: Suite, settings: ScriptedSettings): Promise<Policy> {
  if (suite.name === 'deskbench') {
    return (await import('../suites/deskbench/scripted.js')).createScriptedPolicy(settings);
  }
  return (await import('../suites/thinkingbox/golden.js')).goldenPolicy(suite, settings);
}

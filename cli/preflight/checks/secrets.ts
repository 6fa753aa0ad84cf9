/** Secrets are there by the names that the run file gives, in this process or for the stack's workers. */
import type { Finding } from '../../../core/cluster.js';
import { unless } from '../../../core/preflight.js';
import type { Asked, Check } from '../asked.js';

export const secrets: Check = {
  name: 'secrets',
  run(asked) {
    const names = secretNames(asked);
    const problems = [...names]
      .filter(([name]) => !secretOf(asked, name))
      .map(
        ([name, place]): Finding => ({
          place,
          expected: `a secret in the environment variable ${name}`,
          found: Object.hasOwn(asked.env, name) ? 'an empty one' : 'none',
          fix: `Set it here and for the sandbox workers: export ${name}=…`,
        }),
      );
    return unless(problems, names.size === 0 ? 'none is needed' : [...names.keys()].join(', '));
  },
};

/** Places by variable. */
function secretNames({ config }: Asked): ReadonlyMap<string, string> {
  const { people } = config;
  const named = people
    ? ([
        [people.user.apiKeyEnv, 'user.apiKeyEnv'],
        [people.judge.apiKeyEnv, 'judge.apiKeyEnv'],
      ] as const)
    : [];
  const names = new Map<string, string>();
  for (const [name, place] of named) if (name !== null && !names.has(name)) names.set(name, place);
  return names;
}

/** Undefined or empty: there is none. */
export function secretOf({ env }: Pick<Asked, 'env'>, name: string): string | undefined {
  return env[name];
}

/** A trainer that somebody else runs, such as the Verl bridge (docs/verl.md), in place of one of the stack's own. */
import { UsageError } from '../../core/faults.js';
import type { ServiceName } from './plan.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** Its address, or undefined: the stack runs one. Throws `UsageError`. */
export function trainerElsewhere(variables: Variables): string | undefined {
  const { STEADFAST_TRAINER_URL: url, STEADFAST_TRAINER: own } = variables;
  if (!url) return undefined;
  if (!/^https?:\/\/[^/]+$/.test(url) || !URL.canParse(url)) {
    throw new UsageError('STEADFAST_TRAINER_URL', 'http://host:port, without /v1', `"${url}"`);
  }
  if (own) {
    const fix = 'Unset one of them; "steadfast down" forgets what the running stack was given.';
    throw new UsageError('STEADFAST_TRAINER', 'nothing beside STEADFAST_TRAINER_URL', `"${own}"`, fix);
  }
  return url;
}

/** Those that the stack runs. */
export function servicesHere(services: readonly ServiceName[], variables: Variables): readonly ServiceName[] {
  const elsewhere = trainerElsewhere(variables) !== undefined;
  return services.filter((name) => !(elsewhere && name === 'trainer'));
}

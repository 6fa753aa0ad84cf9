/** The environment that the workers of this machine's stack have, for what a command does with sandboxes itself. */
import type { StackInfo } from '../../infra/stack/info.js';

/** What the stack was started with goes before what the shell of this command says: it is where its sandboxes are. */
export function workersEnvironment(
  { passedOn }: Pick<StackInfo, 'passedOn'>,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return { ...env, ...passedOn };
}

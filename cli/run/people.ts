/** The simulated user and the judge of a campaign: from the run file, else as the workers' environment has them. */
import type { People, PersonRef } from '../../core/people.js';
import { promptsDigest } from '../../core/prompts.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { Suite } from '../../core/suite.js';
import { readStack } from '../../infra/stack/info.js';
import { passedOn } from '../../infra/stack/passed-on.js';
import { PERSON } from '../../temporal.config.js';

/** By the variables that `steadfast up` hands on to its workers; a running stack's own win over none. */
export function resolvePeople(
  file: Pick<RunFile, 'user' | 'judge'>,
  { userWords }: Pick<Suite, 'userWords'> = {},
): People {
  const environment = passedOn(process.env, readStack()?.passedOn);
  return {
    prompts: promptsDigest(userWords),
    user: personOf(file.user, environment.STEADFAST_USER_MODEL),
    judge: personOf(file.judge, environment.STEADFAST_JUDGE_MODEL),
  };
}

function personOf(given: RunFile['user'], modelOfEnvironment: string | undefined): PersonRef {
  return {
    baseUrl: given?.baseUrl ?? null,
    model: given?.model ?? modelOfEnvironment ?? PERSON.model,
    apiKeyEnv: given?.apiKeyEnv ?? null,
    temperature: given?.temperature ?? PERSON.temperature,
    maxTokens: given?.maxTokens ?? PERSON.maxTokens,
    ...(given?.provider === undefined ? {} : { provider: given.provider }),
  };
}

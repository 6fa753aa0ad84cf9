/** The simulated user and the judge of an episode, from its campaign's configuration; made once per process. */
import { UsageError } from '../../core/faults.js';
import type { People, PersonRef } from '../../core/people.js';
import { PERSON } from '../../temporal.config.js';
import { type ChatModel, createChatModel } from '../policy/chat-model.js';
import { type Endpoint, providerOf } from '../policy/endpoint.js';
import type { Gate } from '../policy/rate-gate.js';

export interface EpisodePeople {
  readonly user: ChatModel;
  readonly judge: ChatModel;
}

type Role = keyof EpisodePeople;

/** Where a worker's environment says that user or judge is. */
export interface PersonPlace {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKeyEnv: string | null;
}

export interface PeopleSources {
  readonly places: Readonly<Record<Role, PersonPlace>>;
  readonly gate: (provider: string) => Gate;
}

/**
 * Gives the people of a configuration. Throws `UsageError` when the configuration leaves the place to the workers and
 * this worker has another model there: two workers would play with two users.
 */
export function createPeople(
  sources: PeopleSources,
): (input: { readonly people?: People | undefined }) => EpisodePeople {
  const made = new Map<string, ChatModel>();
  const modelOf = (role: Role, person: PersonRef | undefined): ChatModel => {
    const id = JSON.stringify([role, person ?? null]);
    let model = made.get(id);
    if (!model) {
      model = createChatModel(endpointOf(role, person, sources), settingsOf(person));
      made.set(id, model);
    }
    return model;
  };
  return ({ people }) => ({
    user: modelOf('user', people?.user),
    judge: modelOf('judge', people?.judge),
  });
}

function settingsOf({ temperature, maxTokens }: Pick<PersonRef, 'temperature' | 'maxTokens'> = PERSON) {
  return { temperature, maxTokens };
}

function endpointOf(role: Role, person: PersonRef | undefined, { places, gate }: PeopleSources): Endpoint {
  const place = places[role];
  const { baseUrl, model, apiKeyEnv } = person?.baseUrl ? { ...person, baseUrl: person.baseUrl } : place;
  if (person && person.model !== model) {
    throw new UsageError(
      `${role} of the campaign`,
      `model ${person.model}, as when the campaign was started`,
      `${model} in the environment of this worker`,
      `Name it in the run file (${role}: {baseUrl, model}), or give workers and command line the same STEADFAST_${role.toUpperCase()}_MODEL.`,
    );
  }
  return { kind: role, baseUrl, model, apiKeyEnv, gate: gate(person?.provider ?? providerOf(baseUrl)) };
}

/** The simulated user and the judge really answer: one short request each, read as an episode would read it. */
import { createJudge } from '../../../activities/episode/judge.js';
import { createUser } from '../../../activities/episode/user.js';
import { createChatModel } from '../../../activities/policy/chat-model.js';
import type { Endpoint } from '../../../activities/policy/endpoint.js';
import type { Finding } from '../../../core/cluster.js';
import { withDeadline } from '../../../core/deadline.js';
import { Fault, UsageError } from '../../../core/faults.js';
import type { PersonRef } from '../../../core/people.js';
import { skipped, unless } from '../../../core/preflight.js';
import { judgePrompt } from '../../../core/prompts.js';
import type { Asked, Check } from '../asked.js';
import { secretOf } from './secrets.js';

type Role = 'user' | 'judge';

/** A model that is loaded for the first request may take this long; a person waits no longer. */
const ANSWER_MS = 60_000;

export const people: Check = {
  name: 'simulated user and judge',
  async run(asked) {
    if (asked.offline) return skipped('--offline: nobody was asked');
    const said = await Promise.all((['user', 'judge'] as const).map((role) => ask(asked, role)));
    const problems = said.flatMap(({ problem }) => problem ?? []);
    const answered = said.flatMap(({ answered: who }) => who ?? []);
    if (problems.length + answered.length > 0) return unless(problems, answered.join('; '));
    return skipped(said.flatMap(({ unasked }) => unasked ?? []).join('; '));
  },
};

/** Exactly one of the three. */
interface Said {
  readonly answered?: string;
  readonly problem?: Finding;
  /** Why nobody was asked, which is told elsewhere if it is a problem. */
  readonly unasked?: string;
}

async function ask(asked: Asked, role: Role): Promise<Said> {
  const endpoint = endpointOf(asked, role);
  if (!endpoint) return { unasked: `the ${role} is the stack’s own, which does not run` };
  const { baseUrl, model, apiKeyEnv } = endpoint;
  const place = `${role} ${model} at ${baseUrl}`;
  if (apiKeyEnv !== null && !secretOf(asked, apiKeyEnv)) {
    return { unasked: `the ${role} has no key in ${apiKeyEnv}` };
  }
  try {
    await withDeadline(asked.signal, { ms: ANSWER_MS, what: `an answer of ${place}` }, (signal) =>
      answer(endpoint, asked.config.people?.[role], signal),
    );
    return { answered: place };
  } catch (error) {
    if (!(error instanceof Fault) && !(error instanceof UsageError)) throw error;
    const found = error.message.split('\n')[0]!.slice(0, 300);
    const fix = fixOf(error, role, apiKeyEnv);
    return { problem: { place, expected: 'an answer to one short request', found, fix } };
  }
}

async function answer(endpoint: Endpoint, person: PersonRef | undefined, signal: AbortSignal): Promise<void> {
  const settings = person && { temperature: person.temperature, maxTokens: person.maxTokens };
  const model = createChatModel(endpoint, settings);
  const meter = { promptTokens: 0, sampledTokens: 0, calls: 0 };
  if (endpoint.kind === 'user') {
    await createUser(model).answer(
      {
        opening: 'i want to return a table .',
        context: 'color: blue',
        maxTurns: 1,
        mayEnd: false,
        doneMarker: '<DONE>',
      },
      [
        { role: 'user', content: 'i want to return a table .' },
        { role: 'assistant', reasoning: '', content: 'what is the color ?', toolCalls: [] },
      ],
      meter,
      signal,
    );
  } else {
    const question = judgePrompt('Does the message say "$80" ?', 'the refund is $80 .');
    await createJudge(model, meter, ANSWER_MS).ask(question, signal);
  }
}

/** Where it is, as the workers would find it. */
function endpointOf({ config, stack }: Asked, role: Role): Endpoint | undefined {
  const person = config.people?.[role];
  if (person?.baseUrl) {
    return { kind: role, baseUrl: person.baseUrl, model: person.model, apiKeyEnv: person.apiKeyEnv };
  }
  const baseUrl = role === 'user' ? stack?.info.userUrl : stack?.info.judgeUrl;
  if (!baseUrl) return undefined;
  const apiKeyEnv = stack?.info.passedOn?.[`STEADFAST_${role.toUpperCase()}_KEY_ENV`] ?? null;
  return { kind: role, baseUrl, model: person?.model ?? 'rules', apiKeyEnv };
}

function fixOf(error: Fault | UsageError, role: Role, apiKeyEnv: string | null): string {
  const code = error instanceof Fault ? error.code : undefined;
  if (code === 'http_401' || code === 'http_403') {
    return `Renew the key${apiKeyEnv === null ? '' : ` in ${apiKeyEnv}`}: it has expired, or is of another account.`;
  }
  if (code === 'quota') return 'Pay for more, or take another provider.';
  if (code === 'http_404') return `Correct ${role}.baseUrl and ${role}.model.`;
  return `Start it, or correct ${role}.baseUrl; --offline goes on without asking.`;
}

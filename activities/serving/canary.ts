/** A server asked for something real: does it serve the weights that it should, and do they answer as such? */
import { Fault } from '../../core/faults.js';
import { isObject } from '../../core/message.js';
import { CANARY_PROMPT, CANARY_TOKENS, type CanaryFacts, checkCanary } from '../../core/serving/canary.js';
import { readCompletion } from '../policy/completion.js';

export interface CanaryOptions extends CanaryFacts {
  /** Without `/v1`. */
  readonly origin: string;
  /** The name that it must serve under. */
  readonly model: string;
  readonly timeoutMs: number;
}

/**
 * Log-probability of the first greedy token. Throws `Fault('trainer')`: `no_answer` when nothing comes in time,
 * `wrong_model` when it serves something else, `garbage` for an answer that these weights cannot give.
 */
export async function canary(options: CanaryOptions, signal: AbortSignal): Promise<number> {
  const { origin, model, timeoutMs } = options;
  const clock = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const names = modelNames(await ask(`${origin}/v1/models`, undefined, clock, signal));
  if (!names.includes(model)) {
    const found = names.join(', ') || 'none';
    throw new Fault('trainer', `${origin}: expected model ${model}, found ${found}`, { code: 'wrong_model' });
  }
  const body = {
    ...{ model, prompt: CANARY_PROMPT, max_tokens: CANARY_TOKENS, temperature: 0, logprobs: 0 },
    return_token_ids: true,
  };
  const reply = await ask(`${origin}/v1/completions`, body, clock, signal);
  const first = firstLogprob(origin, model, reply);
  checkCanary(first, options);
  return first;
}

/** Tokens that the server says it has read and written since it started; undefined where it does not say. */
export async function tokensSoFar(
  origin: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const clock = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(`${origin}/metrics`, { signal: clock, headers: { connection: 'close' } });
    const counted = [
      ...(await response.text()).matchAll(/^vllm:(?:prompt|generation)_tokens_total(?:\{[^}]*\})? (\S+)$/gm),
    ];
    return counted.length === 0 ? undefined : counted.reduce((sum, [, value]) => sum + Number(value), 0);
  } catch {
    signal.throwIfAborted();
    // Not answered: that is what the caller wants to know.
    return undefined;
  }
}

function firstLogprob(origin: string, model: string, reply: unknown): number {
  const endpoint = { kind: 'policy', baseUrl: `${origin}/v1`, model, apiKeyEnv: null } as const;
  try {
    const { logprobs } = readCompletion(endpoint, reply, {
      weightVersion: model,
      maxTokens: CANARY_TOKENS,
      prompt: CANARY_PROMPT,
    });
    if (logprobs.length > 0) return logprobs[0]!;
    throw new Fault('trainer', `${origin}: a completion without a token`, { code: 'garbage' });
  } catch (error) {
    if (!(error instanceof Fault) || error.kind === 'trainer') throw error;
    const code = error.code === 'wrong_weights' ? 'wrong_model' : 'garbage';
    throw new Fault('trainer', error.message, { code, cause: error });
  }
}

function modelNames(reply: unknown): readonly string[] {
  const data = isObject(reply) ? reply.data : undefined;
  return Array.isArray(data) ? data.flatMap((entry) => (isObject(entry) ? [String(entry.id)] : [])) : [];
}

async function ask(
  url: string,
  body: object | undefined,
  clock: AbortSignal,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const response = await fetch(url, {
      signal: clock,
      // Not kept open: a server closes an idle connection at the moment that the next question is sent on it.
      headers: { connection: 'close', 'content-type': 'application/json' },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    const code = response.status === 404 ? 'wrong_model' : 'no_answer';
    throw new Fault('trainer', `${url}: HTTP ${response.status}: ${text.slice(0, 300)}`, { code });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Fault) throw error;
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new Fault('trainer', `${url}: ${cause}`, { code: 'no_answer', cause: error });
  }
}

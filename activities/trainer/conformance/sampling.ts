/** Completions from the trainer's own endpoint, read without belief: what it says stands beside what was asked. */
import { Fault } from '../../../core/faults.js';

export interface SampleRequest {
  readonly weightVersion: string;
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly seed: number;
}

export interface Sample {
  readonly ids: readonly number[];
  /** Full softmax at temperature 1, one per id. */
  readonly logprobs: readonly number[];
  readonly finishReason: string;
  /** As the reply names it; undefined where it does not. */
  readonly weightVersion: string | undefined;
}

/** `endpoint` ends in `/v1`. Throws `Fault('policy')` with the endpoint's code for a refusal. */
export async function sample(endpoint: string, request: SampleRequest, signal: AbortSignal): Promise<Sample> {
  const url = `${endpoint}/completions`;
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: request.weightVersion,
      prompt: request.prompt,
      max_tokens: request.maxTokens,
      temperature: 1,
      top_k: 20,
      top_p: 0.95,
      seed: request.seed,
      logprobs: 0,
      return_token_ids: true,
    }),
  });
  const value = (await response.json()) as Reply;
  if (!response.ok) {
    throw new Fault('policy', `${url}: ${value.error?.message ?? `HTTP ${response.status}`}`, {
      code: value.error?.code ?? `http_${response.status}`,
    });
  }
  const choice = value.choices?.[0];
  const [ids, logprobs] = [choice?.token_ids, choice?.logprobs?.token_logprobs];
  if (!choice || !ids || !logprobs || ids.length !== logprobs.length || ids.length === 0) {
    throw new Fault('policy', `${url}: expected token ids with a log-probability each`, {
      code: 'unreadable',
    });
  }
  return { ids, logprobs, finishReason: choice.finish_reason ?? '', weightVersion: value.weight_version };
}

interface Reply {
  readonly weight_version?: string;
  readonly error?: { readonly code?: string; readonly message?: string };
  readonly choices?: readonly {
    readonly finish_reason?: string;
    readonly token_ids?: readonly number[];
    readonly logprobs?: { readonly token_logprobs?: readonly number[] };
  }[];
}

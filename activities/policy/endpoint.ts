/**
 * OpenAI-compatible endpoints: where they are, which secret opens them, and one client a process for each.
 * The client retries nothing and times nothing: both are ours (`retry.ts`, `core/deadline.ts`).
 */
import OpenAI from 'openai';
import { UsageError } from '../../core/faults.js';
import { registerSecret } from '../../core/secrets.js';
import { httpFetch } from './http-fetch.js';
import type { Gate } from './rate-gate.js';

/** The boundary that a request to this endpoint crosses; its faults are of this kind. */
export type EndpointKind = 'policy' | 'user' | 'judge';

export interface Endpoint {
  readonly kind: EndpointKind;
  /** Base URL, ending in `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Name of the environment variable that holds the key; null where none is needed. */
  readonly apiKeyEnv: string | null;
  /** `auto`: a stream where the server has one, found out by asking. Absent: none. */
  readonly stream?: boolean | 'auto';
  /** Longest silence in the middle of a stream, ms. */
  readonly idleMs?: number;
  /** Where requests wait for their provider's limits; absent: nowhere. */
  readonly gate?: Gate;
}

/** Name of the provider behind an endpoint whose configuration names none: its host, and its port where that is unusual. */
export function providerOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl;
}

/** Longer than every deadline of ours, so that the client's own clock never speaks. */
const NEVER_MS = 2_000_000_000;

const clients = new Map<string, OpenAI>();

/** The client of an endpoint, shared by all episodes of this process. Throws `UsageError` when the key is not set. */
export function openAi(endpoint: Endpoint): OpenAI {
  const { baseUrl, apiKeyEnv } = endpoint;
  const id = `${baseUrl} ${apiKeyEnv ?? ''}`;
  let client = clients.get(id);
  if (!client) {
    const apiKey = apiKeyEnv === null ? 'none' : process.env[apiKeyEnv];
    if (!apiKey)
      throw new UsageError(`environment variable ${apiKeyEnv}`, `the key for ${baseUrl}`, 'nothing');
    registerSecret(apiKey);
    client = new OpenAI({
      apiKey,
      baseURL: baseUrl,
      maxRetries: 0,
      timeout: NEVER_MS,
      fetch: httpFetch,
      organization: null,
      project: null,
    });
    clients.set(id, client);
  }
  return client;
}

/** How messages name the endpoint. */
export function placeOf(endpoint: Endpoint): string {
  return `${endpoint.kind} endpoint ${endpoint.baseUrl} (model ${endpoint.model})`;
}

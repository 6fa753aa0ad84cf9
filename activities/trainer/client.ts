/**
 * The trainer contract over HTTP (docs/contracts.md), for every trainer that speaks it.
 *
 * Refusals arrive as `Fault('trainer')` with the trainer's code. `retry` says whether the same activity can succeed:
 * it may after `not_open` and `weights_unavailable` (a trainer that was restarted is brought to its state again) and
 * when the trainer does not answer or breaks; other refusals stay.
 */
import { Fault } from '../../core/faults.js';
import type {
  CheckpointManifest,
  OperationStatus,
  Trainer,
  TrainerState,
  UpdateReport,
} from '../../core/trainer.js';

export interface TrainerClientOptions {
  /** Base URL without `/v1`, e.g. `http://127.0.0.1:8600`. */
  readonly url: string;
}

const FINAL_CODES: ReadonlySet<string> = new Set([
  'stale_base',
  'conflict',
  'bad_checkpoint',
  'bad_batch',
  'off_policy',
  'bad_request',
  'prompt_too_long',
  'not_found',
]);

interface Served {
  readonly weightVersion: string;
  readonly endpoint: string;
}

/** Connects lazily; holds nothing that needs closing. An aborted signal's reason is thrown as it is. */
export function createTrainerClient({ url }: TrainerClientOptions): Trainer {
  const base = url.replace(/\/+$/, '');

  async function call<Reply>(path: string, signal: AbortSignal, body?: object): Promise<Reply> {
    const request: RequestInit =
      body === undefined
        ? { signal }
        : {
            method: 'POST',
            signal,
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json' },
          };
    const reply = await answer(`${base}${path}`, request, signal);
    if (reply.ok) return reply.value as Reply;
    const { code, message, details } = errorOf(reply.value);
    throw new Fault('trainer', `${path}: ${message ?? `HTTP ${reply.status}`}`, {
      code: code ?? 'unreachable',
      retry: code === undefined || !FINAL_CODES.has(code),
      details,
    });
  }

  return {
    capabilities: (signal) => call('/trainer/capabilities', signal),
    state: async (signal) => stateOf(await call('/trainer/state', signal)),
    open: async (run, from, signal) => stateOf(await call('/trainer/open', signal, { run, from })),
    publish: (run, signal) => call<Served>('/trainer/publish', signal, { run }),
    update: (request, signal) => call<UpdateReport>('/trainer/update', signal, request),
    status: (run, op, signal) =>
      call<OperationStatus>(`/trainer/status?${new URLSearchParams({ run, op })}`, signal),
    checkpoint: (run, dir, signal) =>
      call<{ path: string; manifest: CheckpointManifest }>('/trainer/checkpoint', signal, { run, dir }),
    serve: (from, signal) => call<Served>('/trainer/serve', signal, { from }),
    release: async (weightVersion, signal) => {
      await call('/trainer/release', signal, { weightVersion });
    },
    probe: (weightVersion, sequences, signal) =>
      call<{ trainer: number[][]; sampler: number[][] }>('/trainer/probe', signal, {
        weightVersion,
        sequences,
      }),
  };
}

async function answer(
  url: string,
  request: RequestInit,
  signal: AbortSignal,
): Promise<{ ok: boolean; status: number; value: unknown }> {
  try {
    const response = await fetch(url, request);
    return { ok: response.ok, status: response.status, value: await response.json() };
  } catch (error) {
    signal.throwIfAborted();
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new Fault('trainer', `${url}: no readable answer: ${cause}`, { cause: error, code: 'unreachable' });
  }
}

interface Refusal {
  readonly code?: string;
  readonly message?: string;
  readonly details: Readonly<Record<string, number>>;
}

function errorOf(value: unknown): Refusal {
  if (typeof value !== 'object' || value === null || !('error' in value)) return { details: {} };
  const { error } = value;
  if (typeof error !== 'object' || error === null) return { details: {} };
  return {
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    ...('message' in error && typeof error.message === 'string' ? { message: error.message } : {}),
    details: 'details' in error ? figures(error.details) : {},
  };
}

function figures(value: unknown): Readonly<Record<string, number>> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter(([, figure]) => typeof figure === 'number'));
}

/** JSON leaves out what is undefined. */
function stateOf(state: Partial<TrainerState> & Pick<TrainerState, 'build' | 'step'>): TrainerState {
  const { build, step, run, weightDigest, optimizerDigest, appliedOps = [], served = [] } = state;
  return { build, step, run, weightDigest, optimizerDigest, appliedOps, served };
}

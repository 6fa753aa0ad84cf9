/** Episodes that are being played right now, from the heartbeats of their activities. */
import type { Pending } from './troubles.js';

export interface InFlight {
  /** Episodes on a worker, those that have not told anything yet among them. */
  readonly episodes: number;
  /** Episodes that wait for a sandbox worker: for a free slot, or for one of their pool. */
  readonly waiting: number;
  /** The furthest of them: its turn, and the tokens of that turn as they stream. */
  readonly turn: number;
  readonly tokens: number;
}

export function inFlight(pending: readonly Pending[]): InFlight {
  let found: InFlight = { episodes: 0, waiting: 0, turn: 0, tokens: 0 };
  for (const { activityType, heartbeatDetails, lastStartedTime } of pending) {
    if (activityType?.name !== 'runEpisode') continue;
    if (!lastStartedTime) {
      found = { ...found, waiting: found.waiting + 1 };
      continue;
    }
    const { turn, tokens } = progressOf(heartbeatDetails?.payloads?.[0]);
    const further = turn > found.turn || (turn === found.turn && tokens > found.tokens);
    found = { ...found, episodes: found.episodes + 1, ...(further ? { turn, tokens } : {}) };
  }
  return found;
}

/** Undefined when nothing is in flight. */
export function inFlightText({ episodes, waiting, turn, tokens }: InFlight): string | undefined {
  const queue = waiting === 0 ? '' : `${waiting} ${waiting === 1 ? 'waits' : 'wait'} for a sandbox worker`;
  if (episodes === 0) return queue || undefined;
  const streamed = tokens === 0 ? '' : `, ${tokens} tokens into it`;
  const furthest = turn === 0 ? '' : `, the furthest in turn ${turn}${streamed}`;
  return `${episodes} ${episodes === 1 ? 'episode' : 'episodes'} in flight${furthest}${queue && `; ${queue}`}`;
}

type Payload = NonNullable<NonNullable<Pending['heartbeatDetails']>['payloads']>[number];

/** Heartbeats are of the worker's version, which may be another than ours. */
function progressOf(payload: Payload | undefined): { readonly turn: number; readonly tokens: number } {
  const written = textOf(payload?.metadata?.encoding) === 'json/plain';
  const said: unknown = written ? JSON.parse(textOf(payload?.data)) : undefined;
  const { turn, tokens } = (typeof said === 'object' && said !== null ? said : {}) as Record<string, unknown>;
  return { turn: typeof turn === 'number' ? turn : 0, tokens: typeof tokens === 'number' ? tokens : 0 };
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return new TextDecoder().decode(bytes ?? new Uint8Array());
}

/** Reading a real history: which activities ran, with what, and how large every payload is. */
import type { History, HistoryEvent } from '../histories/scenario.js';

export interface RanActivity {
  readonly name: string;
  readonly input: readonly unknown[];
  /** Undefined for one that did not complete. */
  readonly result: unknown;
}

interface Payload {
  readonly data?: string;
}
interface Scheduled {
  readonly activityType: { readonly name: string };
  readonly input?: { readonly payloads?: readonly Payload[] };
}
interface Completed {
  readonly scheduledEventId: string;
  readonly result?: { readonly payloads?: readonly Payload[] };
}

/** Activities in the order in which they were scheduled. */
export function activitiesOf({ events }: History): readonly RanActivity[] {
  const results = new Map<string, unknown>();
  for (const event of events) {
    const completed = event.activityTaskCompletedEventAttributes as Completed | undefined;
    if (completed) results.set(completed.scheduledEventId, valuesOf(completed.result?.payloads)[0]);
  }
  return scheduledIn(events).map(([eventId, { activityType, input }]) => ({
    name: activityType.name,
    input: valuesOf(input?.payloads),
    result: results.get(eventId),
  }));
}

export interface MeasuredPayload {
  /** `activityTaskScheduled runEpisode`: where it stands. */
  readonly place: string;
  readonly bytes: number;
  /** True for what `runEpisode` gave back. */
  readonly episodeResult: boolean;
}

/** Every payload of the history, wherever it stands: inputs, results, signals, updates, failure details, memos. */
export function payloadsOf({ events }: History): readonly MeasuredPayload[] {
  const names = new Map(scheduledIn(events).map(([id, { activityType }]) => [id, activityType.name]));
  return events.flatMap((event) => {
    const [kind, attributes] = attributesOf(event);
    const { scheduledEventId } = attributes as Partial<Completed>;
    const activity = names.get(scheduledEventId ?? event.eventId) ?? '';
    return sizesIn(attributes).map((bytes) => ({
      place: `${kind} ${activity}`.trim(),
      bytes,
      episodeResult: kind === 'activityTaskCompleted' && activity === 'runEpisode',
    }));
  });
}

function scheduledIn(events: readonly HistoryEvent[]): readonly (readonly [string, Scheduled])[] {
  return events.flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes as Scheduled | undefined;
    return scheduled ? [[event.eventId, scheduled] as const] : [];
  });
}

/** Name of an event's kind and its attributes. */
function attributesOf(event: HistoryEvent): readonly [string, object] {
  for (const [key, value] of Object.entries(event)) {
    if (key.endsWith('EventAttributes') && typeof value === 'object' && value !== null) {
      return [key.replace(/EventAttributes$/, ''), value];
    }
  }
  throw new Error(`event ${event.eventId} has no attributes`);
}

function sizesIn(value: unknown): number[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('metadata' in value && 'data' in value) return [decoded(value as Payload).length];
  return Object.values(value).flatMap(sizesIn);
}

function valuesOf(payloads: readonly Payload[] = []): unknown[] {
  return payloads.map((payload) => {
    const text = decoded(payload).toString('utf8');
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  });
}

function decoded({ data = '' }: Payload): Buffer {
  return Buffer.from(data, 'base64');
}

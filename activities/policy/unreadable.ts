/** Replies that cannot be used: whatever the types say, they came over the network. */
import { Fault } from '../../core/faults.js';
import { type Endpoint, placeOf } from './endpoint.js';

export type Fields = Readonly<Record<string, unknown>>;

/** The fault for a reply whose `field` is not what it must be. Another try may help, the same request again will not. */
export function unreadable(endpoint: Endpoint, field: string, expected: string, found: unknown): Fault {
  const message = `${placeOf(endpoint)}: ${field}: expected ${expected}, found ${excerpt(found)}`;
  return new Fault(endpoint.kind, message, { code: 'unreadable' });
}

/** The beginning of what came instead, e.g. of a proxy's HTML page. */
export function excerpt(reply: unknown): string {
  const text = typeof reply === 'string' ? reply : (JSON.stringify(reply) ?? 'nothing');
  if (text === '') return 'nothing';
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}

/** Undefined for what is no JSON object. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The only choice of a reply, or of a chunk of one; none where the list is empty. */
export function onlyChoice(endpoint: Endpoint, choices: unknown): Fields | undefined {
  if (!Array.isArray(choices)) throw unreadable(endpoint, 'choices', 'a list', choices);
  const choice = fieldsOf(choices[0]);
  if (choices.length > 1 || (choices.length === 1 && !choice))
    throw unreadable(endpoint, 'choices', 'one choice', choices);
  const index: unknown = choice?.index ?? 0;
  if (index !== 0) throw unreadable(endpoint, 'choices[0].index', '0: one choice was asked for', index);
  return choice;
}

/** A count as it stands in `usage`. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Digests of prompts, recorded from the Python side and checked without it. */
import { createHash } from 'node:crypto';

/** Of the ids of every prompt of a conversation; undefined for a prompt that the template refuses. */
export function digestOf(prompts: readonly (readonly number[] | undefined)[]): string {
  const ids = prompts.map((prompt) => prompt?.join(' ') ?? 'refused');
  return createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 16);
}

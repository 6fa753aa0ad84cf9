/** Seeds by hashing, never by a generator: the same key gives the same seed on every try, host and order. */
import { createHash } from 'node:crypto';

/** First 63 bits of SHA-256 over the parts joined by NUL, as a decimal string (JSON-safe). */
export function seedOf(...parts: readonly (string | number)[]): string {
  const digest = createHash('sha256').update(parts.join('\0')).digest();
  return (digest.readBigUInt64BE(0) >> 1n).toString();
}

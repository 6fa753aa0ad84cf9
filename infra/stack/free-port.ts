/**
 * A port for a server that must come back to it: one that nobody listens on, and that the system does not lend to
 * outgoing connections (from 32768 on Linux, from 49152 elsewhere). One of those is taken, sooner or later, while the
 * server that had it is being started again.
 */
import { randomInt } from 'node:crypto';
import getPort from 'get-port';

const FIRST = 10_000;
const END = 32_768;
const CHOICES = 100;

/** On 127.0.0.1. A fallback among lent ports is taken when a hundred others are in use. */
export function freePort(exclude: Iterable<number> = []): Promise<number> {
  const port = Array.from({ length: CHOICES }, () => randomInt(FIRST, END));
  return getPort({ host: '127.0.0.1', port, exclude });
}

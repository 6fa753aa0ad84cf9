/** What the bridge says of a whole checkout: its cases, and the words of its simulated user. */
import type { Bridge } from './bridge.js';
import { foundCases, type ListedCase, listedCases, userWords } from './protocol.js';

/** Parsing every case of the benchmark takes a second of CPU. */
const OPEN_TIMEOUT_MS = 300_000;

export function userWordsOf(bridge: Bridge): Promise<string> {
  const signal = new AbortController().signal;
  return bridge.request({ op: 'words', body: {}, reply: userWords, signal, timeoutMs: OPEN_TIMEOUT_MS });
}

export function openAll(bridge: Bridge, names: readonly string[]): Promise<ListedCase[]> {
  const signal = new AbortController().signal;
  return bridge.request({
    op: 'open',
    body: { names },
    reply: listedCases,
    signal,
    timeoutMs: OPEN_TIMEOUT_MS,
  });
}

export function allNames(bridge: Bridge): Promise<readonly string[]> {
  const signal = new AbortController().signal;
  return bridge.request({ op: 'list', body: {}, reply: foundCases, signal, timeoutMs: OPEN_TIMEOUT_MS });
}

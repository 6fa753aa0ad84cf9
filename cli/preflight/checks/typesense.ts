/** The search server, where the suite's tools ask one: it answers, and takes the key. */
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Asked, Check } from '../asked.js';

const ANSWER_MS = 10_000;

export const typesense: Check = {
  name: 'search server',
  async run(asked) {
    const search = await searchOf(asked);
    if (!search) return skipped('no tool of the suite asks one');
    if (asked.offline) return skipped('--offline: it was not asked');
    const found = await problemOf(search);
    if (found === undefined) return unless([], search.url);
    const place = `Typesense at ${search.url}`;
    const fix = 'Start it, or correct address and key: steadfast suite add (docs/thinkingbox.md).';
    const problem: Finding = { place, expected: 'an answer to its list of collections', found, fix };
    return unless([problem], '');
  },
};

interface Search {
  readonly url: string;
  readonly key: string;
}

/** As the tool servers of a task are told of it. */
async function searchOf({ suite, config }: Asked): Promise<Search | undefined> {
  const known = new Set((await suite.tasks()).map(({ id }) => id));
  const id = config.tasks.find((task) => known.has(task));
  if (id === undefined) return undefined;
  for (const { command, container, warm } of (await suite.load(id)).servers) {
    const env = command?.env ?? container?.env ?? warm?.env ?? {};
    const url = env.STEADFAST_TYPESENSE_URL;
    if (url) return { url: url.replace(/\/+$/, ''), key: env.TYPESENSE_API_KEY ?? '' };
  }
  return undefined;
}

/** Undefined: it answers. */
async function problemOf({ url, key }: Search): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/collections`, {
      headers: { 'x-typesense-api-key': key },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `HTTP ${response.status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error && cause.message ? cause.message : message;
  }
}
